// Two Laplace laws of scale s at distance d: theta = (1 - e^x)_+, x = (eps - d/s)/2.
//
// In a block r = d (1/s) is off by 2u, and eps - r is rounded: together with the halves less than 2u (r + eps), by
// which x is moved down, so that e^x, 4u, is a lower bound of 1 - theta.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "renyi/fp/certified.hpp"
#include "renyi/fp/double_double.hpp"
#include "renyi/iteration/setting.hpp"
#include "renyi/special/elementary.hpp"

namespace renyi {

RENYI_INLINE double laplace_exponent(double epsilon, double r) noexcept {
    return 0.5 * (epsilon - r) - 0x1p-52 * (r + epsilon);
}

// <= 1 - theta, at the safe exponent x.
RENYI_INLINE double laplace_complement(double x) noexcept {
    const double value = lane_exp(x < 0.0 ? x : 0.0) * (1.0 - 0x1p-50);
    return x < 0.0 ? value : 1.0;
}

// Here r is carried to twice the precision, so that theta keeps its relative accuracy where eps is near r, and is 0
// where it should be: eps - r is exact where it cancels, and what r leaves over is right to u of itself. expm1: 6u,
// log: 2u; the error of the logarithm's argument counts once where theta < 1/2.
inline StepDivergence laplace_step(double epsilon, double shift, double scale) noexcept {
    if (epsilon == kInfinity) return {0.0, 1.0, kInfinity};
    const double r = shift / scale;
    const DoubleDouble back = two_prod(r, scale);
    const double low = ((shift - back.hi) - back.lo) / scale;
    const double centre = 0.5 * ((epsilon - r) - low);
    const double x = centre - (0x1p-50 * std::fabs(centre) + 0x1p-51 * std::fabs(low));
    if (!(x < 0.0)) return {0.0, 1.0, kInfinity};
    const double theta = std::clamp(-lane_expm1(x) * (1.0 + 0x1p-49), std::numeric_limits<double>::min(), 1.0);
    const double complement = laplace_complement(x);
    const double decay = complement < 0.5 ? -lane_log1p(-complement) : -lane_log(theta);
    return {theta, complement, std::max(decay * (1.0 - 0x1p-48), 0.0)};
}

}  // namespace renyi
