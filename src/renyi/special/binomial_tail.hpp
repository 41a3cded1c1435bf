// P[X = k] and P[X < k], P[X >= k] of X ~ Bin(n, q) with proven relative errors, however small they are.
//
// A tail is summed from k outward, each term from its neighbour by the recurrence; ratios fall on the way, so that no
// more than r/(1 - r) of the last term remains, r the last ratio. The tail on the other side of the mean is what is
// missing to 1, where that is not small. n <= 2^40, 0 < q <= 1.
//
// Also the largest mean of P[X = k - 1], ..., P[X = k - i] over i, which the guesses of an audit ask for.
#pragma once

#include <cmath>

#include "renyi/fp/certified.hpp"
#include "renyi/special/binomial_terms.hpp"

namespace renyi {

struct BinomialTails {
    Certified below, from;  // P[X < k], P[X >= k]
};

namespace detail {

// Of a term, with 2^-57 + n 2^-76 from the logarithms, and what `steps` of the recurrence add; rounded to a double.
inline double binomial_error(double n, double steps) noexcept { return 0x1p-52 + n * 0x1p-75 + steps * 0x1p-97; }

inline double to_double(const Scaled& s) noexcept {
    return std::ldexp(s.mantissa.hi, static_cast<int>(std::max(s.exponent, -5000.0)));
}

// The sum from k to 0 or to n; 0 <= k <= n.
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

// 1 - x for x <= 3/4: an error of x becomes one of 3 times as much.
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

// Masses rise to the mode and fall beyond: once one of them is below the mean of those before, all that follow are, and
// the mean has had its maximum. Rounding cannot end the loop early: errors are far below the 2^-20 that is demanded.
// 0 <= k <= n.
inline Certified binomial_largest_mean(double n, double q, double k) noexcept {
    if (q == 1.0) return {0.0, 0.0};
    double best = 0.0, sum = 0.0, i = 1.0, rounding = 0.0;
    for (; i <= k; i += 1.0) {
        const double mass = binomial_mass(n, q, k - i).value;
        if (mass < sum / i * (1.0 - 0x1p-20)) break;
        sum += mass;
        rounding += kUnitRoundoff;  // of each addition, at most
        best = std::max(best, sum / i);
    }
    return {best, detail::binomial_error(n, 0.0) + 2.0 * rounding + 2.0 * kUnitRoundoff};
}

}  // namespace renyi
