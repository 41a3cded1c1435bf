// log A by series, for integer orders and for real orders.
#include "renyi/loss/sampled_gaussian.hpp"

#include <algorithm>
#include <cmath>

#include "renyi/special/elementary_dd.hpp"
#include "renyi/special/normal.hpp"

namespace renyi {

// log A for integer alpha by the binomial expansion, without its cancelling part:
//     A - 1 = E_K[ expm1(K (K-1) / (2 sigma^2)) ],  K ~ Bin(alpha, q)
// (Mironov, Talwar, Zhang 2019, section 3.3 case I; the terms k = 0 and 1 of the expansion sum to the subtracted part).
// All terms are >= 0.
//
// The probabilities are computed relative to their mode by the recurrence in double-double, and normalised by their own
// sum, which is 1: no log-gamma is needed, and no digits are lost for large alpha. Every quantity carries a separate
// binary exponent, so that no overflow or underflow occurs.
//
// Error: 2^-80 for weights, 8u for expm1 (its argument is double-double), sums in double-double, truncation below 2^-59
// where the sums stop: 16u for S, 20u for log A. Cost: O(alpha) at worst, O(sqrt(alpha)) where the tail is light.
//
// Where the sum may stop to the right of k: a_j = j (j-1) c^2/2 is convex, so a_j - a_k <= (j-k) (alpha+k-1) c^2/2 up
// to j = alpha, and expm1(a_j)/expm1(a_k) <= (a_j/a_k) e^{a_j - a_k} with a_j/a_k <= e^{2 (j-k)/(k-1)}: terms fall at
// least geometrically with ratio w_{k+1}/w_k e^{(alpha+k-1) c^2/2 + 2/(k-1)}. To the left weights and terms both fall
// faster than the weights' ratio.

namespace {

constexpr double kTinyTerm = 0x1p-60;
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
        if (k < 3.0 || ratio(t, terms) > kTinyTerm) continue;
        const double growth = (alpha + k - 1.0) * half_c_squared.hi + 2.0 / (k - 1.0);
        const double fall = growth < 700.0 ? (alpha - k) / (k + 1.0) * odds.hi * lane_exp(growth) : kInfinity;
        if (fall < 1.0 && ratio(t, terms) * fall / (1.0 - fall) < kTinyTerm) break;
    }
    w = kScaledOne;
    for (double k = mode; k > 0.0;) {
        const DoubleDouble step = DoubleDouble{k, 0.0} / (odds * (alpha - k + 1.0));
        w = normalised({w.mantissa * step, w.exponent});
        --k;
        weights = weights + w;
        if (k >= 2.0) terms = terms + w * scaled_expm1(exponent_at(k));
        const double fall = k / ((alpha - k + 1.0) * odds.hi);
        if (fall < 1.0 && ratio(w, weights) * fall / (1.0 - fall) < kTinyTerm) break;
    }
    const double value = log1p_of({terms.mantissa / weights.mantissa, terms.exponent - weights.exponent});
    return {value, 20.0 * kUnitRoundoff};
}

// log A for real alpha > 1 by the two series of Mironov, Talwar, Zhang 2019, section 3.3 case II, split at
//     z0 = 1/2 + sigma^2 log((1-q)/q),  where q mu1 = (1-q) mu0:
//     left  z < z0:  L_k = C(alpha,k) (1-q)^(alpha-k) q^k e^{k(k-1) c^2/2} Phi((z0-k) c)
//     right z > z0:  R_k = C(alpha,k) (1-q)^k q^(alpha-k) e^{j(j-1) c^2/2} Phi((j-z0) c),   j = alpha - k,
// minus the integral of 1 + alpha x over both sides, so that A - 1 is summed instead of A. On the left this subtraction
// replaces the first two terms by
//     ((1-q)^alpha - 1 + alpha q) Phi(z0 c)   and   alpha q ((1-q)^(alpha-1) - 1) Phi((z0-1) c).
// C(alpha,k) alternates beyond k = alpha and keeps its sign. Where the argument of Phi is negative,
//     e^{k(k-1) c^2/2} Phi((z0-k) c) (q/(1-q))^k = phi(z0 c) R((k-z0) c),   R = (1 - Phi)/phi, the Mills ratio,
// and likewise on the right: the common factor is (1-q)^alpha phi(z0 c), no exponents are left to cancel, and the tail
// falls only algebraically. From the first k beyond alpha and z0 on, the tail alternates with completely monotone
// magnitudes and is summed by the method of Cohen, Rodriguez Villegas and Zagier 2000.
//
// The terms cancel: at sigma 10 the sum of their magnitudes is 1e7 times the result. All sums are in double-double, and
// the condition number (magnitudes over result) is tracked. The domain is 1 <= alpha <= 16384, at most 2^18 terms, and
// condition number times error of a term at most 4e-13. NaN elsewhere.

namespace {

constexpr double kLargestOrder = 16384.0, kMostTerms = 0x1p18;
constexpr double kLargestError = 4e-13;
constexpr double kNegligible = 0x1p-96;
constexpr DoubleDouble kZero{0.0, 0.0}, kOne{1.0, 0.0};

Scaled scaled(DoubleDouble x) noexcept { return {x, 0.0}; }

struct SignedSum {
    Scaled value = kScaledZero, magnitude = kScaledZero;
    void add(const Scaled& t) noexcept { add(t, absolute(t)); }
    void add(const Scaled& t, const Scaled& size) noexcept {
        value = value + t;
        magnitude = magnitude + size;
    }
    bool ignores(const Scaled& t) const noexcept {
        return magnitude.mantissa.hi > 0.0 && std::fabs(ratio(t, magnitude)) < kNegligible;
    }
};

// The sum over k >= first of C(order, k) (-q)^k, and that of magnitudes; q (1 + |order|) < 1/2, so that terms halve.
SignedSum binomial_rest(DoubleDouble order, double q, int first) noexcept {
    SignedSum sum;
    DoubleDouble term = kOne;
    for (int k = 0; k < first || !sum.ignores(scaled(term)); ++k) {
        if (k >= first) sum.add(scaled(term));
        term = term * (order + -1.0 * k) * -q / DoubleDouble{k + 1.0, 0.0};
        if (term.hi == 0.0) break;
    }
    return sum;
}

class TwoSeries {
public:
    TwoSeries(double q, double sigma, double alpha) noexcept : q_(q), sigma_(sigma), alpha_(alpha) {
        rest_ = two_sum(1.0, -q);
        log_rest_ = log_dd(rest_);
        log_q_ = log_dd({q, 0.0});
        c_ = kOne / DoubleDouble{sigma, 0.0};
        half_c_squared_ = c_ * c_ * 0.5;
        split_ = c_ * 0.5 + (log_rest_ - log_q_) * sigma;
        common_ = exp_dd(log_rest_ * alpha) * normal_density(split_);
        z0_ = (split_ * sigma).hi;
    }

    Certified sum() noexcept {
        subtract_line();
        const DoubleDouble odds = DoubleDouble{q_, 0.0} / rest_, inverse_odds = rest_ / DoubleDouble{q_, 0.0};
        march(exp_dd(log_rest_ * alpha_), odds, 2.0, true);
        march(exp_dd(log_q_ * alpha_), inverse_odds, 0.0, false);
        const double condition = ratio(sum_.magnitude, sum_.value);
        const double error = condition * term_error();
        if (!(condition > 0.0 && error <= kLargestError)) return kOutsideDomain;
        return {log1p_of(sum_.value), error + 8.0 * kUnitRoundoff};
    }

private:
    // The relative error of a term: 2^-75 by exp_dd, normal_tail or mills, and the sums; 2^-97 for each factor of
    // coefficient and weight, and for the size of exponents; an error of 2^-78 of logarithms in exponents (alpha, split
    // sigma) and in the argument of Phi (sigma).
    double term_error() const noexcept {
        const double split = std::fabs(split_.hi), logs = alpha_ + (split + 1.0) * sigma_;
        const double orders = std::max(alpha_, std::min(z0_, most_));
        const double exponents = alpha_ * (std::fabs(log_q_.hi) + std::fabs(log_rest_.hi)) + split * split +
                                 half_c_squared_.hi * orders * orders;
        return 0x1p-75 + 0x1p-97 * (most_ + exponents) + 0x1p-77 * logs * (1.0 + 0x1p-20 * std::fabs(log_q_.hi));
    }

    // Adds the first two terms of the left minus the line 1 + alpha x, and subtracts the line on the right.
    void subtract_line() noexcept {
        const DoubleDouble beta = two_sum(alpha_, -1.0), mean = DoubleDouble{q_, 0.0} * alpha_;
        const Scaled zero = normal_tail(-split_), one = normal_tail(c_ - split_);
        if (mean.hi < 0.25) {
            const SignedSum flat = binomial_rest({alpha_, 0.0}, q_, 2), slope = binomial_rest(beta, q_, 1);
            sum_.add(flat.value * zero, flat.magnitude * zero);
            sum_.add(slope.value * mean * one, slope.magnitude * mean * one);
        } else {
            const Scaled power = exp_dd(log_rest_ * alpha_);
            sum_.add(power * zero);
            sum_.add(zero * (mean + -1.0), zero * (mean + 1.0));
            sum_.add(power * (mean / rest_) * one);
            sum_.add(one * -mean);
        }
        sum_.add(normal_tail(split_) * (mean + -1.0), normal_tail(split_) * (mean + 1.0));
        sum_.add(normal_tail(split_ - c_) * -mean);
    }

    // Adds the terms of one side: the left with Phi(split - k c), the right with Phi(j c - split), j = alpha - k.
    // `weight`: the weight of the first term; `weight_step`: the factor from one weight to the next.
    void march(Scaled weight, DoubleDouble weight_step, double first, bool left) noexcept {
        Scaled coefficient = kScaledOne;
        for (double k = 0.0; k <= kMostTerms; ++k) {
            most_ = std::max(most_, k);
            // Beyond alpha and beyond the split point every term has the common form: the accelerated sum is used.
            if (k > alpha_ && (left ? k > z0_ : alpha_ - k < z0_)) return add_alternating(coefficient, k, left);
            if (k >= first) {
                const DoubleDouble order = left ? DoubleDouble{k, 0.0} : two_sum(alpha_, -k), x = argument(k, left);
                const Scaled term = x.hi <= 0.0 ? coefficient * common_ * mills(-x)
                                                : coefficient * weight * normal_tail(-x) *
                                                      exp_dd(half_c_squared_ * order * (order + -1.0));
                sum_.add(term);
                if (k > alpha_ && sum_.ignores(term)) return;
            }
            const DoubleDouble factor = two_sum(alpha_, -k) / DoubleDouble{k + 1.0, 0.0};
            if (factor.hi == 0.0) return;  // integer alpha: the expansion ends
            coefficient = coefficient * factor;
            weight = weight * weight_step;
        }
        sum_.magnitude = scaled({kInfinity, 0.0});  // too many terms
    }

    DoubleDouble argument(double k, bool left) const noexcept {
        return left ? split_ - c_ * k : c_ * two_sum(alpha_, -k) - split_;
    }

    // Adds the terms from k on, which alternate; 36 of them leave out less than (3 + sqrt 8)^-36 < 2^-91 of the first.
    // The weights are those of the Chebyshev polynomial T_36(1 - 2x), with T_36(3) = d.
    void add_alternating(const Scaled& coefficient, double k, bool left) noexcept {
        constexpr int kTerms = 36;
        DoubleDouble before = kOne, d{3.0, 0.0};
        for (int n = 1; n < kTerms; ++n) {
            const DoubleDouble next = d * 6.0 - before;
            before = d;
            d = next;
        }
        DoubleDouble b{-1.0, 0.0}, c = -d, sum = kZero, size = kZero, product = kOne;
        for (int i = 0; i < kTerms; ++i) {
            c = b - c;
            const DoubleDouble term = c * product * mills(-argument(k + i, left)) / d;
            sum = sum + term;
            size = size + (term.hi < 0.0 ? -term : term);
            product = product * (-two_sum(alpha_, -(k + i))) / DoubleDouble{k + i + 1.0, 0.0};
            b = b * (static_cast<double>(i + kTerms) * (i - kTerms)) / DoubleDouble{(i + 0.5) * (i + 1.0), 0.0};
        }
        sum_.add(coefficient * common_ * sum, absolute(coefficient) * common_ * size);
    }

    double q_, sigma_, alpha_, z0_, most_ = 0.0;
    DoubleDouble rest_, log_rest_, log_q_, half_c_squared_, c_, split_;  // c^2/2, c, z0 c
    Scaled common_;                                                      // (1-q)^alpha phi(z0 c)
    SignedSum sum_;
};

}  // namespace

Certified log_a_series(double q, double sigma, double alpha) noexcept {
    if (!(alpha >= 1.0 && alpha <= kLargestOrder) || !(sigma >= kSmallestSigma)) return kOutsideDomain;
    if (!(q >= 1e-100 && q < 1.0) || !(sigma <= 1e40) || alpha == 1.0) return log_a_quadrature(q, sigma, alpha);
    return TwoSeries(q, sigma, alpha).sum();
}

}  // namespace renyi
