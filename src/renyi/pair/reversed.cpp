#include "renyi/pair/reversed.hpp"

namespace renyi {

// Domination goes with the reverse: if H is nowhere below another's, so is E H(1/E).
Spans ReversedPair::spans(Side side, const Fineness& fineness) const {
    Spans found = base_->spans(side, Mirrored(fineness));
    for (Span& s : found.spans) s = reversed(s);
    std::swap(found.infinite, found.null);
    std::swap(found.unbounded_above, found.unbounded_below);
    return found;
}

}  // namespace renyi
