// Division of an interval of outputs, on which the loss is monotone, into spans, and the integrals over one span.
//
// With `large` the larger of both densities, `end` the end of smaller |loss| and w = |l(end) - l(x)|, all integrals are
// sums of non-negative terms:
//
//     M = int large,  K = int large e^-w,  G = int large (1 - e^-w),   M = K + G
//
// The larger mass is M, and the mean lies -log1p(-G/M) = log(M/K) beyond that end: narrow spans (by G) and wide spans
// (by K) lose no digits. The other mass is M e^-|mean|.
#pragma once

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "renyi/fp/certified.hpp"
#include "renyi/fp/search.hpp"
#include "renyi/pair/pair.hpp"
#include "renyi/special/elementary.hpp"

namespace renyi {

// e^t down to the denormals; the relative error above them is 7u.
inline double deep_exp(double t) noexcept {
    const double root = lane_exp(0.5 * t);
    return root * root;
}

// Gauss-Legendre rules on [0, 1]. On a panel 8 nodes leave a relative error below 2^-58, by an ellipse of parameter
// 15.9. On a part of 2^-k of the panel the ellipse of the same size has a parameter of at least 15.9 2^k, so that fewer
// nodes are enough.
struct Rule {
    int count;
    double node[8], weight[8];
};
// (64/15) e^2 (15.9 2^k)^-2n / (1 - ...) < 2^-58 for (k, n) = (0, 8), (3, 5), (4, 4), (7, 3).
inline constexpr Rule kRules[] = {
    {3,
     {0x1.cda042f0236e1p-4, 0x1.0000000000000p-1, 0x1.c64bf7a1fb924p-1},
     {0x1.1c71c71c71c72p-2, 0x1.c71c71c71c71cp-2, 0x1.1c71c71c71c72p-2}},
    {4,
     {0x1.1c6490c2719ecp-4, 0x1.51ee013116102p-2, 0x1.5708ff6774f7fp-1, 0x1.dc736de7b1cc3p-1},
     {0x1.64340f7e7b66bp-3, 0x1.4de5f840c24cap-2, 0x1.4de5f840c24cap-2, 0x1.64340f7e7b66bp-3}},
    {5,
     {0x1.80498fd662cb6p-5, 0x1.d89b804cc91f6p-3, 0x1.0000000000000p-1, 0x1.89d91feccdb82p-1, 0x1.e7fb670299d35p-1},
     {0x1.e539ec36e038cp-4, 0x1.ea1da25ae415bp-3, 0x1.23456789abcdfp-2, 0x1.ea1da25ae415bp-3, 0x1.e539ec36e038cp-4}},
    {8,
     {0x1.454e34f533998p-6, 0x1.a06d536d82f88p-4, 0x1.e5dad4f9af698p-3, 0x1.a214dac30e32fp-2, 0x1.2ef5929e78e69p-1,
      0x1.86894ac19425ap-1, 0x1.cbf255924fa0fp-1, 0x1.f5d58e5856633p-1},
     {0x1.9ea1d04ca0374p-5, 0x1.c76fb531d2b96p-4, 0x1.413c50a255615p-3, 0x1.736360b199343p-3, 0x1.736360b199343p-3,
      0x1.413c50a255615p-3, 0x1.c76fb531d2b96p-4, 0x1.9ea1d04ca0374p-5}},
};

inline const Rule& rule_for(double share_of_panel) noexcept {
    if (share_of_panel <= 0x1p-7) return kRules[0];
    if (share_of_panel <= 0x1p-4) return kRules[1];
    return share_of_panel <= 0x1p-3 ? kRules[2] : kRules[3];
}

// The density (of P or of Q, as asked for) and the loss at one output.
struct OutputPoint {
    double density, loss;
};

// An interval of outputs, on which the loss is monotone, and the losses at its ends.
struct Part {
    double start, end, first, last;
};

// Returns the span over a part on which the rule is accurate for both densities. `mass_error` is the relative error of
// the density asked for, that of the larger mass; `loss_error` is the error of the losses.
template <class Output>
Span integrated(const Part& part, const Rule& rule, const Output& output, double mass_error, double loss_error) {
    const double low = std::min(part.first, part.last), high = std::max(part.first, part.last);
    const bool positive = low + high >= 0.0;
    const double near = positive ? low : high, length = std::fabs(part.end - part.start);
    double mass = 0.0, kept = 0.0, gained = 0.0;
    for (int i = 0; i < rule.count; ++i) {
        const OutputPoint point = output.at(part.start + (part.end - part.start) * rule.node[i], positive);
        const double large = rule.weight[i] * point.density;
        const double fall = lane_expm1(positive ? near - point.loss : point.loss - near);
        mass += large;
        kept += large * (1.0 + fall);
        gained -= large * fall;
    }
    double beyond = 0.0;  // |mean - near|
    if (mass > 0.0)
        beyond = gained < 0.5 * mass ? -lane_log1p(-gained / mass) : lane_log(mass / std::max(kept, 1e-300));
    beyond = std::clamp(beyond, 0.0, high - low);
    const double mean = positive ? near + beyond : near - beyond;
    const double large = mass * length, small = large * deep_exp(positive ? -mean : mean);
    // Errors of the densities that differ between nodes move the mean by twice that error times `beyond`.
    const double error =
        loss_error + (2.0 * mass_error + 16.0 * kUnitRoundoff) * beyond + 2.0 * kUnitRoundoff * std::fabs(mean);
    return {low,
            mean,
            high,
            positive ? large : small,
            positive ? small : large,
            mass_error + (24.0 + 2.0 * std::fabs(mean)) * kUnitRoundoff,
            error};
}

// Returns a place inside the part where the loss is about `value`, and the loss at that place. It uses the inverse of
// the loss, if there is one, else a few steps of false position.
template <class Loss>
std::pair<double, double> place_of(double value, const Part& part, const Loss& loss) {
    if constexpr (requires { loss.inverse(value); }) {
        const double place = loss.inverse(value);
        return {place, loss(place)};
    }
    constexpr double kClose = 1e-7;  // tolerance, relative to the range of the part's losses
    FalsePosition ends{part.start, part.end, part.first - value, part.last - value};
    double found = 0.5 * (ends.low + ends.high), here = value;
    for (int turn = 0; turn < 8 && ends.at_low != ends.at_high; ++turn) {
        found = ends.low + ends.width() * ends.part();
        here = loss(found);
        const double rest = here - value;
        if (std::fabs(rest) <= kClose * std::fabs(part.last - part.first)) break;
        (rest > 0.0) == (ends.at_low > 0.0) ? ends.move_low(found, rest) : ends.move_high(found, rest);
    }
    return {found, here};
}

// The least share of a part that a cut takes off. Where the loss is flat and then steep, few steps of false position
// end next to an end of the part, and the number of slices would be unbounded. This affects time, not validity.
constexpr double kLeastShare = 0x1p-10;

// Divides a part at the cuts of `fineness`, or in halves where a cut takes off next to nothing; calls emit(part).
template <class Loss, class Emit>
void divide(const Part& part, const Loss& loss, const Fineness& fineness, const Emit& emit) {
    const double cut = fineness.cut(std::min(part.first, part.last), std::max(part.first, part.last));
    if (cut == kFine) return emit(part);
    const double least = kLeastShare * (part.end - part.start);
    std::pair<double, double> middle{part.start, part.first};
    if (cut != kAnywhere) middle = place_of(cut, part, loss);
    if (!(middle.first - part.start > least && part.end - middle.first > least)) {
        middle.first = 0.5 * (part.start + part.end);
        middle.second = loss(middle.first);
    }
    if (!(part.start < middle.first && middle.first < part.end)) return emit(part);
    divide({part.start, middle.first, part.first, middle.second}, loss, fineness, emit);
    divide({middle.first, part.end, middle.second, part.last}, loss, fineness, emit);
}

// Panels: intervals of outputs on which 8 nodes integrate both densities.
//
// Gauss-Legendre with n nodes on an interval of length 2, f analytic with |f| <= M on the ellipse of parameter rho:
// error <= (64/15) M rho^-2n/(1 - rho^-2) (Trefethen, Approximation Theory and Approximation Practice, Theorem 19.3).
// A panel of half-width w around c on which the log densities change slower than 1/(4 w) within 8 w of c has densities
// at most e^2 times their value at c on the ellipse of semi-axis 8 w, rho = 15.9: 8 nodes leave 2^-58 of the mass. A
// factor that grows with the distance from one end, such as 1 - e^-w, is at most 9 times larger there than on the
// panel, which leaves an error of 2^-54.

// Returns the ends of consecutive panels from start to end, each about as wide as fits(centre, half-width) permits.
template <class Fits>
std::vector<double> panel_ends(double start, double end, const Fits& fits) {
    std::vector<double> ends{start};
    double last = 0.5 * (end - start);
    for (double a = start; a < end; a = ends.back()) {
        double half = std::min(2.0 * last, 0.5 * (end - a));
        while (!fits(a + half, half) && a + half > a) half *= 0.75;
        last = half;
        const double b = a + 2.0 * half;
        ends.push_back(a < b && b < end ? b : end);
    }
    return ends;
}

// Adds the spans over a panel to `found`.
template <class Output>
void add_panel(double start, double end, const Output& output, double mass_error, double loss_error,
               const Fineness& fineness, Spans& found) {
    const auto loss = [&output](double x) { return output.loss(x); };
    divide({start, end, output.loss(start), output.loss(end)}, loss, fineness, [&](const Part& part) {
        const Rule& rule = rule_for((part.end - part.start) / (end - start));
        found.spans.push_back(integrated(part, rule, output, mass_error, loss_error));
    });
}

}  // namespace renyi
