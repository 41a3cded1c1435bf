// With w = c u - c^2/2 and v = w + log(q/(1-q)) the logarithm of the odds, the loss of a step is
//     L = log(1-q) + log(1 + e^v) = log q + w + log(1 + e^-v),
// so at least log q + w where the record was seen and log(1-q) where it was not. The sum of n values of w is Gaussian
// with mean n c^2/2 and variance n c^2 for records that were seen. Hence, delta_G the curve of the Gaussian mechanism,
//     delta >= sum_n Bin(n; k, q) delta_G(c sqrt n; eps - n log q - (k-n) log(1-q)).
// From above, with a margin m, each output is one of three:
//     v < -m      L <= log(1-q) + e^-m;  such outputs have a mass of at most 1 - q + q P(v < -m | seen)
//     v > m       the density is at most (1 + e^-m) q times that of a record that was seen, L <= log q + w + e^-m
//     otherwise   L <= log(1-q) + log(1 + e^m); of mass z
// so that delta <= sum_j (k z)^j/j! U, U the same sum over the other k - j steps with factors and losses enlarged.
#include "renyi/curve/seen_records.hpp"

#include <algorithm>
#include <cmath>

#include "renyi/curve/gaussian_curve.hpp"
#include "renyi/fp/certified.hpp"
#include "renyi/special/false_position.hpp"

namespace renyi {

namespace {

constexpr double kMostRare = 2e4;  // on average, of the records that were seen or of the others
constexpr double kMostTerms = 4e4;
constexpr double kNarrow = 1e-13;
constexpr double kLeastGap = 3.0;  // in deviations, of the odds of records that were seen and that were not
constexpr double kClearGap = 6.5;  // the same beside the widest margin
constexpr double kNothing = 1e-17;
constexpr int kMostUnclear = 20, kTurns = 40;
constexpr double kPrecision = 1e-11;  // of an end of epsilon
constexpr double kLeastReach = 1e-6;  // from an end, for both may be one number

double normal_tail(double x) noexcept {
    return 0.5 * std::erfc(x * 0x1.6a09e667f3bcdp-1) * (1.0 + 1e-11) + kSmallestNormal;
}

// Weights that need no curve, and how many curves may be evaluated for one question.
struct Allowance {
    double nothing;
    double terms = 2e5;
};

// The masses of the outputs of a step that count as seen or not, and their losses but for w.
struct Outputs {
    double log_seen_mass, log_other_mass;
    double seen_loss, other_loss;
};

// sum_n binom(k, n) seen^n other^(k-n) delta_G(c sqrt n; eps - losses), from the end of n that is near. Terms whose
// weight is next to nothing are not evaluated.
Bracket binomial_mean(const Outputs& o, double k, double c, double epsilon, Allowance& a) noexcept {
    const bool few_seen = o.log_seen_mass < o.log_other_mass;
    const double odds = -std::fabs(o.log_seen_mass - o.log_other_mass), factor = std::exp(odds);
    double log_weight = k * std::max(o.log_seen_mass, o.log_other_mass), carry = 0.0;
    const double expected = k * factor / (1.0 + factor);
    Bracket sum{0.0, 0.0};
    for (double rare = 0.0; rare < kMostTerms; ++rare) {
        // Logarithms are right to 40 u, and so is a curve; that of the first weight is about the expected number.
        const double error = 100.0 * kUnitRoundoff * (rare + expected + 2.0);
        const double weight = std::exp(log_weight), upper_weight = weight * (1.0 + error);
        // The factors from weight to weight fall: from here on a geometric series is above them.
        const double next_factor = factor * (k - rare) / (rare + 1.0);
        if (weight > a.nothing) {
            if ((a.terms -= 2.0) < 0.0) break;
            const double n = few_seen ? rare : k - rare, seen = n * o.seen_loss, other = (k - n) * o.other_loss;
            const double rounding = 8.0 * kUnitRoundoff * (std::fabs(epsilon) + std::fabs(seen) + std::fabs(other));
            const double mu = c * std::sqrt(n), shifted = epsilon - seen - other;
            const auto curve = [&](double sign) {
                return gaussian_delta_bounds(mu * (1.0 + sign * 4.0 * kUnitRoundoff), shifted - sign * rounding);
            };
            sum.lower += weight * (1.0 - error) * curve(-1.0).lower;
            sum.upper += upper_weight * curve(1.0).upper;
        } else {
            sum.upper += upper_weight;
        }
        if (rare == k) return sum;
        if (next_factor < 0.9 && upper_weight * next_factor < std::max(kNothing * sum.upper, a.nothing))
            return {sum.lower, sum.upper + 10.1 * upper_weight * next_factor};
        const double move = std::log((k - rare) / (rare + 1.0)) + odds - carry;  // compensated
        const double next = log_weight + move;
        carry = (next - log_weight) - move;
        log_weight = next;
    }
    return {sum.lower, kInfinity};
}

double lower_at(const SampledStep& s, double epsilon, Allowance& a) noexcept {
    const double log_q = std::log(s.q), log_rest = std::log1p(-s.q);
    const Outputs outputs{log_q, log_rest, log_q, log_rest};
    return binomial_mean(outputs, s.count, 1.0 / s.sigma, epsilon, a).lower * (1.0 - 1e-14);
}

// The bound with one margin, and whether the outputs that it leaves unclear are next to nothing.
struct Upper {
    double value;
    bool is_clear;
};

Upper upper_with_margin(const SampledStep& s, double margin, double epsilon, Allowance& a) noexcept {
    const double c = 1.0 / s.sigma, small = std::exp(-margin) * (1.0 + 0x1p-50);
    const double log_q = std::log(s.q), log_rest = std::log1p(-s.q), log_odds = log_q - log_rest;
    const double low = (-margin - log_odds) / c, high = (margin - log_odds) / c;  // the ends of what is unclear, of w/c
    const double missed = s.q * normal_tail(0.5 * c - low);
    const double unclear = (1.0 - s.q) * normal_tail(low + 0.5 * c) + s.q * normal_tail(0.5 * c - high);
    const Outputs outputs{log_q + small,
                          s.q < 0.5 ? std::log1p(std::min(missed - s.q, 0.0)) : std::log(1.0 - s.q + missed),
                          log_q + small, log_rest + small};
    const double each = (log_rest + std::log1p(std::exp(margin))) * (1.0 + 0x1p-50);
    double sum = 0.0, weight = 1.0;
    for (double j = 0.0; j <= s.count && j < kMostUnclear; ++j) {
        sum += weight * binomial_mean(outputs, s.count - j, c, epsilon - j * each, a).upper;
        weight *= s.count * unclear / (j + 1.0);
        if (weight < std::max(kNothing * sum, a.nothing) || !(sum < 1.0)) break;
    }
    // All masses together may exceed 1: e^{k (their excess)} bounds every U, and e^{k z} the terms left out.
    const double rest = weight * std::exp(s.count * (unclear + missed + s.q * small));
    return {(sum + rest) * (1.0 + 1e-12), rest < kNarrow * sum};
}

double widest_margin(const SampledStep& s) noexcept { return 24.0 + std::log(s.count); }

// A wide margin costs little in the losses, a narrow one leaves little unclear: that which serves best at epsilon.
double best_margin(const SampledStep& s, double epsilon, Allowance& a) noexcept {
    const double widest = widest_margin(s);
    double best = widest, least = kInfinity;
    for (const double part : {1.0, 0.8, 0.6, 0.4, 0.2}) {
        const Upper upper = upper_with_margin(s, part * widest, epsilon, a);
        if (upper.value < least) {
            least = upper.value;
            best = part * widest;
        }
        if (upper.is_clear) break;
    }
    return best;
}

// Where a falling bound of delta passes it, from both sides, in a bracket or beyond: false position on its logarithm.
Bracket crossing(double delta, Bracket around, auto bound) noexcept {
    const auto excess = [&](double epsilon) { return std::log(std::max(bound(epsilon), kSmallestNormal) / delta); };
    FalsePosition ends{around.lower, around.upper, excess(around.lower), excess(around.upper)};
    if (!(ends.at_low > 0.0)) return {-kInfinity, ends.low};
    while (ends.at_high > 0.0) {
        if (ends.high > 1e15) return {ends.high, kInfinity};
        const double further = ends.high + std::max(8.0 * ends.width(), kLeastReach);
        ends = {ends.high, further, ends.at_high, excess(further)};
    }
    for (int turn = 0; turn < kTurns && ends.width() > kPrecision * ends.high; ++turn) {
        const double part = turn % 4 == 3 ? 0.5 : std::clamp(ends.part(), 0.01, 0.99);
        const double middle = ends.low + part * ends.width(), here = excess(middle);
        here > 0.0 ? ends.move_low(middle, here) : ends.move_high(middle, here);
    }
    return {ends.low, ends.high};
}

}  // namespace

Telling telling_of(const SampledStep& s) noexcept {
    const double c = 1.0 / s.sigma, log_odds = std::log(s.q) - std::log1p(-s.q);
    const double apart = 0.5 * c * c - std::fabs(log_odds);
    if (!(s.q < 1.0) || !(s.count * std::min(s.q, 1.0 - s.q) < kMostRare) || !(apart > kLeastGap * c))
        return Telling::nothing;
    return apart - widest_margin(s) > kClearGap * c ? Telling::all : Telling::most;
}

Bracket seen_records_delta(const SampledStep& step, double epsilon) noexcept {
    Allowance a{0.0};
    const double lower = lower_at(step, epsilon, a), margin = best_margin(step, epsilon, a);
    return {lower, std::min(upper_with_margin(step, margin, epsilon, a).value, 1.0)};
}

Bracket seen_records_epsilon(const SampledStep& step, double delta) noexcept {
    Allowance a{kNothing * delta};
    const Bracket lower = crossing(delta, {0.0, 1.0}, [&](double e) { return lower_at(step, e, a); });
    const double start = std::max(lower.lower, 0.0), margin = best_margin(step, start, a);
    const Bracket upper = crossing(delta, {start, lower.upper * (1.0 + 100.0 * kPrecision)},
                                   [&](double e) { return upper_with_margin(step, margin, e, a).value; });
    return {lower.lower, upper.upper};
}

}  // namespace renyi
