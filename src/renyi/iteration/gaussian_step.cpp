// In double-double, as for the curve of the Gaussian mechanism: r is known to 2^-100, so a and b are known to 2^-98 b,
// which moves log theta and log (1 - theta) by at most (|a| + 1) 2^-98 b, below 2^-60 wherever theta or 1 - theta is a
// normal number and eps <= 1e15; density and Mills ratios are right to 2^-61. The margin of 2^-50 covers all of it,
// and the rounding to double.
#include "renyi/iteration/gaussian_step.hpp"

#include <algorithm>
#include <cmath>

#include "renyi/fp/certified.hpp"
#include "renyi/special/elementary_dd.hpp"
#include "renyi/special/normal.hpp"

namespace renyi {

namespace {

constexpr double kMargin = 0x1p-50;
constexpr double kSmallestNormal = std::numeric_limits<double>::min();
constexpr double kFar = 1000.0;  // Q beyond it is nothing

double value_of(const Scaled& s) noexcept {
    return std::ldexp(s.mantissa.hi, static_cast<int>(std::clamp(s.exponent, -5000.0, 5000.0)));
}

Scaled one_minus(const Scaled& s) noexcept { return kScaledOne + Scaled{-s.mantissa, s.exponent}; }

StepDivergence assembled(const Scaled& theta, const Scaled& complement) noexcept {
    const double above = std::max(value_of(theta) * (1.0 + kMargin), kSmallestNormal);
    const double rest = value_of(complement) * (1.0 - kMargin);
    const double below = rest < kSmallestNormal ? 0.0 : rest;
    if (below < 0.5) return {std::min(above, 1.0), below, -lane_log1p(-below) * (1.0 - kMargin)};
    const DoubleDouble log = kLog2DD * theta.exponent + log_dd(theta.mantissa);
    return {std::min(above, 1.0), below, -log.hi * (1.0 - kMargin) - kMargin};
}

}  // namespace

StepDivergence gaussian_step(double epsilon, double shift, double scale) noexcept {
    if (shift == 0.0 || epsilon == kInfinity) return {0.0, 1.0, kInfinity};
    const DoubleDouble r = DoubleDouble{shift, 0.0} / DoubleDouble{scale, 0.0};
    const double near = epsilon / r.hi - 0.5 * r.hi;
    // theta < Q(a) < e^{-a^2/2}; a^2 may overflow
    if (near > kFar) return {kSmallestNormal, 1.0 - kMargin, std::min(0.5 * near * near * (1.0 - 0x1p-20), 1e300)};
    if (near < -kFar) return {1.0, 0.0, 0.0};
    const DoubleDouble quotient = DoubleDouble{epsilon, 0.0} / r, half = r * 0.5;
    const DoubleDouble a = quotient - half, b = quotient + half;
    const Scaled density = normal_density(a);
    if (a.hi < 0.0 && r.hi >= 0x1p-12) {
        const Scaled complement = density * (mills(-a) + mills(b));
        return assembled(one_minus(complement), complement);
    }
    const Scaled theta = density * mills_difference(a, b, {r, 0.0});
    return assembled(theta, one_minus(theta));
}

}  // namespace renyi
