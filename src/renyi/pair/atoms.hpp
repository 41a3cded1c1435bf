// A pair of distributions on finitely many outcomes.
#pragma once

#include "renyi/pair/pair.hpp"

namespace renyi {

class AtomsPair final : public Pair {
public:
    // Atoms in any order; `bounded` where they are all there is.
    AtomsPair(Spans atoms, bool symmetric, bool bounded = true);

    // Neighbours between which nothing is to be divided come as one span.
    Spans spans(Side, const Fineness& fineness) const override;
    bool symmetric() const noexcept override { return symmetric_; }

private:
    Spans atoms_;  // by their losses
    bool symmetric_;
};

}  // namespace renyi
