#include "renyi/pair/discrete.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "renyi/pair/division.hpp"

namespace renyi {

namespace {

struct Loss {
    double value, error;
};

// log x of any double above 0, with an error of 2u of the logarithms it is made of.
Loss log_of_mass(double x) noexcept {
    int exponent;
    const double mantissa = std::frexp(x, &exponent), log = lane_log(mantissa);
    const double value = log + kLog2 * exponent;
    return {value, 2.0 * kUnitRoundoff * (std::fabs(log) + std::fabs(kLog2 * exponent) + std::fabs(value))};
}

// log(p/q). p - q is exact within a factor 2, (p - q)/q right to u, its log1p to 4u more: x/((1 + x) log1p(x)) <= 2.
Loss log_ratio(double p, double q) noexcept {
    if (p <= 2.0 * q && q <= 2.0 * p) {
        const double loss = lane_log1p((p - q) / q);
        return {loss, 6.0 * kUnitRoundoff * std::fabs(loss)};
    }
    const Loss a = log_of_mass(p), b = log_of_mass(q);
    const double loss = a.value - b.value;
    return {loss, a.error + b.error + kUnitRoundoff * std::fabs(loss)};
}

void add(Spans& found, Loss loss, double p, double q, double mass_error) {
    if (p > 0.0 && q > 0.0) found.spans.push_back({loss.value, loss.value, loss.value, p, q, mass_error, loss.error});
}

void add_outcome(Spans& found, double p, double q, double mass_error) {
    if (p > 0.0 && q > 0.0) return add(found, log_ratio(p, q), p, q, mass_error);
    found.infinite.lower += p * (1.0 - mass_error);
    found.infinite.upper += p * (1.0 + mass_error);
    found.null.lower += q * (1.0 - mass_error);
    found.null.upper += q * (1.0 + mass_error);
}

void round_outward(Bracket& mass, double terms) noexcept {
    mass.lower *= 1.0 - terms * kUnitRoundoff;
    mass.upper = std::min(mass.upper * (1.0 + terms * kUnitRoundoff), 1.0);
}

// The losses of mirrored outcomes (p, q), (q, p).
bool mirrored(const std::vector<double>& p, const std::vector<double>& q) {
    std::vector<std::pair<double, double>> outcomes, reversed;
    for (std::size_t i = 0; i < p.size(); ++i) {
        outcomes.emplace_back(p[i], q[i]);
        reversed.emplace_back(q[i], p[i]);
    }
    std::sort(outcomes.begin(), outcomes.end());
    std::sort(reversed.begin(), reversed.end());
    return outcomes == reversed;
}

// log(k p) and log(k w): |k p - 1| and |k w - 1| to 2u, where they are small.
Loss log_of_share(double share, double excess) noexcept {
    if (std::fabs(excess) < 0.5) {
        const double loss = lane_log1p(excess);
        return {loss, 8.0 * kUnitRoundoff * std::fabs(loss)};
    }
    const double loss = share > 0.0 ? lane_log(share) : 0.0;
    return {loss, (8.0 + 2.0 * std::fabs(loss)) * kUnitRoundoff};
}

// k p - 1; the product is exact.
double excess_of(double p, double choices) noexcept {
    const DoubleDouble product = two_prod(p, choices);
    return (product + -1.0).hi;
}

}  // namespace

AtomsPair discrete_pair(const std::vector<double>& p, const std::vector<double>& q) {
    Spans found;
    for (std::size_t i = 0; i < p.size(); ++i) add_outcome(found, p[i], q[i], 0.0);
    round_outward(found.infinite, static_cast<double>(p.size()));
    round_outward(found.null, static_cast<double>(p.size()));
    return AtomsPair(std::move(found), mirrored(p, q));
}

// With w = (1-p)/(k-1) for each other answer, p/w = 1 + (k p - 1)/(1-p).
AtomsPair randomized_response(double p, std::int64_t choices) {
    Spans found;
    const double k = static_cast<double>(choices), other = (1.0 - p) / std::max(k - 1.0, 1.0);
    constexpr double kError = 4.0 * kUnitRoundoff;  // 1 - p and the quotient, one rounding each; times k - 2 one more
    if (choices == 1) {
        add(found, {0.0, 0.0}, 1.0, 1.0, 0.0);
    } else if (p == 0.0 || p == 1.0) {
        add_outcome(found, p, other, kError);
        add_outcome(found, other, p, kError);
    } else {
        const Loss loss = log_of_share(p / other, excess_of(p, k) / (1.0 - p));
        add(found, loss, p, other, kError);
        add(found, {-loss.value, loss.error}, other, p, kError);
    }
    if (choices > 2) add(found, {0.0, 0.0}, (k - 2.0) * other, (k - 2.0) * other, kError);
    return AtomsPair(std::move(found), true);
}

// k w - 1 = -(k p - 1)/(k-1).
AtomsPair response_against_uniform(double p, std::int64_t choices) {
    Spans found;
    const double k = static_cast<double>(choices), truly = 1.0 / k, others = (k - 1.0) / k;
    constexpr double kError = 4.0 * kUnitRoundoff;  // one rounding each
    if (choices == 1) {
        add(found, {0.0, 0.0}, 1.0, 1.0, 0.0);
        return AtomsPair(std::move(found), true);
    }
    const double excess = excess_of(p, k);
    if (p > 0.0) {
        add(found, log_of_share(k * p, excess), p, truly, kError);
    } else {
        add_outcome(found, 0.0, truly, kError);
    }
    if (p < 1.0) {
        add(found, log_of_share(k * ((1.0 - p) / (k - 1.0)), -excess / (k - 1.0)), 1.0 - p, others, kError);
    } else {
        add_outcome(found, 0.0, others, kError);
    }
    return AtomsPair(std::move(found), excess == 0.0);
}

// Masses rest/(1 + e^-epsilon) and the same times e^-epsilon, to 16u.
AtomsPair approximate_privacy(double epsilon, double delta) {
    Spans found;
    const double rest = 1.0 - delta, small = deep_exp(-epsilon), large = rest / (1.0 + small);
    constexpr double kError = 16.0 * kUnitRoundoff;  // the exponential 7u, in the quotient halved; five roundings
    found.infinite = found.null = {delta, delta};
    if (epsilon == 0.0) {
        add(found, {0.0, 0.0}, rest, rest, kError);
    } else {
        add(found, {epsilon, 0.0}, large, large * small, kError);
        add(found, {-epsilon, 0.0}, large * small, large, kError);
    }
    return AtomsPair(std::move(found), true);
}

}  // namespace renyi
