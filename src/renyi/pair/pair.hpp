// A mechanism is a pair of distributions that dominates its outputs on neighbouring data; a pair is read through its
// spans of losses, as fine as the reader asks for.
#pragma once

#include <memory>

#include "renyi/pair/spans.hpp"

namespace renyi {

// Where a pair is known only by one that dominates it and one that it dominates, they are its sides.
enum class Side { lower, upper };

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
