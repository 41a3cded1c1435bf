#include "renyi/curve/gaussian_curve.hpp"

#include <algorithm>
#include <cmath>

#include "renyi/curve/curve_root.hpp"
#include "renyi/special/expm1_dd.hpp"
#include "renyi/special/normal.hpp"

namespace renyi {

namespace {

constexpr double kFar = 0x1p23;

Enclosed exactly(double x) noexcept { return {{{x, 0.0}, 0.0}, 0.0}; }

// mu = 0 and mu = inf: equal distributions, and disjoint ones.
CurvePoint at_limit(double mu, double eps) noexcept {
    if (mu > 0.0) return {exactly(1.0), exactly(0.0), kScaledZero};
    if (eps >= 0.0) return {exactly(0.0), exactly(1.0), kScaledZero};
    const Scaled e = exp_dd({eps, 0.0});
    return {{{-expm1_dd(eps), 0.0}, 0x1p-73}, {e, e.mantissa.hi == 0.0 ? 1.0 : 0x1p-79 - 0x1p-98 * eps}, e};
}

// With mu = m 2^k and eps' = eps 2^-2k: a = 2^k (eps' - m^2/2)/m, where m^2 is exact and so is the cancellation. k is
// kept above -400, where m^2 may underflow: there a = eps/mu to e^-200.
GaussianArguments arguments(double mu, double eps) noexcept {
    if (eps / mu > kFar + mu) return {{kInfinity, 0.0}, {kInfinity, 0.0}, kScaledOne, 0.0};
    const int k = std::max(std::ilogb(mu), -400);
    const double m = std::ldexp(mu, -k);
    const double scaled = std::ldexp(eps, -2 * k);
    const DoubleDouble half = two_prod(m, 0.5 * m);
    const auto quotient = [&](DoubleDouble numerator) {
        const DoubleDouble q = numerator / DoubleDouble{m, 0.0};
        return DoubleDouble{std::ldexp(q.hi, k), std::ldexp(q.lo, k)};
    };
    return {quotient(two_sum(scaled, -half.hi) + -half.lo),
            quotient(two_sum(scaled, half.hi) + half.lo),
            {{m, 0.0}, static_cast<double>(k)},
            0.0};
}

// Q(x), right to x's relative error of 2^-98.
Enclosed tail(DoubleDouble x) noexcept {
    const Scaled value = normal_tail(x);
    if (value.mantissa.hi == 0.0) return {value, 1.0};
    return {value, 0x1p-76 + 0x1p-96 * std::min(x.hi * x.hi, 0x1p44)};
}

Enclosed tradeoff(double mu, double alpha) noexcept {
    if (!(mu >= 0.0) || !(alpha >= 0.0 && alpha <= 1.0)) return kNotEnclosed;
    if (alpha == 0.0 || alpha == 1.0) return exactly(1.0 - alpha);
    if (std::isinf(mu)) return exactly(0.0);
    if (mu == 0.0) return {{two_sum(1.0, -alpha), 0.0}, 0.0};
    const DoubleDouble x = alpha <= 0.5 ? normal_tail_inverse(alpha) : -normal_tail_inverse(1.0 - alpha);
    const DoubleDouble y = DoubleDouble{mu, 0.0} - x;
    const Enclosed e = tail(y);
    const double shift = 0x1p-73 + 0x1p-98 * mu;
    return {e.value, e.error + shift * (2.0 + std::max(y.hi, 0.0))};  // (log Q)' = -1/R, 1/R(y) <= y + 1
}

// Not far above the x with Q(x) = p.
double quantile_guess(double p) noexcept {
    if (p > 0.5) return -quantile_guess(1.0 - p);
    int exponent;
    const double mantissa = std::frexp(p, &exponent);
    return std::sqrt(-2.0 * (exponent * kLog2 + lane_log(mantissa)));
}

}  // namespace

CurvePoint gaussian_curve_point(double mu, double eps) noexcept {
    if (!(mu >= 0.0) || std::isnan(eps)) return kNoPoint;
    if (mu == 0.0 || std::isinf(mu)) {
        if (mu == 0.0 || std::isfinite(eps)) return at_limit(mu, eps);
    }
    if (std::isinf(eps)) return at_limit(eps < 0.0 ? kInfinity : 0.0, eps);
    const CurvePoint p = gaussian_point(arguments(mu, std::fabs(eps)));
    return eps < 0.0 ? mirrored(p, -eps) : p;
}

// delta <= Q(a) and 1 - delta >= Q(-a): from there Newton's method converges.
double gaussian_epsilon_guess(double mu, double delta) noexcept {
    return std::min(mu * (quantile_guess(delta) + 0.5 * mu), 1e300);
}

Certified gaussian_delta(double mu, double eps) noexcept { return nearest_of(gaussian_curve_point(mu, eps).delta); }
Bracket gaussian_delta_bounds(double mu, double eps) noexcept { return bounds_of(gaussian_curve_point(mu, eps).delta); }

Certified gaussian_tradeoff(double mu, double alpha) noexcept { return nearest_of(tradeoff(mu, alpha)); }
Bracket gaussian_tradeoff_bounds(double mu, double alpha) noexcept { return bounds_of(tradeoff(mu, alpha)); }

Bracket gaussian_epsilon(double mu, double delta) noexcept {
    if (!(mu >= 0.0) || !(delta >= 0.0 && delta <= 1.0)) return kNoBracket;
    if (delta == 1.0) return {-kInfinity, -kInfinity};
    if (std::isinf(mu) || delta == 0.0) {
        if (mu == 0.0) return {0.0, 0.0};
        return {kInfinity, kInfinity};
    }
    const auto at = [mu](double eps) { return gaussian_curve_point(mu, eps); };
    return epsilon_root(delta, gaussian_epsilon_guess(mu, delta), at);
}

Bracket gaussian_mu(double eps, double delta) noexcept {
    if (std::isnan(eps) || !(delta >= 0.0 && delta <= 1.0)) return kNoBracket;
    const auto at = [eps](double mu) { return gaussian_curve_point(mu, eps); };
    if (delta == 1.0 || (eps == kInfinity && delta > 0.0)) return {kInfinity, kInfinity};
    if (eps >= 0.0 && delta == 0.0) return {0.0, eps == kInfinity ? kInfinity : 0.0};
    if (eps < 0.0 && excess_over(delta, at(0.0)).sign >= 0) return kNoBracket;
    const double z = quantile_guess(delta), size = std::fabs(eps);
    const double root = std::sqrt(0.5 * z * z + size) * 0x1.6a09e667f3bcdp0;
    // From delta <= Q(a), and from delta <= mu/sqrt(2 pi).
    const double start = std::max(z > 0.0 ? size / (z + root) * 2.0 : root - z, 2.5 * delta);
    return curve_root(
        delta, start, {0.0, kInfinity, false}, at,
        [eps, delta](double mu, const LogExcess& e, const CurvePoint& p) {
            // d delta / d mu = phi(mu/2 - eps/mu)
            const GaussianArguments g = arguments(mu, std::fabs(eps));
            const Scaled density = normal_density(eps < 0.0 ? -g.b : g.a);
            const double slope = mu * ratio(density, delta > 0.5 ? p.complement.value : p.delta.value);
            return mu * lane_exp(std::clamp(-e.value / slope, -40.0, 40.0));
        },
        [](double left, double right) {
            if (left == 0.0) return std::isinf(right) ? 1.0 : right * 0x1p-20;
            return std::isinf(right) ? left * 0x1p20 : std::sqrt(left) * std::sqrt(right);
        });
}

}  // namespace renyi
