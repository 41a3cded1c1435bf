// log A for real alpha > 1 by the two series of Mironov, Talwar, Zhang 2019, section 3.3 case II, split at
//     z0 = 1/2 + sigma^2 log((1-q)/q),  where q mu1 = (1-q) mu0:
//     left  z < z0:  L_k = C(alpha,k) (1-q)^(alpha-k) q^k e^{k(k-1) c^2/2} Phi((z0-k) c)
//     right z > z0:  R_k = C(alpha,k) (1-q)^k q^(alpha-k) e^{j(j-1) c^2/2} Phi((j-z0) c),   j = alpha - k,
// minus the integral of 1 + alpha x over both sides, so that A - 1 is summed instead of A. On the left that replaces
// the first two terms by
//     ((1-q)^alpha - 1 + alpha q) Phi(z0 c)   and   alpha q ((1-q)^(alpha-1) - 1) Phi((z0-1) c).
// C(alpha,k) alternates beyond k = alpha and keeps its sign. Where the argument of Phi is negative,
//     e^{k(k-1) c^2/2} Phi((z0-k) c) ((q/(1-q))^k = e^{-z0^2 c^2/2} erfcx((k-z0) c/sqrt 2)/2,
// and likewise on the right: common factor (1-q)^alpha e^{-z0^2 c^2/2}, no exponents left to cancel, and a tail that
// falls only algebraically. From the first k beyond alpha and z0 on, that tail alternates with completely monotone
// magnitudes and is summed by the Cohen-Rodriguez Villegas-Zagier method, error (3 + sqrt 8)^-23 < 2^-58 of its first
// term.
//
// Terms carry 30u each. The sum of their magnitudes over the result, the condition number, is tracked; it is what
// decides the documented domain: 1 < alpha <= 16384 and condition <= 6 (sigma up to about 1, alpha not close to 1). NaN
// elsewhere.
#include <algorithm>
#include <cmath>

#include "renyi/loss/sampled_gaussian.hpp"
#include "renyi/special/elementary_dd.hpp"
#include "renyi/special/erfcx.hpp"

namespace renyi {

namespace {

constexpr double kMostTerms = 16384.0;
constexpr double kSmallestSigma = 1e-3;  // exponents stay below 2^60
constexpr double kWorstCondition = 6.0;
constexpr double kSqrtHalf = 0x1.6a09e667f3bcdp-1;
constexpr double kNegligible = 0x1p-64;

Scaled scaled(double x) noexcept { return {{x, 0.0}, 0.0}; }

// Phi(x) e^{x^2/2} for x <= 0.
double scaled_tail(double x) noexcept { return 0.5 * erfcx(-x * kSqrtHalf); }

double normal_cdf(double x) noexcept {
    const double tail = lane_exp(-0.5 * x * x) * scaled_tail(-std::fabs(x));
    return x < 0.0 ? tail : 1.0 - tail;
}

struct SignedSum {
    Scaled value = kScaledZero, magnitude = kScaledZero;
    void add(const Scaled& t) noexcept {
        value = value + t;
        magnitude = magnitude + absolute(t);
    }
    bool ignores(const Scaled& t) const noexcept {
        return magnitude.mantissa.hi > 0.0 && std::fabs(ratio(t, magnitude)) < kNegligible;
    }
};

struct Series {
    double alpha;
    DoubleDouble half_c_squared, c, split;  // c^2/2, c, z0 c
    Scaled common;                          // (1-q)^alpha e^{-z0^2 c^2/2}

    // One term given its coefficient C(alpha,k) and the weight that goes with it; `order` is k on the left and alpha -
    // k on the right, `sign` the side: +1 for Phi(split - order c).
    Scaled term(const Scaled& coefficient, const Scaled& weight, DoubleDouble order, double sign) const noexcept {
        const double x = sign * (split - c * order).hi;
        if (x <= 0.0) return coefficient * common * DoubleDouble{scaled_tail(x), 0.0};
        const Scaled growth = exp_dd(half_c_squared * order * (order + -1.0));
        return coefficient * weight * growth * DoubleDouble{normal_cdf(x), 0.0};
    }
};

// Alternating tail sum_{i>=0} (-1)^i a_i with a_0 = first and a_i = |C(alpha, k+i)| decreasing; f(i) is the rest of the
// term.
template <class Function>
double alternating_tail(double alpha, double k, Function f) noexcept {
    constexpr int kTerms = 23;
    const double d0 = std::pow(3.0 + std::sqrt(8.0), kTerms);
    const double d = 0.5 * (d0 + 1.0 / d0);
    double b = -1.0, c = -d, sum = 0.0, coefficient = 1.0;
    for (int i = 0; i < kTerms; ++i) {
        c = b - c;
        sum += c * coefficient * f(k + i);
        coefficient *= (k + i - alpha) / (k + i + 1.0);
        b *= (i + kTerms) * (i - kTerms) / ((i + 0.5) * (i + 1.0));
    }
    return sum / d;
}

}  // namespace

Certified log_a_series(double q, double sigma, double alpha) noexcept {
    if (!(alpha >= 1.0 && alpha <= kMostTerms) || !(sigma >= kSmallestSigma)) return kOutsideDomain;
    if (!(q >= 1e-100 && q < 1.0) || !(sigma <= 1e40) || alpha == 1.0) return log_a_quadrature(q, sigma, alpha);
    const DoubleDouble rest = two_sum(1.0, -q);
    const DoubleDouble log_rest = log_dd(rest), log_q = log_dd({q, 0.0});
    const DoubleDouble c = DoubleDouble{1.0, 0.0} / DoubleDouble{sigma, 0.0};
    const DoubleDouble half_c_squared = c * c * 0.5;
    const DoubleDouble split = c * 0.5 + (log_rest - log_q) * sigma;
    const Series series{alpha, half_c_squared, c, split, exp_dd(log_rest * alpha - split * split * 0.5)};
    const DoubleDouble odds = DoubleDouble{q, 0.0} / rest;
    const DoubleDouble inverse_odds = rest / DoubleDouble{q, 0.0};
    const double z0 = (split * sigma).hi;
    const double beta = alpha - 1.0;

    SignedSum sum;
    const double t = beta * log_rest.hi;
    const LogReduction log_left = reduce_log(1.0 - q, -q);
    const double h = -q * log_of(log_left) + log1pmx_of(log_left, -q);
    const double flat = beta * h + (1.0 - q) * (t > -700.0 ? phi_of(reduce_exp(t)) : -1.0 - t);
    sum.add(scaled(flat) * DoubleDouble{normal_cdf(split.hi), 0.0});
    sum.add(scaled(alpha * q * lane_expm1(t)) * DoubleDouble{normal_cdf((split - c).hi), 0.0});
    // The right side of 1 + alpha x.
    const auto right_mass = [&](double x) {
        return x <= 0.0 ? exp_dd(DoubleDouble{-0.5 * x * x, 0.0}) * DoubleDouble{scaled_tail(x), 0.0}
                        : scaled(normal_cdf(x));
    };
    sum.add(scaled(-(1.0 - alpha * q)) * right_mass(-split.hi));
    sum.add(scaled(-alpha * q) * right_mass((c - split).hi));

    const auto march = [&](Scaled weight, DoubleDouble weight_step, double first, bool left) {
        Scaled coefficient = kScaledOne;
        const auto order = [&](double k) { return left ? DoubleDouble{k, 0.0} : two_sum(alpha, -k); };
        for (double k = 0.0;; ++k) {
            // Beyond alpha and beyond the split point every term has the common form: hand over to the accelerated sum.
            const bool common_form = left ? k > z0 : alpha - k < z0;
            if (k > alpha && common_form) {
                const double tail = alternating_tail(
                    alpha, k, [&](double i) { return scaled_tail((left ? 1.0 : -1.0) * (split - c * order(i)).hi); });
                sum.add(coefficient * series.common * DoubleDouble{tail, 0.0});
                return;
            }
            if (k >= first) {
                const Scaled term = series.term(coefficient, weight, order(k), left ? 1.0 : -1.0);
                sum.add(term);
                if (k > alpha && sum.ignores(term)) return;
            }
            const DoubleDouble factor = two_sum(alpha, -k) / DoubleDouble{k + 1.0, 0.0};
            if (factor.hi == 0.0) return;  // integer alpha: the expansion ends
            coefficient = coefficient * factor;
            weight = weight * weight_step;
        }
    };
    march(exp_dd(log_rest * alpha), odds, 2.0, true);
    march(exp_dd(log_q * alpha), inverse_odds, 0.0, false);

    const double condition = ratio(sum.magnitude, sum.value);
    if (!(condition > 0.0 && condition <= kWorstCondition)) return kOutsideDomain;
    return {log1p_of(sum.value), 34.0 * condition * kUnitRoundoff};
}

}  // namespace renyi
