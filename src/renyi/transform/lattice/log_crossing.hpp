// Where a bound of delta(epsilon), falling, crosses a given delta.
#pragma once

#include <algorithm>
#include <cmath>

#include "renyi/fp/certified.hpp"
#include "renyi/special/false_position.hpp"

namespace renyi::lattice {

// curve(low) > delta >= curve(high), as near as `close` relative. An end that is not found is infinite.
struct Crossing {
    double low, high;
};

// A point where a lower bound exceeds delta is below epsilon(delta), one where an upper bound does not is above it,
// wherever they were found.
template <class Curve>
Crossing log_crossing(const Curve& curve, double delta, double start, double stride, double close) {
    constexpr int kStrides = 40, kSteps = 200;
    constexpr double kGrowth = 1.5;
    const auto log_excess = [delta](double value) {
        if (!(value > 0.0)) return -kInfinity;
        return delta > 0.0 ? std::log(value / delta) : kInfinity;
    };
    double low = start, high = start, above = curve(start), below = above;
    for (double reach = stride, i = 0; !(above > delta); reach *= kGrowth, ++i) {
        if (i == kStrides) return {-kInfinity, low};
        high = low;
        below = above;
        low -= reach;
        above = curve(low);
    }
    for (double reach = stride, i = 0; below > delta; reach *= kGrowth, ++i) {
        if (i == kStrides) return {high, kInfinity};
        low = high;
        above = below;
        high += reach;
        below = curve(high);
    }
    FalsePosition ends{low, high, log_excess(above), log_excess(below)};
    for (int step = 0; step < kSteps; ++step) {
        const double least = close * std::max(std::fabs(ends.low), std::fabs(ends.high));
        if (ends.width() <= 2.0 * least) break;
        // Log delta is nearly linear; no closer to an end than what is asked for.
        double middle = ends.low + 0.5 * ends.width();
        if (step % 4 != 3 && std::isfinite(ends.at_low) && std::isfinite(ends.at_high)) {
            middle = std::min(std::max(ends.low + ends.width() * ends.part(), ends.low + least), ends.high - least);
        }
        if (!(ends.low < middle && middle < ends.high)) break;
        const double value = curve(middle);
        value > delta ? ends.move_low(middle, log_excess(value)) : ends.move_high(middle, log_excess(value));
    }
    return {ends.low, ends.high};
}

}  // namespace renyi::lattice
