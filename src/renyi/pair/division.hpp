// Laying spans over an interval of outputs on which the loss is monotone, and the integrals over one of them.
//
// With `large` the larger of both densities, w = |l(end) - l(x)| and the end the one of smaller |loss|, everything is a
// sum of non-negative terms:
//
//     M = int large,  K = int large e^-w,  G = int large (1 - e^-w),   M = K + G
//
// the larger mass is M, and the mean lies -log1p(-G/M) = log(M/K) beyond that end: no digit is lost in narrow spans
// (from G) nor in wide ones (from K). The other mass is M e^-|mean|.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "renyi/fp/certified.hpp"
#include "renyi/pair/spans.hpp"
#include "renyi/special/elementary.hpp"

namespace renyi {

// e^t down to the denormals; 7u relative above them.
inline double deep_exp(double t) noexcept {
    const double root = lane_exp(0.5 * t);
    return root * root;
}

// What underflows in densities and masses and is not seen.
constexpr double kNegligible = 0x1p-1040;

// Gauss-Legendre rules on [0, 1]. With n nodes on a part of 2^-k of a panel, on which 8 nodes leave a relative error
// below 2^-58 by an ellipse of parameter 15.9, the ellipse of the same size has at least 15.9 2^k.
struct Rule {
    int count;
    double node[8], weight[8];
};
const Rule& rule_for(double share_of_panel) noexcept;

// A point of the outputs: the larger density and the loss there.
struct OutputPoint {
    double large, loss;
};

// The span over [start, end], on which losses have one sign. `mass_error` covers the densities, relative; `loss_error`
// the losses.
template <class At>
Span integrated(double start, double end, const Rule& rule, const At& at, double mass_error, double loss_error) {
    const double first = at(start).loss, last = at(end).loss;
    const double low = std::min(first, last), high = std::max(first, last);
    const bool positive = low + high >= 0.0;
    const double near = positive ? low : high, length = std::fabs(end - start);
    double mass = 0.0, kept = 0.0, gained = 0.0;
    for (int i = 0; i < rule.count; ++i) {
        const OutputPoint point = at(start + (end - start) * rule.node[i]);
        const double large = rule.weight[i] * point.large, fall = lane_expm1(-std::fabs(point.loss - near));
        mass += large;
        kept += large * (1.0 + fall);
        gained -= large * fall;
    }
    double beyond = 0.0;  // |mean| - |near|
    if (mass > 0.0)
        beyond = gained < 0.5 * mass ? -lane_log1p(-gained / mass) : lane_log(mass / std::max(kept, 1e-300));
    beyond = std::min(beyond, high - low);
    const double mean = positive ? near + beyond : near - beyond;
    const double large = mass * length, small = large * deep_exp(-std::fabs(mean));
    const double error = loss_error + kUnitRoundoff * (16.0 * beyond + 2.0 * std::fabs(mean));
    return {low,
            mean,
            high,
            positive ? large : small,
            positive ? small : large,
            mass_error + (24.0 + 2.0 * std::fabs(mean)) * kUnitRoundoff,
            error};
}

// About where the loss, monotone on the part, takes a value inside it: a few steps of false position.
struct Part {
    double start, end, first, last;  // the losses at its ends
};
template <class Loss>
double place_of(double value, const Part& part, const Loss& loss) {
    double a = part.start, b = part.end, at_a = part.first - value, at_b = part.last - value, found = 0.5 * (a + b);
    for (int turn = 0; turn < 8 && at_a != at_b; ++turn) {
        found = a + (b - a) * (at_a / (at_a - at_b));
        const double here = loss(found) - value;
        if (std::fabs(here) <= 1e-9 * std::fabs(part.last - part.first)) break;
        if ((here > 0.0) == (at_a > 0.0)) {
            a = found;
            at_a = here;
            at_b *= 0.5;
        } else {
            b = found;
            at_b = here;
            at_a *= 0.5;
        }
    }
    return found;
}

// Divides [start, end] where the losses are to be divided; emit(part's start, part's end).
template <class Loss, class Emit>
void divide(double start, double end, const Loss& loss, const Fineness& fineness, const Emit& emit) {
    std::vector<Part> waiting{{start, end, loss(start), loss(end)}};
    while (!waiting.empty()) {
        const Part part = waiting.back();
        waiting.pop_back();
        const double cut = fineness.cut(std::min(part.first, part.last), std::max(part.first, part.last));
        double middle = part.end;
        if (cut == kAnywhere) middle = 0.5 * (part.start + part.end);
        if (std::isfinite(cut)) middle = place_of(cut, part, loss);
        if (!(part.start < middle && middle < part.end)) {
            emit(part.start, part.end);
            continue;
        }
        const double here = loss(middle);
        waiting.push_back({middle, part.end, here, part.last});
        waiting.push_back({part.start, middle, part.first, here});
    }
}

}  // namespace renyi
