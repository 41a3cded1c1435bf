// The binomial distribution and the binomial theorem: terms and tails with proven relative errors, however small.
//
// Factorials are in double-double. Of the terms C(n, k) x^k y^(n-k) the first is computed from logarithms and its
// neighbours by the recurrence w_{k+1} = w_k (n-k)/(k+1) x/y. Tails are summed from k outward.
#pragma once

#include <cmath>

#include "renyi/fp/certified.hpp"
#include "renyi/special/elementary_dd.hpp"

namespace renyi {

constexpr double kFactorials[] = {
    1.0, 1.0, 2.0, 6.0, 24.0, 120.0, 720.0, 5040.0, 40320.0, 362880.0, 3628800.0, 39916800.0, 479001600.0,
    6227020800.0, 87178291200.0, 1307674368000.0, 20922789888000.0, 355687428096000.0, 6402373705728000.0,
    121645100408832000.0, 2432902008176640000.0, 51090942171709440000.0, 1124000727777607680000.0};

// log n! for whole n in [0, 2^40]. Up to 22 the factorial is a double; beyond, Stirling's series, whose remainder is
// below the first term left out, 0.0065 n^-13 < 2^-65. Absolute error <= 2^-59 + n 2^-78: n times that of log_dd.
inline DoubleDouble log_factorial(double n) noexcept {
    if (n < 23.0) return log_dd({kFactorials[static_cast<int>(n)], 0.0});
    constexpr DoubleDouble kHalfLogTwoPi{0x1.d67f1c864beb5p-1, -0x1.65b5a1b7ff5dfp-55};
    const double x = 1.0 / (n * n);
    const double series =
        (1.0 / 12 + x * (-1.0 / 360 + x * (1.0 / 1260 + x * (-1.0 / 1680 + x * (1.0 / 1188 - x * (691.0 / 360360)))))) /
        n;
    return log_dd({n, 0.0}) * (n + 0.5) + -n + kHalfLogTwoPi + series;
}

// The terms of the binomial theorem, without overflow or underflow: the weights of the sums over orders that bound a
// sampled mechanism. x = q, y = 1-q gives probabilities; x = gamma, y = 1 is for sampling without replacement.
// Relative error for n <= 2^20: 2^-57 at the start, 2^-98 per step.
class BinomialTerms {
public:
    static BinomialTerms sampled(double n, double q) noexcept {  // 0 < q < 1
        return {n, q, two_sum(1.0, -q)};
    }
    static BinomialTerms powers(double n, double gamma) noexcept {  // 0 < gamma <= 1
        return {n, gamma, {1.0, 0.0}};
    }

    // The law of the number of times that one record among `population` >= 2 appears in n draws: x = 1,
    // y = population - 1, divided by population^n.
    static BinomialTerms drawn(double n, double population) noexcept {
        BinomialTerms terms{n, 1.0, {population - 1.0, 0.0}};
        terms.log_order_ = terms.log_order_ - log_dd({population, 0.0}) * n;
        return terms;
    }

    double order() const noexcept { return n_; }

    Scaled at(double k) const noexcept { return exp_dd(log_at(k)); }

    DoubleDouble log_at(double k) const noexcept {
        return log_order_ - log_factorial(k) - log_factorial(n_ - k) + log_x_ * k + log_y_ * (n_ - k);
    }

    // w_{k+1} from w_k.
    Scaled next(const Scaled& w, double k) const noexcept {
        const DoubleDouble step = odds_.mantissa * (n_ - k) / DoubleDouble{k + 1.0, 0.0};
        return normalised({w.mantissa * step, w.exponent + odds_.exponent});
    }

    // w_{k-1} from w_k.
    Scaled previous(const Scaled& w, double k) const noexcept {
        const DoubleDouble step = DoubleDouble{k, 0.0} / (odds_.mantissa * (n_ - k + 1.0));
        return normalised({w.mantissa * step, w.exponent - odds_.exponent});
    }

    // log(w_{k+1}/w_k), falling in k; 0 <= k < n.
    double log_step(double k) const noexcept { return lane_log((n_ - k) / (k + 1.0)) + log_odds_; }

private:
    BinomialTerms(double n, double x, DoubleDouble y) noexcept : n_(n), log_order_(log_factorial(n)) {
        int shift;
        const double m = std::frexp(x, &shift);
        log_x_ = log_dd({m, 0.0}) + kLog2DD * shift;
        log_y_ = y.hi == 1.0 && y.lo == 0.0 ? DoubleDouble{0.0, 0.0} : log_dd(y);
        odds_ = {DoubleDouble{m, 0.0} / y, static_cast<double>(shift)};
        log_odds_ = (log_x_ - log_y_).hi;
    }

    double n_;
    DoubleDouble log_order_, log_x_, log_y_;
    Scaled odds_;
    double log_odds_;
};

// P[X < k] and P[X >= k] of X ~ Bin(n, q), n <= 2^40, 0 < q <= 1.
//
// A tail is summed from k outward, each term from its neighbour; ratios fall on the way, so that no more than r/(1 - r)
// of the last term remains, r the last ratio. The tail on the other side of the mean is 1 minus this one, where the
// difference is not small.
struct BinomialTails {
    Certified below, from;  // P[X < k], P[X >= k]
};

namespace detail {

// The error of a term rounded to a double: 2^-57 + n 2^-76 from the logarithms, and that of `steps` of the recurrence.
inline double binomial_error(double n, double steps) noexcept { return 0x1p-52 + n * 0x1p-75 + steps * 0x1p-97; }

inline double to_double(const Scaled& s) noexcept {
    return std::ldexp(s.mantissa.hi, static_cast<int>(std::max(s.exponent, -5000.0)));
}

// The sum of the terms from k down to 0 or up to n; 0 <= k <= n.
inline Certified binomial_sum(double n, double q, double k, bool upward) noexcept {
    const BinomialTerms terms = BinomialTerms::sampled(n, q);
    const double last = upward ? n : 0.0, step = upward ? 1.0 : -1.0;
    Scaled term = terms.at(k), sum = term;
    double steps = 0.0;
    for (double j = k; j != last; j += step) {
        const Scaled following = upward ? terms.next(term, j) : terms.previous(term, j);
        const double fall = ratio(following, term);
        if (fall < 1.0) {
            const double left = ratio(following, sum) / (1.0 - fall);
            if (left < 0x1p-60) return {to_double(sum), binomial_error(n, 2.0 * steps) + left};
        }
        sum = sum + following;
        term = following;
        steps += 1.0;
    }
    return {to_double(sum), binomial_error(n, 2.0 * steps)};
}

// 1 - x for x <= 3/4: the relative error of x grows by a factor 3 at most.
inline Certified complement(Certified x) noexcept { return {1.0 - x.value, 3.0 * x.relative_error + kUnitRoundoff}; }

}  // namespace detail

inline Certified binomial_mass(double n, double q, double k) noexcept {
    if (k < 0.0 || k > n) return {0.0, 0.0};
    if (q == 1.0) return {k == n ? 1.0 : 0.0, 0.0};
    return {detail::to_double(BinomialTerms::sampled(n, q).at(k)), detail::binomial_error(n, 0.0)};
}

inline BinomialTails binomial_tails(double n, double q, double k) noexcept {
    constexpr Certified kNone{0.0, 0.0}, kAll{1.0, 0.0};
    if (k <= 0.0) return {kNone, kAll};
    if (k > n) return {kAll, kNone};
    if (q == 1.0) return {kNone, kAll};
    if (k > n * q) {
        const Certified from = detail::binomial_sum(n, q, k, true);
        return {from.value > 0.75 ? detail::binomial_sum(n, q, k - 1.0, false) : detail::complement(from), from};
    }
    const Certified below = detail::binomial_sum(n, q, k - 1.0, false);
    return {below, below.value > 0.75 ? detail::binomial_sum(n, q, k, true) : detail::complement(below)};
}

}  // namespace renyi
