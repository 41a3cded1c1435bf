// The pair (Q, P): losses change their signs.
#pragma once

#include <utility>

#include "renyi/pair/pair.hpp"

namespace renyi {

class ReversedPair final : public Pair {
public:
    explicit ReversedPair(PairPointer base) : base_(std::move(base)) {}

    Spans spans(Side side, const Fineness& fineness) const override;
    bool two_sided() const noexcept override { return base_->two_sided(); }
    bool symmetric() const noexcept override { return base_->symmetric(); }

    const PairPointer& base() const noexcept { return base_; }

private:
    PairPointer base_;
};

}  // namespace renyi
