// log A by the trapezoidal rule, inside the open domain: 0 < q < 1, 0 < sigma < inf, alpha >= 1 or alpha < 0: the step
// of the rule, the sum near the origin, the sum around a peak far from it, and their total.
#pragma once

#include <algorithm>
#include <cmath>

#include "renyi/fp/certified.hpp"
#include "renyi/fp/double_double.hpp"
#include "renyi/loss/sampled_gaussian.hpp"
#include "renyi/loss/sampled_gaussian_kernels.hpp"
#include "renyi/special/elementary.hpp"

namespace renyi {

// The derivatives are computed only where `derivatives` is true.
LogADerivatives log_a_by_quadrature(double q, double sigma, double alpha, bool derivatives,
                                    NodeTable* table = nullptr) noexcept;

// The limit log A(alpha)/(alpha-1) as alpha -> 1: the Kullback-Leibler divergence of mu from mu0.
Certified kullback_leibler_by_quadrature(double q, double sigma) noexcept;

// One (q, sigma) with its logarithms.
struct SampledGaussianLaw {
    double q, one_minus_q, sigma, c;  // c = 1/sigma
    double log_q, log_rest;           // log q, log (1-q)

    SampledGaussianLaw(double rate, double noise) noexcept
        : q(rate),
          one_minus_q(1.0 - rate),
          sigma(noise),
          c(1.0 / noise),
          log_q(lane_log(rate)),
          log_rest(lane_log1p(-rate)) {}

    double w(double u) const noexcept { return u * c - 0.5 * c * c; }

    // log of the odds that u came from the sampled component.
    double logit(double u) const noexcept { return log_q - log_rest + w(u); }

    // The probability that u came from it, q e^w / (1 - q + q e^w).
    double posterior(double u) const noexcept {
        const double v = logit(u);
        const double e = lane_exp(-std::fabs(v));
        return (v >= 0.0 ? 1.0 : e) / (1.0 + e);
    }

    // log mu/mu0 at u, with an error of a few ulps of log (1-q): for decisions, not for results.
    double log_ratio(double u) const noexcept {
        const double v = logit(u);
        return log_rest + std::max(v, 0.0) + lane_log1p(lane_exp(-std::fabs(v)));
    }

    // The u where both components have the same weight.
    double split() const noexcept { return 0.5 * c + sigma * (log_rest - log_q); }
};

// The step of the trapezoidal rule for log A, and the proof that it is small enough.
//
// For f analytic in the strip |Im u| < a, |h sum f(jh) - integral f| <= 2 M/(e^{2 pi a/h} - 1), M = sup_{s<=a} integral
// |f(u+is)|. The rule is applied to n(u) ((1+x)^alpha - 1 - alpha x) / sqrt(2 pi), whose two parts are bounded
// separately.
//
// Linear part (entire): |n(u+ia)| = n(u) e^{a^2/2} and |x| <= q (e^w + 1), so M <= e^{a^2/2} (1 + 2 |alpha| q).
//
// alpha > 1: |1-q+q e^{w+i theta}| <= 1-q+q e^w, so M <= e^{a^2/2} A for every a. The function is entire for integer
// alpha.
//   Otherwise it has branch points at u0 +- i pi sigma (odd multiples), u0 = c/2 + sigma log((1-q)/q), where q e^w =
//   1-q. With the cuts drawn vertically, both half-planes are analytic and the cuts add at most
//     4 (a - pi sigma) e^{((pi sigma)^2 - u0^2)/2} (2 (1-q))^alpha e^{-2 pi^2 sigma/h},
//   because |1+x| = (1-q) |1 + e^{i theta}| on them and s^2/2 - 2 pi s/h falls for s < 2 pi/h.
//   Hence the strip either stays inside the cuts, or is wide and adds this term: the larger step of the two is taken.
//
// alpha < 0, z = -alpha: theta = a/sigma <= pi/2 keeps log|1-q+q e^{w+i theta}| convex in u, so
//   D(u) = log|n (1+x)^alpha|(u+ia) is strongly concave (D'' <= -1) and integral e^D <= sqrt(2 pi) e^{D(u1) +
//   D'(u1)^2/2} for any u1. There the curvature 1 + kappa of the integrand at its mode, kappa = z p (1-p) c^2, sets the
//   scale of a and h.

// The aimed aliasing error is e^-kAliasingTarget, relative to A - 1: e^-39 < 2^-56.
constexpr double kAliasingTarget = 39.0;

// For smaller alpha - 1 the ratio (A - 1)/(alpha - 1) no longer changes: bounds are scaled as if alpha - 1 were this.
constexpr double kSmallestBeta = 1e-9;

// log of a lower bound on A - 1 for alpha > 1, from log A >= alpha (alpha-1) q^2 / (2 sigma^2) (Jensen) and
// log A >= alpha log q + alpha (alpha-1)/(2 sigma^2) (because 1+x >= q e^w).
double log_excess_remove(const SampledGaussianLaw& law, double alpha) noexcept;

// The sum: A - 1, whose integrand is entire in u for integer alpha > 1; or also the derivatives in alpha, whose factor
// log(1+x) has the branch points at every alpha and is at most |l| + pi off the axis.
enum class Summand { excess, derivatives };

// Returns the step for alpha >= 1, whose aliasing error is proven to be below 2 e^-nats (A - 1).
double step_remove(const SampledGaussianLaw& law, double alpha, double log_excess, Summand summand,
                   double nats = kAliasingTarget) noexcept;

// Returns the stationary point of alpha l(u) - u^2/2 reached from `start` by Newton steps, damped to fixed-point steps
// u = alpha p(u) c: from 0 they rise to the lowest stationary point, from alpha c they fall to the highest one.
double far_mode(const SampledGaussianLaw& law, double alpha, double start) noexcept;

// log of the integrand at u, in double: for decisions, not for results.
inline double far_height(const SampledGaussianLaw& law, double alpha, double u) noexcept {
    return alpha * law.log_ratio(u) - 0.5 * u * u;
}

}  // namespace renyi
