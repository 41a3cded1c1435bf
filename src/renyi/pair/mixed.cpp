#include "renyi/pair/mixed.hpp"

#include <algorithm>

namespace renyi {

namespace {

void add_scaled(Bracket& sum, double weight, const Bracket& mass) noexcept {
    sum.lower += weight * mass.lower * (1.0 - 4.0 * kUnitRoundoff);
    sum.upper += weight * mass.upper * (1.0 + 4.0 * kUnitRoundoff);
}

}  // namespace

Spans MixedPair::spans(Side side, const Fineness& fineness) const {
    Spans all;
    all.unbounded_above = all.unbounded_below = false;
    double rest = 1.0;
    for (const WeightedPair& part : parts_) {
        rest -= part.weight;
        if (part.weight == 0.0) continue;
        Spans found = part.pair->spans(side, fineness);
        for (Span& s : found.spans) {
            s.p *= part.weight;
            s.q *= part.weight;
            s.mass_error += kUnitRoundoff;
        }
        all.spans.insert(all.spans.end(), found.spans.begin(), found.spans.end());
        all.unbounded_above |= found.unbounded_above;
        all.unbounded_below |= found.unbounded_below;
        add_scaled(all.infinite, part.weight, found.infinite);
        add_scaled(all.null, part.weight, found.null);
    }
    const double terms = static_cast<double>(parts_.size());
    for (Bracket* mass : {&all.infinite, &all.null}) {
        mass->lower *= 1.0 - terms * kUnitRoundoff;
        mass->upper = std::min(mass->upper * (1.0 + terms * kUnitRoundoff), 1.0);
    }
    // The rest has an absolute error of terms u, and what is not distinguished adds nothing to H above E = 1.
    if (rest > 0.0) all.spans.push_back({0.0, 0.0, 0.0, rest, rest, std::min(terms * kUnitRoundoff / rest, 1.0), 0.0});
    return all;
}

bool MixedPair::two_sided() const noexcept {
    return std::any_of(parts_.begin(), parts_.end(), [](const WeightedPair& p) { return p.pair->two_sided(); });
}

bool MixedPair::symmetric() const noexcept {
    return std::all_of(parts_.begin(), parts_.end(), [](const WeightedPair& p) { return p.pair->symmetric(); });
}

}  // namespace renyi
