// Where a bound of delta(epsilon), falling, crosses a given delta.
#pragma once

#include <algorithm>
#include <cmath>

#include "renyi/fp/certified.hpp"

namespace renyi {

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
    above = log_excess(above);
    below = log_excess(below);
    for (int step = 0; step < kSteps; ++step) {
        const double width = high - low, least = close * std::max(std::fabs(low), std::fabs(high));
        if (width <= 2.0 * least) break;
        // Log delta is nearly linear: false position, halving the end that stays (Illinois), and no closer to an end
        // than what is asked for.
        double middle = low + 0.5 * width;
        if (step % 4 != 3 && std::isfinite(above) && std::isfinite(below)) {
            middle = std::min(std::max(low + width * above / (above - below), low + least), high - least);
        }
        if (!(low < middle && middle < high)) break;
        const double value = curve(middle), excess = log_excess(value);
        if (value > delta) {
            low = middle;
            above = excess;
            below *= 0.5;
        } else {
            high = middle;
            below = excess;
            above *= 0.5;
        }
    }
    return {low, high};
}

}  // namespace renyi
