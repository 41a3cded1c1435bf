// A mechanism is a pair of distributions that dominates its outputs on neighbouring data; a pair is read through its
// spans of losses, as fine as the reader asks for.
#pragma once

#include <memory>

#include "renyi/pair/spans.hpp"

namespace renyi {

// Where a pair is known only by one that dominates it and one that it dominates, they are its sides.
enum class Side { lower, upper };

// Masses of which neither is above `size` are put at the end of their error that is safe for the side.
inline void settle_masses(Spans& spans, Side side, double size) noexcept {
    for (Span& span : spans.spans) {
        if (span.p > size || span.q > size) continue;
        const double error = span.mass_error * (1.0 + 4.0 * kUnitRoundoff) + 2.0 * kUnitRoundoff;
        const double extreme = side == Side::upper ? 1.0 + error : std::max(1.0 - error, 0.0);
        span.p *= extreme;
        span.q *= extreme;
        span.mass_error = 0.0;
    }
}

class Pair {
public:
    virtual ~Pair() = default;

    // Spans whose losses are as fine as asked for, in no particular order. What underflows counts as infinite or null.
    virtual Spans spans(Side side, const Fineness& fineness) const = 0;

    // Whether the sides differ.
    virtual bool two_sided() const noexcept { return false; }

    // Whether (P, Q) and (Q, P) are known to have one profile.
    virtual bool symmetric() const noexcept { return false; }

protected:
    Pair() = default;
    Pair(const Pair&) = default;
    Pair& operator=(const Pair&) = default;
};

using PairPointer = std::shared_ptr<const Pair>;

}  // namespace renyi
