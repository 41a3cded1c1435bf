// The Rényi curve of any pair of bounded loss, read from its spans: that of the discrete pair which dominates it,
// every span at its two ends.
//
//     K(alpha) = log E_Q[e^{alpha L}],   above the truth by about 1e-7 of itself at most where nothing is two-sided
//
// Spans are narrow relative to their losses, for A - 1 is quadratic in small ones, and to their distance from the
// largest loss, around which large orders gather.
#pragma once

#include "renyi/mechanism/loss_nodes.hpp"
#include "renyi/pair/pair.hpp"

namespace renyi {

class PairMoment final : public RenyiCurve {
public:
    explicit PairMoment(const Pair& pair);

    LogMoment log_moment(double alpha) const noexcept override;
    Certified divergence(double alpha) const noexcept override;
    double largest_order() const noexcept override { return bounded_ ? kInfinity : 1.0; }
    double largest_loss() const noexcept override;

private:
    LossNodes nodes_;
    double error_ = 0.0;                                // of the masses, relative
    double loss_error_ = 0.0, small_loss_error_ = 0.0;  // of losses; relative, or to their spread where they are small
    bool bounded_;
};

}  // namespace renyi
