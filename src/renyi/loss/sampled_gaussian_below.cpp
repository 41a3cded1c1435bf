// log A of the part of mu0 below a limit: panels of Gauss-Legendre nodes that end there.
//
//     A_limit - 1 = integral_{u <= limit} n(u) ((1+x)^alpha - 1 - alpha x) du - integral_{u > limit} n(u) (1 + alpha x)
//     du,
// with the first integrand split as in the quadrature of the whole, into beta h(x) + (1+x) phi(beta l) >= 0, and the
// second integral (1 - alpha q) Q(limit) + alpha q Q(limit - 1/sigma). Panels are 0.8 wide: on the Bernstein ellipse of
// parameter 4, 0.75 high and 0.45 beyond the ends, the integrand grows by e^(0.28 + 0.45 |slope|), slope that of its
// logarithm, against 4^-32 = 2^-64. The error bound takes the worst panel's growth for all.
#include <algorithm>
#include <cmath>

#include "renyi/loss/sampled_gaussian.hpp"
#include "renyi/loss/sampled_gaussian_law.hpp"
#include "renyi/special/gauss_legendre.hpp"

namespace renyi {

namespace {

constexpr double kInverseSqrt2Pi = 0x1.9884533d43651p-2;
constexpr double kHalfWidth = 0.4;
constexpr double kLargestExponent = 690.0;  // beyond, A leaves the range of doubles
constexpr double kGrown = 50.0;             // of beta l: e^-50 alpha x is nothing

double upper_tail(double x) noexcept { return 0.5 * std::erfc(x * 0x1.6a09e667f3bcdp-1); }

struct Sums {
    double value = 0.0, first = 0.0;  // of (1+x)^alpha - 1 - alpha x and its derivative in alpha
    double mass = 0.0, second = 0.0;  // of (1+x)^alpha and (l - centre)^2 (1+x)^alpha
    double centred = 0.0;             // of (l - centre) (1+x)^alpha
    double largest = 0.0;             // exponent
};

void add_node(const SampledGaussianLaw& law, double alpha, double centre, double u, double weight,
              Sums& sums) noexcept {
    const double beta = alpha - 1.0, w = law.w(u);
    const double x = law.q * lane_expm1(std::min(w, 700.0)), y = 1.0 + x;
    const LogReduction log = reduce_log(y, x);
    const double l = w < 700.0 ? log_of(log) : law.log_ratio(u);
    const double t = beta * l;
    const double exponent = alpha * l - 0.5 * u * u;
    sums.largest = std::max(sums.largest, exponent);
    const double grown = weight * lane_exp(std::min(exponent, kLargestExponent));
    sums.mass += grown;
    sums.centred += (l - centre) * grown;
    sums.second += (l - centre) * (l - centre) * grown;
    if (t > kGrown) {
        sums.value += grown;
        sums.first += l * grown;
        return;
    }
    const double n = weight * lane_exp(-0.5 * u * u);
    const ExpReduction e = reduce_exp(std::max(t, -700.0));
    const double h = x * l + log1pmx_of(log, x);
    sums.value += n * (beta * h + y * phi_of(e));
    sums.first += n * (l * y * expm1_of(e) + h);
}

}  // namespace

LogADerivatives log_a_below(double q, double sigma, double alpha, double limit) noexcept {
    const SampledGaussianLaw law(q, sigma);
    const double c = law.c, centre = law.log_ratio(std::min(limit, std::max(alpha * q * c, 0.0)));
    const double start = -12.0 - std::sqrt(std::max(2.0 * std::log(alpha), 0.0));
    const double panels = std::ceil((limit - start) / (2.0 * kHalfWidth));
    const double half_width = (limit - start) / (2.0 * panels);
    if (!(panels < 1e3)) return {kOutsideDomain, kNaN, kNaN};
    Sums sums;
    for (double j = 0.0; j < panels; ++j) {
        const double middle = start + (2.0 * j + 1.0) * half_width;
        for (int i = 0; i < kLegendreHalf; ++i) {
            const double away = half_width * kLegendreNode[i], weight = half_width * kLegendreWeight[i];
            add_node(law, alpha, centre, middle - away, weight, sums);
            add_node(law, alpha, centre, middle + away, weight, sums);
        }
    }
    if (!(sums.largest < kLargestExponent)) return {kOutsideDomain, kNaN, kNaN};
    const double moved = upper_tail(limit - c), beyond = upper_tail(limit);
    const double value = kInverseSqrt2Pi * sums.value - ((1.0 - alpha * q) * beyond + alpha * q * moved);
    const double first = kInverseSqrt2Pi * sums.first - q * (moved - beyond);
    const double a = 1.0 + value, mean = sums.centred / sums.mass;
    const double slope = std::max(limit, std::fabs(alpha * law.posterior(limit) * c - limit));
    const double error = 128.0 * kUnitRoundoff + 0x1p-62 * std::exp(0.28 + 0.45 * slope);
    const double log_a = value > -0.5 ? lane_log1p(value) : kNaN;
    return {{log_a, error * std::fabs(value / (a * log_a)) + 4.0 * kUnitRoundoff},
            first / a,
            sums.second / sums.mass - mean * mean};
}

}  // namespace renyi
