#include "renyi/transform/lattice/tilt_choice.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace renyi::lattice {

namespace {

// Exponents stay below 2000.
double largest_slope(const NodeLaws& laws) {
    double widest = 1e-300;
    for (const NodeLaw& law : laws) {
        if (law.size() == 0) continue;
        widest = std::max({widest, std::fabs(law.losses.front()), std::fabs(law.losses.back())});
    }
    return 2000.0 / widest;
}

// Cuts off as much of the tails as the delta that remains allows: the moment function of a long tail is dominated by
// losses that matter to no delta of interest.
TiltChoice choose_tail(const NodeLaws& laws, double epsilon, double rtol) {
    TiltChoice choice;
    for (const double log_tail : {-15.0, -25.0, -40.0, -65.0, -105.0, -160.0, -250.0, -400.0, -kInfinity}) {
        const NodeLaws cut = truncated(laws, log_tail);
        choice.slope = saddle(cut, epsilon);
        choice.log_delta = log_delta_at(cut, choice.slope, epsilon);
        choice.log_tail = log_tail;
        if (log_tail <= std::log(1e-3 * rtol) + choice.log_delta) break;
    }
    return choice;
}

}  // namespace

double saddle(const NodeLaws& laws, double epsilon, std::optional<double> near) {
    const OwnedLaws blocks = near ? tilted_blocks(laws, *near) : OwnedLaws{};
    const double shift = near.value_or(0.0);
    const auto too_large = [&](double t) {
        return log_moment(near ? blocks.laws : laws, t - shift).mean - epsilon > 1.0 / t + 1.0 / (1.0 + t);
    };
    const double largest = largest_slope(laws);
    double low = largest * 1e-16, high = largest;
    if (near) {
        low = std::max(low, *near / 1.3);
        high = std::min(high, *near * 1.3);
        if (too_large(low)) low = largest * 1e-16;
        if (!too_large(high)) high = largest;
    } else if (!too_large(high)) {
        return high;
    }
    while (high > 1.02 * low) {
        const double middle = std::sqrt(low) * std::sqrt(high);  // the product may overflow
        (too_large(middle) ? high : low) = middle;
    }
    return std::sqrt(low) * std::sqrt(high);
}

double log_delta_at(const NodeLaws& laws, double t, double epsilon) {
    const LogMoment k = log_moment(laws, t);
    const double curvature = k.variance + 1.0 / (t * t) + 1.0 / ((1.0 + t) * (1.0 + t));
    const double height = k.value - t * epsilon - std::log(t) - std::log1p(t);
    return std::min(height - 0.5 * std::log(2.0 * std::numbers::pi * std::max(curvature, 1e-300)), 0.0);
}

TiltChoice choose_tilt(const NodeLaws& laws, double epsilon, double rtol) {
    OwnedLaws blocks;
    for (const NodeLaw& law : laws) blocks.add(NodeLawArrays::in_blocks(law), law.count);
    if (epsilon > 0.0) {
        for (const double share : {0.9, 0.7, 0.5, 0.3, 0.15}) {
            set_bulk(blocks.laws, share * epsilon);
            if (!bulk_splits_all(blocks.laws)) continue;
            TiltChoice choice = choose_tail(blocks.laws, epsilon, rtol);
            const NodeLaws bulk = bulk_alone(blocks.laws);
            choice.limit = share * epsilon;
            choice.bulk_slope = saddle(bulk, epsilon);
            const double left_out = log_moment(bulk, choice.bulk_slope).value - choice.bulk_slope * epsilon;
            if (left_out < std::log(1e-3 * rtol) + choice.log_delta) return choice;
        }
    }
    set_bulk(blocks.laws, -kInfinity);
    return choose_tail(blocks.laws, epsilon, rtol);
}

}  // namespace renyi::lattice
