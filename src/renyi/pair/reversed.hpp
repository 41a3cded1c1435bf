// The pair (Q, P): losses change their signs.
#pragma once

#include <cmath>
#include <utility>

#include "renyi/pair/pair.hpp"

namespace renyi {

class Mirrored final : public Fineness {
public:
    explicit Mirrored(const Fineness& base) : base_(base) {}
    double cut(double low, double high) const noexcept override {
        const double found = base_.cut(-high, -low);
        return std::isfinite(found) ? -found : found;
    }
    bool joins_atoms() const noexcept override { return base_.joins_atoms(); }

private:
    const Fineness& base_;
};

inline Span reversed(const Span& s) noexcept {
    return {-s.high, -s.mean, -s.low, s.q, s.p, s.mass_error, s.loss_error};
}

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
