#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "renyi/fp/double_double.hpp"
#include "renyi/pair/division.hpp"
#include "renyi/pair/operations/operations.hpp"
#include "renyi/special/binomial.hpp"

namespace renyi {

// Losses are first moved up by their errors: a larger loss of the same P-mass is an upper bound. A span across 0 is
// spread to its ends, of which the lower is not above 0. An atom that may lie at 0 is spread too, far enough for its
// share above 0 to be small.

namespace {

constexpr double kOnEdge = 1e-9;        // share of a span's losses that may lie beyond 0
constexpr double kFarEnough = 0x1p-30;  // upper end of an atom spread around 0, a loss

// The part of a span above 0; its mass is 0 if there is none.
Span above_zero(Span s) noexcept {
    const double error = s.loss_error + 2.0 * kUnitRoundoff * std::max(std::fabs(s.low), std::fabs(s.high));
    if (s.high <= error) {  // losses are above 0 by twice the error at most: the span counts at 0
        s.p = 0.0;
        s.loss_error = 2.0 * error;
        return s;
    }
    const bool doubtful = s.low == s.high && std::fabs(s.low) <= error && error > 0.0;
    s.low = doubtful ? 0.0 : s.low + error;
    s.mean += error;
    s.high = doubtful ? std::max(s.mean, kFarEnough) : s.high + error;
    if (s.low <= 0.0 && s.high > 0.0) {
        // The share (1 - e^{low-mean})/(1 - e^{low-high}), with an error of 16u.
        const double width = -lane_expm1(s.low - s.high);
        const double share = width > 0.0 ? std::min(-lane_expm1(s.low - s.mean) / width, 1.0) : 1.0;
        s.p *= share;
        s.low = s.mean = s.high;
        s.mass_error += 16.0 * kUnitRoundoff;
    }
    s.q = s.p * deep_exp(-s.mean);
    s.mass_error += (8.0 + 2.0 * std::fabs(s.mean)) * kUnitRoundoff;
    s.loss_error = error;
    return s;
}

class SplicedPair final : public Pair {
public:
    // The base is symmetric, or has its larger losses in this order.
    SplicedPair(PairPointer base, double rate) : sampled_(base->sampled(rate)) {}

    // Both sides have the same spans: the bound is from above only.
    Spans spans(Side, const Fineness& fineness) const override {
        // Losses above 0 are divided at their own cuts and at the mirrored cuts.
        const auto both_ways = [&fineness](double low, double high) {
            const double edge = kOnEdge * (high - low);
            if (high <= edge) return kFine;
            if (low < -edge) return 0.0;
            const double found = fineness.cut(low, high);
            return found != kFine ? found : mirrored_cut(fineness, low, high);
        };
        const Spans all = sampled_->spans(Side::upper, CutBy(both_ways, fineness.joins_atoms()));
        Spans found;
        found.infinite = found.null = all.infinite;
        found.unbounded_above = found.unbounded_below = all.unbounded_above;
        DoubleDouble taken{all.infinite.upper, 0.0};
        double error = 0.0, moved = 0.0;
        for (const Span& span : all.spans) {
            const Span s = above_zero(span);
            if (s.p == 0.0) {
                if (span.p > 0.0 && span.high > -s.loss_error) moved = std::max(moved, s.loss_error);
                continue;
            }
            found.spans.push_back(s);
            found.spans.push_back({-s.high, -s.mean, -s.low, s.q, s.p, s.mass_error, s.loss_error});
            taken = taken + s.p + s.q;
            error += (s.p + s.q) * s.mass_error;
        }
        // Too much mass at 0 is harmless.
        error += 4.0 * kUnitRoundoff + (all.infinite.upper - all.infinite.lower);
        const double rest = std::max(1.0 - taken.hi, 0.0) + error;
        found.spans.push_back({0.0, 0.0, 0.0, rest, rest, std::min(2.0 * error / rest, 1.0), moved});
        return found;
    }
    // A splice has the excess A - 1 of the sample above 0 and that of its reverse below: at most the sum of both.
    CurvePointer moment(Direction direction) const override {
        const Spans rough = spans(Side::upper, Coarse{});
        if (!rough.unbounded_above || rough.infinite.upper > 4.0 * kNegligible) return Pair::moment(direction);
        const CurvePointer one = sampled_->moment(Direction::remove), other = sampled_->moment(Direction::add);
        if (!one || !other) return nullptr;
        return labelled_mixture({{1.0, one}, {1.0, other}});
    }
    bool symmetric() const noexcept override { return true; }

private:
    PairPointer sampled_;  // ((1-g) Q + g P, Q), whose losses above 0 the splice has
};

}  // namespace

PairPointer spliced_pair(PairPointer base, double rate) {
    return std::make_shared<const SplicedPair>(std::move(base), rate);
}

namespace {

// The upper end of a certified probability, with an allowance for underflow.
double raised(Certified c) noexcept { return std::min(upper(c) + (c.value == 1.0 ? 0.0 : kNegligible), 1.0); }

// a + b, a b and min(a/b, 1) for non-negative values.
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

// The sum of the weights, which are rounded up, may exceed 1: H is a sum of non-negative terms and only gets larger.
PairPointer truncated_pair(const TruncatedRates& rates, PairPointer below, PairPointer full, PairPointer taken) {
    std::vector<WeightedPair> parts{{rates.below.weight, std::move(below)}, {rates.full.weight, std::move(full)}};
    return std::make_shared<const BracketedPair>(mixed_pair(std::move(parts)), std::move(taken));
}

namespace {

constexpr double kLikely = 1e-17, kLeastMass = 1e-130;  // relative to the largest mass
constexpr std::size_t kSingles = 64, kRare = 8;         // most groups of likely numbers and of rarer numbers

// Masses of the numbers first, first + 1, ... > 0 and of all others together, relative to the largest mass.
struct Counts {
    double first;
    std::vector<double> masses;
    std::size_t likely_end;
    double left;
};

// Returns the masses from the mode, without it, to `last` or until they are negligible: from there on at most
// r/(1 - r) of the last mass remains, r the last ratio.
std::vector<double> side_of(const BinomialTerms& terms, double mode, double last, double& left) {
    const Scaled peak = terms.at(mode);
    const double step = last > mode ? 1.0 : -1.0;
    std::vector<double> masses;
    Scaled term = peak;
    for (double k = mode; k != last; k += step) {
        const Scaled following = step > 0.0 ? terms.next(term, k) : terms.previous(term, k);
        const double mass = ratio(following, peak), fall = ratio(following, term);
        if (mass < kLeastMass && fall < 1.0) {
            left += mass / (1.0 - fall);
            break;
        }
        masses.push_back(mass);
        term = following;
    }
    return masses;
}

Counts counts_of(const BinomialTerms& terms, double draws, double mode) {
    double left = 0.0;
    const std::vector<double> down = side_of(terms, mode, 1.0, left), up = side_of(terms, mode, draws, left);
    Counts found{mode - static_cast<double>(down.size()), {down.rbegin(), down.rend()}, 0, left};
    found.masses.push_back(1.0);
    found.likely_end = found.masses.size();
    for (const double mass : up) {
        found.masses.push_back(mass);
        if (mass >= kLikely) found.likely_end = found.masses.size();
    }
    return found;
}

// Returns the ends of few groups: one for the unlikely numbers below, then the likely ones, then the rarer above.
std::vector<std::size_t> ends_of(const Counts& counts) {
    std::size_t start = 0;
    while (counts.masses[start] < kLikely) ++start;
    std::vector<std::size_t> ends;
    if (start > 0) ends.push_back(start);
    const auto divide_into = [&ends](std::size_t first, std::size_t last, std::size_t groups) {
        const std::size_t parts = std::min(last - first, groups);
        for (std::size_t i = 1; i <= parts; ++i) ends.push_back(first + (last - first) * i / parts);
    };
    divide_into(start, counts.likely_end, kSingles);
    divide_into(counts.likely_end, counts.masses.size(), kRare);
    return ends;
}

}  // namespace

ReplacedDraws replaced_draws(std::int64_t draws, std::int64_t population) {
    const double m = static_cast<double>(draws), n = static_cast<double>(population);
    const BinomialTerms terms = BinomialTerms::drawn(m, n);
    const double mode = std::clamp(std::floor((m + 1.0) / n), 1.0, m);
    const Counts counts = counts_of(terms, m, mode);
    // P[K > 0] = -expm1(m log(1 - 1/n)); m log1p(-1/n) has a relative error of 4u.
    const double rate = -lane_expm1(std::max(m * lane_log1p(-1.0 / n), -700.0));
    const double peak = detail::to_double(terms.at(mode)) / rate;
    const double error = detail::binomial_error(m, 2.0 * static_cast<double>(counts.masses.size())) +
                         (32.0 + static_cast<double>(counts.masses.size())) * kUnitRoundoff;
    ReplacedDraws found{{}, std::min(rate * (1.0 + 16.0 * kUnitRoundoff), 1.0), 1, 0.0};
    std::size_t start = 0;
    for (const std::size_t end : ends_of(counts)) {
        double mass = 0.0;
        for (std::size_t i = start; i < end; ++i) mass += counts.masses[i];
        const double rounding = error + static_cast<double>(end - start) * kUnitRoundoff;
        const double weight = std::min(peak * mass * (1.0 + 2.0 * rounding), 1.0);
        found.groups.push_back({static_cast<std::int64_t>(counts.first) + static_cast<std::int64_t>(end) - 1, weight});
        start = end;
    }
    if (counts.left > 0.0) found.groups.push_back({draws, std::min(counts.left * peak * (1.0 + 2.0 * error), 1.0)});
    // The losses are about k P[K >= k]: the k of the largest value is taken.
    double from = 0.0, most = 0.0;
    for (std::size_t i = counts.masses.size(); i-- > 0;) {
        from += counts.masses[i];
        const double k = counts.first + static_cast<double>(i);
        if (k * from <= most) continue;
        most = k * from;
        found.least = static_cast<std::int64_t>(k);
        found.rate_of_least = std::min(from * peak * rate * (1.0 - 3.0 * error), 1.0);
    }
    return found;
}

PairPointer drawn_pair(const ReplacedDraws& drawn, const std::vector<PairPointer>& groups, PairPointer least) {
    std::vector<WeightedPair> parts;
    for (std::size_t i = 0; i < groups.size(); ++i) parts.push_back({drawn.groups[i].weight, groups[i]});
    return std::make_shared<const BracketedPair>(spliced_pair(mixed_pair(std::move(parts)), drawn.rate),
                                                 least->sampled(drawn.rate_of_least));
}

}  // namespace renyi
