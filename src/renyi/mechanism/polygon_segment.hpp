// K between whole orders: the chord, for K known as a bound at whole orders only.
#pragma once

#include <algorithm>
#include <cmath>

#include "renyi/mechanism/renyi_curve.hpp"

namespace renyi {

constexpr double kLastOrder = 1e6;  // orders are not asked for beyond

// vertex(n) is K at whole n >= 2; finite up to `last`, a whole number. The slope is that of the segment on the right;
// at 1e6, where nothing follows, of the one on the left. The chord is a weighted mean: weights right to 1u, products
// and sum to 2u more.
template <class Vertex>
LogMoment polygon_segment(double alpha, double last, Vertex vertex) noexcept {
    if (!(alpha >= 1.0)) return {kOutsideDomain, kNaN, kNaN};
    if (alpha > last) return {{kInfinity, 0.0}, kInfinity, 0.0};
    const auto at = [&](double n) { return n < 2.0 ? Certified{0.0, 0.0} : vertex(n); };
    const double n = std::floor(alpha), t = alpha - n;
    const Certified here = at(n);
    if (n >= kLastOrder) return {here, here.value - at(n - 1.0).value, 0.0};
    if (n >= last) return {here, kInfinity, 0.0};
    const Certified next = at(n + 1.0);
    const double slope = next.value - here.value;
    if (t == 0.0) return {here, slope, 0.0};
    const double value = (1.0 - t) * here.value + t * next.value;
    const double error = std::max(here.relative_error, next.relative_error) + 3.0 * kUnitRoundoff;
    return {{value, value == 0.0 ? 0.0 : error}, slope, 0.0};
}

}  // namespace renyi
