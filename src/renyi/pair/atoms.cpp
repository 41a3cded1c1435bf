#include "renyi/pair/atoms.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "renyi/pair/division.hpp"
#include "renyi/special/elementary.hpp"

namespace renyi {

namespace {

// Joins the outcomes first <= i < last into one span. With w >= 0 the distances from one end, the mean of the span lies
// log1p(average of e^w - 1) away from that end. The average has the weights q above the lower end or p below the upper
// end; the larger masses are taken. All terms are >= 0: the sums add an error of (n + 8)u of the distance to the errors
// of the masses and losses.
Span joined(const Span* first, const Span* last) noexcept {
    if (last - first == 1) return *first;
    Span all = *first;
    const double bottom = first->mean, top = (last - 1)->mean;
    double from_bottom = 0.0, from_top = 0.0;
    all.p = all.q = 0.0;
    for (const Span* s = first; s != last; ++s) {
        from_bottom += s->q * lane_expm1(s->mean - bottom);
        from_top += s->p * lane_expm1(top - s->mean);
        all.p += s->p;
        all.q += s->q;
        all.high = std::max(all.high, s->high);
        all.mass_error = std::max(all.mass_error, s->mass_error);
        all.loss_error = std::max(all.loss_error, s->loss_error);
    }
    const double rounding = static_cast<double>(last - first + 8) * kUnitRoundoff;
    all.mean = bottom + top < 0.0 ? bottom + lane_log1p(from_bottom / all.q) : top - lane_log1p(from_top / all.p);
    all.mean = std::clamp(all.mean, all.low, all.high);
    all.loss_error +=
        (2.0 * rounding + 4.0 * all.mass_error) * (top - bottom) + 2.0 * kUnitRoundoff * std::fabs(all.mean);
    all.mass_error += rounding;
    return all;
}

constexpr double kNarrow = 1.0;  // widest joined span, in losses: e^w and the masses keep their order of magnitude

// Whether an atom joins a span: no cut may lie between them or on their losses themselves.
bool joins(const Span& first, const Span& next, const Fineness& fineness) noexcept {
    const double edge = 0x1p-46 * std::max(std::fabs(first.low), std::fabs(next.high));
    const bool positive = first.p > 0.0 && first.q > 0.0 && next.p > 0.0 && next.q > 0.0;
    return positive && next.high - first.low < kNarrow && fineness.cut(first.low - edge, next.high + edge) == kFine;
}

}  // namespace

AtomsPair::AtomsPair(Spans atoms, bool symmetric, bool bounded, CurvePointer moment)
    : atoms_(std::move(atoms)), symmetric_(symmetric), moment_(std::move(moment)) {
    std::sort(atoms_.spans.begin(), atoms_.spans.end(), [](const Span& a, const Span& b) { return a.mean < b.mean; });
    atoms_.unbounded_above = atoms_.unbounded_below = !bounded;
}

Spans AtomsPair::spans(Side, const Fineness& fineness) const {
    Spans found{{}, atoms_.infinite, atoms_.null, atoms_.unbounded_above, atoms_.unbounded_below};
    const std::vector<Span>& all = atoms_.spans;
    for (std::size_t i = 0; i < all.size();) {
        std::size_t end = i + 1;
        while (fineness.joins_atoms() && end < all.size() && joins(all[i], all[end], fineness)) ++end;
        found.spans.push_back(joined(all.data() + i, all.data() + end));
        i = end;
    }
    return found;
}

namespace {

struct Loss {
    double value, error;
};

// log x of any double above 0. The error is 2u relative to each logarithm of which the value is composed.
Loss log_of_mass(double x) noexcept {
    int exponent;
    const double mantissa = std::frexp(x, &exponent), log = lane_log(mantissa);
    const double value = log + kLog2 * exponent;
    return {value, 2.0 * kUnitRoundoff * (std::fabs(log) + std::fabs(kLog2 * exponent) + std::fabs(value))};
}

// log(p/q). Within a factor 2, p - q is exact, (p - q)/q has an error of u and its log1p adds 4u, since
// x/((1 + x) log1p(x)) <= 2.
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
    if (p > 0.0 || q > 0.0) found.spans.push_back({loss.value, loss.value, loss.value, p, q, mass_error, loss.error});
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

// Whether the outcomes are mirrored: each (p, q) has its counterpart (q, p).
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

// log(k p) or log(k w), from the share k p or k w and its excess over 1, which has an error of 2u where it is small.
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

PairPointer discrete_pair(const std::vector<double>& p, const std::vector<double>& q) {
    Spans found;
    for (std::size_t i = 0; i < p.size(); ++i) add_outcome(found, p[i], q[i], 0.0);
    round_outward(found.infinite, static_cast<double>(p.size()));
    round_outward(found.null, static_cast<double>(p.size()));
    return std::make_shared<const AtomsPair>(std::move(found), mirrored(p, q));
}

// With w = (1-p)/(k-1) for each other answer, p/w = 1 + (k p - 1)/(1-p).
PairPointer randomized_response(double p, std::int64_t choices) {
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
    return std::make_shared<const AtomsPair>(std::move(found), true);
}

// k w - 1 = -(k p - 1)/(k-1).
PairPointer response_against_uniform(double p, std::int64_t choices) {
    Spans found;
    const double k = static_cast<double>(choices), truly = 1.0 / k, others = (k - 1.0) / k;
    constexpr double kError = 4.0 * kUnitRoundoff;  // one rounding each
    if (choices == 1) {
        add(found, {0.0, 0.0}, 1.0, 1.0, 0.0);
        return std::make_shared<const AtomsPair>(std::move(found), true);
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
    return std::make_shared<const AtomsPair>(std::move(found), excess == 0.0);
}

// Masses rest/(1 + e^-epsilon) and the same times e^-epsilon, to 16u.
PairPointer approximate_privacy(double epsilon, double delta) {
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
    return std::make_shared<const AtomsPair>(std::move(found), true);
}

}  // namespace renyi
