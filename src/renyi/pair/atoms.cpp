#include "renyi/pair/atoms.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "renyi/special/elementary.hpp"

namespace renyi {

namespace {

// Outcomes first <= i < last as one span. Its mean lies log1p of a mean of e^w - 1 away from an end, w >= 0 the
// distances from it: above the lower end by the masses of Q, below the higher one by those of P, whichever are the
// larger. Sums of non-negative terms: (n + 8)u of that distance, and what their own errors make of it and of the end.
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

constexpr double kNarrow = 1.0;  // losses: e^w and the masses of a span stay of one size

// Whether an atom joins a span: nothing is to be divided between them, nor on the very losses.
bool joins(const Span& first, const Span& next, const Fineness& fineness) noexcept {
    const double edge = 0x1p-46 * std::max(std::fabs(first.low), std::fabs(next.high));
    const bool seen = first.p > 0.0 && first.q > 0.0 && next.p > 0.0 && next.q > 0.0;
    return seen && next.high - first.low < kNarrow && fineness.cut(first.low - edge, next.high + edge) == kFine;
}

}  // namespace

AtomsPair::AtomsPair(Spans atoms, bool symmetric, bool bounded) : atoms_(std::move(atoms)), symmetric_(symmetric) {
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

}  // namespace renyi
