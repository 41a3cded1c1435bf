#include "renyi/pair/truncated_poisson.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "renyi/pair/division.hpp"
#include "renyi/special/binomial_tail.hpp"

namespace renyi {

namespace {

// What underflows is seen from above.
double raised(Certified c) noexcept { return std::min(upper(c) + (c.value == 1.0 ? 0.0 : kNegligible), 1.0); }

// a + b and a b of non-negative ones.
Certified sum_of(Certified a, Certified b) noexcept {
    return {a.value + b.value, std::max(a.relative_error, b.relative_error) + kUnitRoundoff};
}
Certified product_of(double a, Certified b) noexcept { return {a * b.value, b.relative_error + kUnitRoundoff}; }
Certified quotient_of(Certified a, Certified b) noexcept {
    return {std::min(a.value / b.value, 1.0), 1.01 * (a.relative_error + b.relative_error) + 2.0 * kUnitRoundoff};
}

struct Masses {
    Certified below, from;  // P[R < B], P[R >= B]
    Certified cut;          // c
    Certified taken;        // q P[R < B] + c
};

Masses masses_of(const TruncatedSampling& s) noexcept {
    const BinomialTails tails = binomial_tails(s.population - 1.0, s.rate, s.limit);
    const Certified more = binomial_tails(s.population, s.rate, s.limit + 1.0).from;
    const Certified cut = product_of(s.limit / s.population, {more.value, more.relative_error + kUnitRoundoff});
    return {tails.below, tails.from, cut, sum_of(product_of(s.rate, tails.below), cut)};
}

}  // namespace

TruncatedRates rates_of_equal_size(const TruncatedSampling& s) noexcept {
    const Masses masses = masses_of(s);
    const Certified below = binomial_tails(s.population - 1.0, s.rate, s.limit - 1.0).below;
    const Certified exactly = binomial_mass(s.population - 1.0, s.rate, s.limit - 1.0);
    const Certified full = sum_of(exactly, masses.cut);
    const Certified taken = sum_of(product_of(s.rate, exactly), masses.cut);
    const double rate = full.value > kNegligible ? raised(quotient_of(taken, full)) : 1.0;
    return {{raised(below), s.rate}, {raised(full), std::max(rate, s.rate)}, std::max(lower(masses.taken), 0.0)};
}

TruncatedRates rates_of_removal(const TruncatedSampling& s) noexcept {
    const Masses masses = masses_of(s);
    const double rate = masses.from.value > kNegligible ? raised(quotient_of(masses.cut, masses.from)) : 1.0;
    return {{raised(masses.below), s.rate}, {raised(masses.from), rate}, std::max(lower(masses.taken), 0.0)};
}

// Weights that are rounded up may exceed 1 together: H is a sum of non-negative terms, and only larger.
PairPointer truncated_pair(const TruncatedRates& rates, PairPointer below, PairPointer full, PairPointer taken) {
    std::vector<WeightedPair> parts{{rates.below.weight, std::move(below)}, {rates.full.weight, std::move(full)}};
    return std::make_shared<const BracketedPair>(std::make_shared<const MixedPair>(std::move(parts)), std::move(taken));
}

}  // namespace renyi
