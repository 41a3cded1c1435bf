// Shows which of several pairs was drawn, and an outcome of it; with what is missing to 1 nothing is revealed.
#pragma once

#include <utility>
#include <vector>

#include "renyi/pair/pair.hpp"

namespace renyi {

struct WeightedPair {
    double weight;  // in [0, 1]
    PairPointer pair;
};

class MixedPair final : public Pair {
public:
    explicit MixedPair(std::vector<WeightedPair> parts) : parts_(std::move(parts)) {}

    Spans spans(Side side, const Fineness& fineness) const override;
    bool two_sided() const noexcept override;
    bool symmetric() const noexcept override;

    const std::vector<WeightedPair>& parts() const noexcept { return parts_; }

private:
    std::vector<WeightedPair> parts_;
};

// A pair of which only one that dominates it and one that it dominates are known.
class BracketedPair : public Pair {
public:
    BracketedPair(PairPointer upper, PairPointer lower) : upper_(std::move(upper)), lower_(std::move(lower)) {}

    Spans spans(Side side, const Fineness& fineness) const override {
        return (side == Side::upper ? upper() : lower())->spans(side, fineness);
    }
    bool two_sided() const noexcept override { return true; }
    bool symmetric() const noexcept override { return upper()->symmetric() && lower()->symmetric(); }

    virtual const PairPointer& upper() const { return upper_; }
    virtual const PairPointer& lower() const { return lower_; }

protected:
    BracketedPair() = default;

    mutable PairPointer upper_, lower_;  // of those that find them when they are read first
};

}  // namespace renyi
