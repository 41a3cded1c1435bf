// See the header for the bounds.
#include "renyi/loss/sampled_gaussian_grid.hpp"

#include <algorithm>
#include <cmath>

#include "renyi/loss/sampled_gaussian_kernels.hpp"
#include "renyi/special/elementary.hpp"

namespace renyi {

namespace {

constexpr double kPi = 0x1.921fb54442d18p1;

}  // namespace

double log_excess_remove(const SampledGaussianLaw& law, double alpha) noexcept {
    const double beta = std::max(alpha - 1.0, kSmallestBeta);
    const double gaussian = 0.5 * alpha * beta * law.c * law.c;
    const double log_a = std::max(gaussian * law.q * law.q, alpha * law.log_q + gaussian);
    return log_a > 1.0 ? log_a - 0.46 : lane_log(log_a);  // log expm1(t) >= t - 0.46 for t >= 1, and >= log t
}

double step_remove(const SampledGaussianLaw& law, double alpha, double log_excess, Summand summand) noexcept {
    constexpr double kLogFour = 1.3862943611198907, kLogLargestStrip = 4.0;  // a < 54 < e^4: target < 1460
    // log(2 (1 + linear part / S)) <= log 2 + max(log 2, log 2 + log(2 + 2 alpha q) - log S), the logarithm to the next
    // power of two.
    const double linear = (std::ilogb(2.0 + 2.0 * alpha * law.q) + 1) * kLog2 - log_excess;
    const double logarithm = summand == Summand::derivatives ? 4.0 : 0.0;
    const double target = kAliasingTarget + 0.01 + 2.0 * kLog2 + std::max(linear, 0.0) + logarithm;
    const double wide = std::sqrt(2.0 * target);
    const double inside = kPi * law.sigma;
    const bool entire = summand == Summand::excess && alpha == std::floor(alpha);
    if (inside >= wide || entire) return round_step(2.0 * kPi / wide);
    const double u0 = law.split();
    const double cut = kAliasingTarget + 0.01 + logarithm - log_excess + (kLogFour + kLogLargestStrip) +
                       0.5 * (inside * inside - u0 * u0) + alpha * (kLog2 + law.log_rest);
    const double beyond_cut = cut > 0.0 ? 2.0 * kPi * inside / cut : kInfinity;
    const double within_cut = 2.0 * kPi * inside / (target + 0.5 * inside * inside);
    return round_step(std::min(2.0 * kPi / wide, std::max(beyond_cut, within_cut)));
}

AddStep step_add(const SampledGaussianLaw& law, double z, double mode, double log_excess, double log_a) noexcept {
    const double q = law.q, c = law.c;
    const double odds = lane_exp(law.logit(mode));
    const double p = odds / (1.0 + odds);
    const double pq = p / (1.0 + odds);
    const double kappa = z * pq * c * c;
    const double linear = lane_log(1.0 + 2.0 * z * q);
    const double target = kAliasingTarget + 1.5 + std::max(std::max(log_a, linear) - log_excess, 0.0);
    const double a = std::min(std::sqrt(2.0 * target / (1.0 + kappa)), 1.57 / c);
    const double theta = a * c;
    const double sine = std::sin(0.5 * theta);
    const double shrink = 1.0 - 4.0 * pq * sine * sine;  // |1 - p + p e^{i theta}|^2
    const double growth = 0.5 * a * a - 0.5 * z * lane_log(shrink);
    // D'(u1) = -u1 - z c Re(p e^{i theta} / (1 - p + p e^{i theta}))
    const double slope = -mode - z * c * (p - 2.0 * pq * sine * sine) / shrink;
    const double at_mode = -0.5 * mode * mode - z * (law.log_rest + lane_log1p(odds));
    const double log_m = std::max(at_mode + growth + 0.5 * slope * slope, 0.5 * a * a + linear);
    const double h = round_step(2.0 * kPi * a / (target + 0.7 + std::max(log_m - std::max(log_a, linear), 0.0)));
    return {h, 1.4 + log_m - 2.0 * kPi * a / h};
}

}  // namespace renyi
