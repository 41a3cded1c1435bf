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
constexpr double kNeighbours = 3.0;   // steps

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

double mixed(double x, double y, double u) noexcept { return (1.0 - u) * x + u * y; }

// The loss of a blend of two outcomes, over the share u of the second.
struct BlendLoss {
    const Span &a, &b;

    double operator()(double u) const noexcept { return log_ratio(mixed(a.p, b.p, u), mixed(a.q, b.q, u)); }
    // NaN where there is none.
    double inverse(double loss) const noexcept {
        const double ratio = lane_exp(std::clamp(loss, -700.0, 700.0));
        return (ratio * a.q - a.p) / ((b.p - a.p) - ratio * (b.q - a.q));
    }
};

// The blends of halves of two outcomes.
void add_blends(const Span& a, const Span& b, const Fineness& fineness, Spans& found) {
    const BlendLoss loss{a, b};
    const double error = std::max(a.mass_error, b.mass_error) + 4.0 * kUnitRoundoff;
    divide({0.0, 1.0, loss(0.0), loss(1.0)}, loss, fineness, [&](const Part& part) {
        const double width = part.end - part.start, u = 0.5 * (part.start + part.end);
        const auto [low, high] = std::minmax(part.first, part.last);
        found.spans.push_back(outcome(width * mixed(a.p, b.p, u), width * mixed(a.q, b.q, u), low, high, error));
    });
}

// The outcomes of a law from below, neighbours blended.
class BlendedOutcomes final : public Pair {
public:
    BlendedOutcomes(const LossLaw& law, bool symmetric)
        : outcomes_(outcomes_below(law)), neighbours_(kNeighbours * law.step), symmetric_(symmetric) {}

    Spans spans(Side, const Fineness& fineness) const override;
    bool symmetric() const noexcept override { return symmetric_; }

private:
    Spans outcomes_;     // atoms, by their losses
    double neighbours_;  // losses as far apart are blended
    bool symmetric_;
};

Spans BlendedOutcomes::spans(Side, const Fineness& fineness) const {
    Spans found;
    found.infinite = outcomes_.infinite;
    found.null = outcomes_.null;
    const std::vector<Span>& all = outcomes_.spans;
    const auto blended = [&](std::size_t i) {
        return i + 1 < all.size() && all[i + 1].mean - all[i].mean <= neighbours_;
    };
    for (std::size_t i = 0; i < all.size(); ++i) {
        const double kept = 1.0 - 0.5 * blended(i) - 0.5 * (i > 0 && blended(i - 1));
        Span s = all[i];
        s.p *= kept;
        s.q *= kept;
        if (kept > 0.0) found.spans.push_back(s);
        if (blended(i)) add_blends(all[i], all[i + 1], fineness, found);
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
