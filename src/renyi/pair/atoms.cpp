#include "renyi/pair/atoms.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "renyi/special/elementary.hpp"

namespace renyi {

namespace {

// Outcomes first <= i < last as one span. With w_i = l_i - l_first >= 0 its mean lies log1p(G/Q) above l_first, G = sum
// q_i (e^{w_i} - 1) of non-negative terms: (n + 8)u of that distance, and what their own errors make of l_first.
Span joined(const Span* first, const Span* last) noexcept {
    if (last - first == 1) return *first;
    Span all = *first;
    double gained = 0.0, taken = 0.0;  // sum of p_i (1 - e^{-(l_last - l_i)}): from the top, where q may have vanished
    const double bottom = first->mean, top = (last - 1)->mean;
    all.p = all.q = 0.0;
    for (const Span* s = first; s != last; ++s) {
        gained += s->q * lane_expm1(s->mean - bottom);
        taken -= s->p * lane_expm1(s->mean - top);
        all.p += s->p;
        all.q += s->q;
        all.high = std::max(all.high, s->high);
        all.mass_error = std::max(all.mass_error, s->mass_error);
        all.loss_error = std::max(all.loss_error, s->loss_error);
    }
    const double rounding = static_cast<double>(last - first + 8) * kUnitRoundoff;
    const bool from_top = bottom + top >= 0.0;  // where P is the larger
    const double distance = from_top ? -lane_log1p(-taken / all.p) : lane_log1p(gained / all.q);
    all.mean = std::clamp(from_top ? top - distance : bottom + distance, all.low, all.high);
    // Relative errors of masses weigh the distances, which they move by at most twice as much.
    all.loss_error +=
        (2.0 * rounding + 2.0 * all.mass_error) * (top - bottom) + 2.0 * kUnitRoundoff * std::fabs(all.mean);
    all.mass_error += rounding;
    return all;
}

constexpr double kNarrow = 1.0;  // losses: e^w and the masses of a span stay of one size

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
        while (end < all.size() && all[end].high - all[i].low < kNarrow && all[end].p > 0.0 && all[end].q > 0.0 &&
               all[i].p > 0.0 && all[i].q > 0.0 && fineness.cut(all[i].low, all[end].high) == kFine)
            ++end;
        found.spans.push_back(joined(all.data() + i, all.data() + end));
        i = end;
    }
    return found;
}

}  // namespace renyi
