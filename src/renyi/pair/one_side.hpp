// One side of a pair that is known by two, as a pair by itself: compositions that are bounded from above need the one,
// those bounded from below the other.
#pragma once

#include <utility>

#include "renyi/pair/mixed.hpp"

namespace renyi {

class OneSide final : public Pair {
public:
    OneSide(PairPointer base, Side side) : base_(std::move(base)), side_(side) {}

    Spans spans(Side, const Fineness& fineness) const override { return base_->spans(side_, fineness); }
    bool symmetric() const noexcept override { return base_->symmetric(); }

private:
    PairPointer base_;
    Side side_;
};

inline PairPointer one_side(const PairPointer& pair, Side side) {
    if (!pair->two_sided()) return pair;
    if (const auto* known = dynamic_cast<const BracketedPair*>(pair.get())) {
        return one_side(side == Side::upper ? known->upper() : known->lower(), side);
    }
    return std::make_shared<const OneSide>(pair, side);
}

}  // namespace renyi
