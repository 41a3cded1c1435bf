// A pair of distributions on finitely many outcomes.
#pragma once

#include <utility>

#include "renyi/pair/pair.hpp"

namespace renyi {

class AtomsPair final : public Pair {
public:
    AtomsPair(Spans atoms, bool symmetric) : atoms_(std::move(atoms)), symmetric_(symmetric) {}

    Spans spans(Side, const Fineness&) const override { return atoms_; }
    bool symmetric() const noexcept override { return symmetric_; }

private:
    Spans atoms_;
    bool symmetric_;
};

}  // namespace renyi
