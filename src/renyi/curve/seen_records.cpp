// With w = c x - c^2/2 and v = w + lambda the logarithm of the odds, c = 1/sigma and lambda = log(q/(1-q)), the loss of
// a step is
//     log q + w + log(1 + e^-v) = log(1-q) + log(1 + e^v),
// so at least T = log q + w where the record was seen and T = log(1-q) where it was not. The sum of n values of w of
// records that were seen is Gaussian with mean n c^2/2 and variance n c^2. Hence, delta_G the curve of the Gaussian
// mechanism,
//     0 <= delta - sum_n Bin(n; k, q) delta_G(c sqrt n; eps_n) <= k E[L - T],   eps_n = eps - n log q - (k-n) log(1-q),
// as (1 - e^{eps - S})_+ changes by at most as much as S. With log(1 + e^u) <= 2 e^{u/2} both parts of E[L - T] are at
// most 2 (1-q) E e^{v/2} of a standard normal output, 2 (1-q) e^{lambda/2 - c^2/8}.
//
// With a_n = eps_n/(c sqrt n) - c sqrt n/2, which falls in n, delta_G <= Q(a_n) and 1 - delta_G <= 2 Q(-a_n): only the
// terms with a_n in between take curves. The others above are a tail of the binomial law.
#include "renyi/curve/seen_records.hpp"

#include <algorithm>
#include <cmath>

#include "renyi/curve/closed_curve.hpp"
#include "renyi/special/binomial.hpp"
#include "renyi/special/false_position.hpp"

namespace renyi {

namespace {

constexpr double kMostNoise = 0.01;
constexpr double kUnseen = -800.0;  // log of what is below all numbers
constexpr double kSure = 40.0;      // Q(40) < e^-800
constexpr double kMostTerms = 1e6;  // of all curves of a question
constexpr int kMostTurns = 60;
constexpr double kMany = 1e5;         // records seen
constexpr double kPrecision = 1e-11;  // of an end of epsilon

double log_overlap(const SampledStep& s) noexcept {
    const double c = 1.0 / s.sigma;
    return std::log(4.0 * s.count) + 0.5 * (std::log(s.q) + std::log1p(-s.q)) - 0.125 * c * c;
}

struct Mean {
    const SampledStep& s;
    double log_q = std::log(s.q), log_rest = std::log1p(-s.q), c = 1.0 / s.sigma, terms = kMostTerms;

    // The number at which a_n = a, roughly.
    double number_at(double a, double epsilon) const noexcept {
        const double slope = (log_q - log_rest) / c + 0.5 * c, all = (epsilon - s.count * log_rest) / c;
        const double root = std::sqrt(a * a + 4.0 * slope * all);
        const double n = a > 0.0 ? 2.0 * all / (a + root) : (root - a) / (2.0 * slope);
        return n * n;
    }

    Bracket at(double epsilon) noexcept {
        const double first =
            std::clamp(std::floor(number_at(kSure, epsilon) * (1.0 - 1e-12)) - 1.0, 1.0, s.count + 1.0);
        const double last =
            std::clamp(std::ceil(number_at(-kSure, epsilon) * (1.0 + 1e-12)) + 1.0, first, s.count + 1.0);
        Bracket sum{0.0, kSmallestNormal};
        if (last <= s.count) {
            const Certified beyond = binomial_tails(s.count, s.q, last).from;
            sum = {lower(beyond) * (1.0 - 1e-15), upper(beyond) + kSmallestNormal};
        }
        if ((terms -= last - first) < 0.0) return {sum.lower, 1.0};
        const BinomialTerms weights = BinomialTerms::sampled(s.count, s.q);
        Scaled weight = first < last ? weights.at(first) : kScaledZero;
        for (double n = first; n < last; n += 1.0) {
            const double w = detail::to_double(weight), error = detail::binomial_error(s.count, n - first);
            const double seen = n * log_q, other = (s.count - n) * log_rest, shifted = epsilon - seen - other;
            const double rounding = 8.0 * kUnitRoundoff * (std::fabs(epsilon) + std::fabs(seen) + std::fabs(other));
            const double mu = c * std::sqrt(n);
            if (w > 0.0) {
                sum.lower += w * (1.0 - error) *
                             gaussian_delta_bounds(mu * (1.0 - 4.0 * kUnitRoundoff), shifted + rounding).lower;
                sum.upper += w * (1.0 + error) *
                             gaussian_delta_bounds(mu * (1.0 + 4.0 * kUnitRoundoff), shifted - rounding).upper;
            }
            sum.upper += kSmallestNormal;
            if (n < s.count) weight = weights.next(weight, n);
        }
        const double slack = (last - first + 16.0) * kUnitRoundoff;
        return {sum.lower * (1.0 - slack), sum.upper * (1.0 + slack)};
    }
};

// Where a falling bound of delta passes it, from both sides, in a bracket or beyond: false position on its logarithm.
Bracket crossing(double delta, Bracket around, auto bound) noexcept {
    const auto excess = [&](double epsilon) { return std::log(std::max(bound(epsilon), kSmallestNormal) / delta); };
    FalsePosition ends{around.lower, around.upper, excess(around.lower), excess(around.upper)};
    while (!(ends.at_low > 0.0)) {
        if (!(ends.low > 0.0)) return {-kInfinity, ends.low};
        const double further = ends.low - 8.0 * ends.width();
        ends = {std::max(further, 0.0), ends.low, excess(std::max(further, 0.0)), ends.at_low};
    }
    while (ends.at_high > 0.0) {
        if (ends.high > 1e300) return {ends.high, kInfinity};
        const double further = ends.high + 8.0 * ends.width();
        ends = {ends.high, further, ends.at_high, excess(further)};
    }
    for (int turn = 0; turn < kMostTurns && ends.width() > kPrecision * ends.high; ++turn) {
        const double part = turn % 4 == 3 ? 0.5 : std::clamp(ends.part(), 0.01, 0.99);
        const double middle = ends.low + part * ends.width(), here = excess(middle);
        here > 0.0 ? ends.move_low(middle, here) : ends.move_high(middle, here);
    }
    return {ends.low, ends.high};
}

}  // namespace

Seen tells_seen_records(const SortedSteps& c, SampledPair pair) noexcept {
    if (pair != SampledPair::remove || c.steps.size() != 1) return Seen::unknown;
    const SampledStep& s = c.steps[0];
    if (!(s.q < 1.0 && s.sigma < kMostNoise && log_overlap(s) < kUnseen)) return Seen::unknown;
    return s.count * s.q < kMany ? Seen::few : Seen::many;
}

Bracket seen_records_delta(const SampledStep& s, double epsilon) noexcept {
    const Bracket found = Mean{s}.at(epsilon);
    return {found.lower, std::min(found.upper + kSmallestNormal, 1.0)};
}

Bracket seen_records_epsilon(const SampledStep& s, double delta) noexcept {
    // About a number of records, as if that were normal, and the noise of as many.
    Mean mean{s};
    const double spread = std::sqrt(s.count * s.q * (1.0 - s.q)), quantile = gaussian_epsilon_guess(1.0, delta);
    const double n = std::clamp(std::round(s.count * s.q + quantile * spread), 1.0, s.count);
    const double middle = std::max(n * (0.5 * mean.c * mean.c + mean.log_q) + (s.count - n) * mean.log_rest, 1.0);
    const double reach = 0.01 * middle + mean.c * std::sqrt(n);
    const Bracket lower =
        crossing(delta, {std::max(middle - reach, 0.0), middle + reach}, [&](double e) { return mean.at(e).lower; });
    if (!(lower.upper < kInfinity)) return {lower.lower, kInfinity};
    const double start = std::max(lower.lower, 0.0);
    const Bracket upper = crossing(delta, {start, std::max(lower.upper, start) * (1.0 + 100.0 * kPrecision) + 1e-9},
                                   [&](double e) { return mean.at(e).upper + kSmallestNormal; });
    return {lower.lower, upper.upper};
}

}  // namespace renyi
