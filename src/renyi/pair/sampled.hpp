// The record takes part with probability s: ((1-s) Q + s P, Q), the direction "remove"; "add" is its reverse.
#pragma once

#include <utility>

#include "renyi/pair/pair.hpp"

namespace renyi {

// log(1 + s (e^l - 1)), to 8u of itself and what the slope s e^l/(1 + s (e^l - 1)) makes of an error of l.
double sampled_loss(double rate, double loss) noexcept;

class PoissonSampledPair final : public Pair {
public:
    PoissonSampledPair(PairPointer base, double rate) : base_(std::move(base)), rate_(rate) {}  // rate in [0, 1]

    Spans spans(Side side, const Fineness& fineness) const override;
    bool two_sided() const noexcept override { return base_->two_sided(); }
    bool symmetric() const noexcept override { return rate_ == 0.0 || (rate_ == 1.0 && base_->symmetric()); }

    const PairPointer& base() const noexcept { return base_; }
    double rate() const noexcept { return rate_; }

private:
    PairPointer base_;
    double rate_;
};

}  // namespace renyi
