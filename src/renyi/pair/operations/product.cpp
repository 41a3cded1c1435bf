#include "renyi/pair/operations/product.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "renyi/pair/atoms.hpp"
#include "renyi/pair/division.hpp"
#include "renyi/pair/operations/basic.hpp"
#include "renyi/pair/operations/loss_law.hpp"

namespace renyi {

namespace {

constexpr double kReliable = 1e-290;  // smaller masses may have underflowed
constexpr double kWork = 3e9;         // products
constexpr double kDeepest = -300.0;   // below it a mass of P may vanish where one of Q is above 2^-500
constexpr double kNeighbours = 3.0;   // steps, between outcomes that are blended

// So many that the convolutions, of 12 products a point and another, keep within the work.
double points_for(const std::vector<RepeatedPair>& parts) noexcept {
    double sums = static_cast<double>(parts.size()) - 1.0;
    for (const RepeatedPair& part : parts) {
        for (std::int64_t count = part.count; count > 1; count /= 2) sums += 1.0 + static_cast<double>(count % 2);
    }
    return std::clamp(std::sqrt(kWork / (12.0 * std::max(sums, 1.0))), 1024.0, 16384.0);
}

LossLaw composed(const std::vector<RepeatedPair>& parts, Side side) {
    const double points = points_for(parts);
    LossLaw total = power(law_of(*parts[0].pair, side, points), parts[0].count, points);
    for (std::size_t i = 1; i < parts.size(); ++i) {
        total = sum_of(std::move(total), power(law_of(*parts[i].pair, side, points), parts[i].count, points), points);
    }
    return total;
}

// What was cut off, at the ends of the losses or beyond all.
void add_ends(const LossLaw& law, bool bounded, Spans& found) {
    const double above = law.cut_above + kNegligible, below = law.cut_below + kNegligible;
    if (bounded) {
        const double error = 32.0 * kUnitRoundoff;
        found.spans.push_back({law.top, law.top, law.top, above, above * deep_exp(-law.top), error, 0.0});
        found.spans.push_back({law.bottom, law.bottom, law.bottom, below * deep_exp(law.bottom), below, error, 0.0});
    } else {
        found.infinite.upper = std::min(law.infinite + above, 1.0);
        found.null.upper = std::min(law.null + below, 1.0);
    }
}

PairPointer atoms_above(const std::vector<RepeatedPair>& parts) {
    const LossLaw law = composed(parts, Side::upper);
    Spans found;
    found.infinite = {law.infinite, law.infinite};  // this is the pair above, exactly
    found.null = {law.null, law.null};
    const bool bounded = std::isfinite(law.top - law.bottom);
    add_ends(law, bounded, found);
    double others = 0.0;
    for (std::size_t i = 0; i < law.p.size(); ++i) {
        if (law.p[i] == 0.0) continue;
        const double loss = law.step * static_cast<double>(law.first + static_cast<std::int64_t>(i));
        const double q = law.p[i] * deep_exp(std::min(-loss, 700.0));
        found.spans.push_back({loss, loss, loss, law.p[i], q, law.error + 8.0 * kUnitRoundoff, law.drift});
        others += q;
    }
    // Where masses of P may have underflowed those of Q are what is missing to 1.
    const double error = law.error + law.drift + static_cast<double>(law.p.size() + 16) * kUnitRoundoff;
    const bool deep = law.step * static_cast<double>(law.first) < kDeepest;
    const double missing = deep ? std::max(1.0 - others, 0.0) + 2.0 * error : 0.0;
    found.null.upper = std::min(std::max(found.null.upper, missing), 1.0);
    const bool symmetric = std::all_of(parts.begin(), parts.end(), [](const auto& p) { return p.pair->symmetric(); });
    return std::make_shared<const AtomsPair>(std::move(found), symmetric, bounded);
}

double log_ratio(double p, double q) noexcept { return lane_log(p) - lane_log(q); }

// Masses right to the law's error each, so that losses are to twice that, and to what the logarithms make.
Span outcome(double p, double q, double low, double high, double mass_error) noexcept {
    const double mean = std::clamp(log_ratio(p, q), low, high);
    return {low, mean, high, p, q, mass_error, 2.0 * mass_error + kUnitRoundoff * (2900.0 + 2.0 * std::fabs(mean))};
}

// Ends where a mass may have underflowed are merged into the next outcome; between them P and Q vanish together.
Spans outcomes_below(const LossLaw& law) {
    Spans found;
    found.infinite = {law.infinite, law.infinite};
    found.null = {law.null, law.null};
    const auto reliable = [&law](std::size_t i) { return law.p[i] > kReliable && law.q[i] > kReliable; };
    std::size_t start = 0, stop = law.p.size();
    while (start < stop && !reliable(start)) ++start;
    while (stop > start && !reliable(stop - 1)) --stop;
    const double error = law.error + static_cast<double>(law.p.size() + 4) * kUnitRoundoff;
    for (std::size_t i = start; i < stop; ++i) {
        if (!reliable(i)) continue;
        double p = law.p[i], q = law.q[i];
        const std::size_t from = i == start ? 0 : i, to = i + 1 == stop ? law.p.size() : i + 1;
        for (std::size_t j = from; j < to; ++j) {
            if (j == i) continue;
            p += law.p[j];
            q += law.q[j];
        }
        const double loss = log_ratio(p, q);
        found.spans.push_back(outcome(p, q, loss, loss, error));
    }
    std::sort(found.spans.begin(), found.spans.end(), [](const Span& a, const Span& b) { return a.mean < b.mean; });
    return found;
}

// Two neighbouring outcomes blended: each goes, at random, to a point u of [0, 1] between them. With lambda_P and
// lambda_Q the differences of the logs of their masses and d = lambda_Q - lambda_P, the densities
//
//     e^(lambda_Q u) expm1(d (1 - u)) / expm1(d)  of a,     e^(lambda_P (u - 1)) expm1(d u) / expm1(d)  of b
//
// give P the density p_a e^(lambda_P u), Q likewise, and u the loss of a plus -d u: a density of losses without jumps,
// which a lattice holds to second order in its step.
struct Blend {
    Blend(const Span& a, const Span& b) noexcept
        : start(a.mean), log_p(lane_log(b.p / a.p)), log_q(lane_log(b.q / a.q)), gap(log_p - log_q) {}

    // Outcomes of one loss need no blend; the rule below is good where masses differ little.
    bool exists(double farthest) const noexcept {
        return 0x1p-20 * farthest < gap && gap <= farthest && std::fabs(log_p) <= 1.0 && std::fabs(log_q) <= 1.0;
    }

    // Integrals of both densities: analytic and below e^8 on the ellipse of parameter 15.9, 2^-48 by 8 nodes.
    std::pair<double, double> uses() const noexcept {
        const Rule& rule = rule_for(1.0);
        const double d = log_q - log_p, whole = lane_expm1(d);
        double first = 0.0, second = 0.0;
        for (int i = 0; i < rule.count; ++i) {
            const double u = rule.node[i];
            first += rule.weight[i] * lane_exp(log_q * u) * lane_expm1(d * (1.0 - u)) / whole;
            second += rule.weight[i] * lane_exp(log_p * (u - 1.0)) * lane_expm1(d * u) / whole;
        }
        return {first, second};
    }

    // The integral of e^(lambda u).
    static double growth(double lambda, double from, double to) noexcept {
        const double part = lambda * (to - from);
        return lane_exp(lambda * from) * (part == 0.0 ? to - from : lane_expm1(part) / lambda);
    }

    // The loss, over u.
    double operator()(double u) const noexcept { return start + gap * u; }
    double inverse(double loss) const noexcept { return (loss - start) / gap; }

    double start;  // loss of a
    double log_p, log_q, gap;
    double share = 0.0;  // of the densities
};

// The outcomes of a law from below, neighbours blended.
class BlendedOutcomes final : public Pair {
public:
    BlendedOutcomes(const LossLaw& law, bool symmetric);

    Spans spans(Side, const Fineness& fineness) const override;
    bool symmetric() const noexcept override { return symmetric_; }

private:
    Spans outcomes_;             // atoms, by their losses
    std::vector<double> kept_;   // share of an outcome that is in no blend
    std::vector<Blend> blends_;  // of each outcome with the next
    bool symmetric_;
};

// Every outcome is used up to 1 at most: a blend has the smaller of the shares that use its two outcomes up.
BlendedOutcomes::BlendedOutcomes(const LossLaw& law, bool symmetric)
    : outcomes_(outcomes_below(law)), symmetric_(symmetric) {
    constexpr double kUsesError = 0x1p-44;  // relative
    const std::vector<Span>& all = outcomes_.spans;
    kept_.assign(all.size(), 1.0);
    std::vector<std::pair<double, double>> uses;
    for (std::size_t i = 0; i + 1 < all.size(); ++i) {
        blends_.emplace_back(all[i], all[i + 1]);
        const bool exists = blends_[i].exists(kNeighbours * law.step);
        uses.push_back(exists ? blends_[i].uses() : std::pair{0.0, 0.0});
    }
    const auto used = [&uses](std::size_t i) {
        return (i < uses.size() ? uses[i].first : 0.0) + (i > 0 ? uses[i - 1].second : 0.0);
    };
    for (std::size_t i = 0; i < blends_.size(); ++i) {
        if (uses[i].first == 0.0) continue;
        const double share = (1.0 - kUsesError) / std::max(used(i), used(i + 1));
        blends_[i].share = share;
        kept_[i] -= share * uses[i].first * (1.0 + kUsesError);
        kept_[i + 1] -= share * uses[i].second * (1.0 + kUsesError);
    }
}

Spans BlendedOutcomes::spans(Side, const Fineness& fineness) const {
    Spans found;
    found.infinite = outcomes_.infinite;
    found.null = outcomes_.null;
    const std::vector<Span>& all = outcomes_.spans;
    for (std::size_t i = 0; i < all.size(); ++i) {
        if (kept_[i] > 0.0) {
            found.spans.push_back(all[i]);
            found.spans.back().p *= kept_[i];
            found.spans.back().q *= kept_[i];
        }
        if (i == blends_.size() || blends_[i].share == 0.0) continue;
        const Blend& blend = blends_[i];
        const double error = std::max(all[i].mass_error, all[i + 1].mass_error) + 16.0 * kUnitRoundoff;
        divide({0.0, 1.0, blend(0.0), blend(1.0)}, blend, fineness, [&](const Part& part) {
            const double p = blend.share * all[i].p * Blend::growth(blend.log_p, part.start, part.end);
            const double q = blend.share * all[i].q * Blend::growth(blend.log_q, part.start, part.end);
            found.spans.push_back(outcome(p, q, part.first, part.last, error));
        });
    }
    return found;
}

}  // namespace

PairPointer product_pair(const std::vector<RepeatedPair>& parts) {
    PairPointer above = atoms_above(parts);
    auto below = std::make_shared<const BlendedOutcomes>(composed(parts, Side::lower), above->symmetric());
    return std::make_shared<const BracketedPair>(std::move(above), std::move(below));
}

}  // namespace renyi
