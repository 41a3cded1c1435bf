// log A for integer alpha by the binomial expansion, without its cancelling part:
//     A - 1 = E_K[ expm1(K (K-1) / (2 sigma^2)) ],  K ~ Bin(alpha, q)
// (Mironov, Talwar, Zhang 2019, section 3.3 case I; the terms k = 0 and 1 of the expansion sum to what is subtracted).
// All terms are >= 0.
//
// The probabilities are taken relative to their mode by the recurrence in double-double, and normalised by their own
// sum, which is 1: no log-gamma, no digits lost to large alpha. Every quantity carries a separate binary exponent, so
// nothing over- or underflows.
//
// Error: weights 2^-80, expm1 to 8u (its argument is double-double), sums in double-double, the rest below 2^-59 where
// the marches stop: S to 16u, log A to 20u. Cost: O(alpha) at worst, O(sqrt(alpha)) where the tail is light.
//
// Stop to the right of k: a_j = j (j-1) c^2/2 is convex, so a_j - a_k <= (j-k) (alpha+k-1) c^2/2 up to j = alpha, and
// expm1(a_j)/expm1(a_k) <= (a_j/a_k) e^{a_j - a_k} with a_j/a_k <= e^{2 (j-k)/(k-1)}: terms fall at least geometrically
// with ratio w_{k+1}/w_k e^{(alpha+k-1) c^2/2 + 2/(k-1)}. To the left weights and terms both fall faster than the
// weights' ratio.
#include <algorithm>
#include <cmath>

#include "renyi/loss/sampled_gaussian.hpp"
#include "renyi/special/scaled_expm1.hpp"

namespace renyi {

namespace {

constexpr double kTiny = 0x1p-60;
constexpr double kSmallestSigma = 1e-3;  // exponents stay below 2^60

}  // namespace

Certified log_a_binomial(double q, double sigma, double alpha) noexcept {
    if (!(alpha >= 1.0) || alpha != std::floor(alpha) || !(sigma >= kSmallestSigma)) return kOutsideDomain;
    if (!(q >= 1e-100 && q < 1.0) || !(sigma <= 1e40) || alpha == 1.0 || !(alpha <= 1e6)) {
        return log_a_quadrature(q, sigma, alpha);  // closed forms and NaN, in one place
    }
    const DoubleDouble c = DoubleDouble{1.0, 0.0} / DoubleDouble{sigma, 0.0};
    const DoubleDouble half_c_squared = c * c * 0.5;
    const DoubleDouble odds = DoubleDouble{q, 0.0} / two_sum(1.0, -q);
    const auto exponent_at = [&](double k) { return half_c_squared * (k * (k - 1.0)); };
    const double mode = std::min(std::floor((alpha + 1.0) * q), alpha);

    Scaled weights = kScaledOne, terms = kScaledZero;
    if (mode >= 2.0) terms = scaled_expm1(exponent_at(mode));
    Scaled w = kScaledOne;
    for (double k = mode; k < alpha;) {
        w = normalised({w.mantissa * (alpha - k) * odds / DoubleDouble{k + 1.0, 0.0}, w.exponent});
        ++k;
        weights = weights + w;
        if (k < 2.0) continue;
        const Scaled t = w * scaled_expm1(exponent_at(k));
        terms = terms + t;
        if (k < 3.0 || ratio(t, terms) > kTiny) continue;
        const double growth = (alpha + k - 1.0) * half_c_squared.hi + 2.0 / (k - 1.0);
        const double fall = growth < 700.0 ? (alpha - k) / (k + 1.0) * odds.hi * lane_exp(growth) : kInfinity;
        if (fall < 1.0 && ratio(t, terms) * fall / (1.0 - fall) < kTiny) break;
    }
    w = kScaledOne;
    for (double k = mode; k > 0.0;) {
        const DoubleDouble step = DoubleDouble{k, 0.0} / (odds * (alpha - k + 1.0));
        w = normalised({w.mantissa * step, w.exponent});
        --k;
        weights = weights + w;
        if (k >= 2.0) terms = terms + w * scaled_expm1(exponent_at(k));
        const double fall = k / ((alpha - k + 1.0) * odds.hi);
        if (fall < 1.0 && ratio(w, weights) * fall / (1.0 - fall) < kTiny) break;
    }
    const double value = log1p_of({terms.mantissa / weights.mantissa, terms.exponent - weights.exponent});
    return {value, 20.0 * kUnitRoundoff};
}

}  // namespace renyi
