// Poisson sampling of a pair (P, Q): every record enters with probability q, so that the pair becomes
// ((1-q) Q + q P, Q), of loss log1p(x), x = q (e^l - 1).
//
//     K(alpha) = log1p(E_Q[(1+x)^alpha - 1 - alpha x])        every real alpha >= 1
//
// Where an involution swaps P and Q, the other order of the sampled pair has the smaller divergence: the proof of
// Mironov, Talwar, Zhang 2019, Theorem 5, uses nothing else of the Gaussian. So K is exact for Laplace noise,
// randomized response and whatever else LossPair makes, and an upper bound for what such a pair dominates.
//
// Atoms stay atoms. The density is integrated by 16-point Gauss-Legendre panels that halve towards the top, as far as
// the order asks for; their error is bounded afresh for every alpha (see the .cpp).
#pragma once

#include "renyi/mechanism/loss_pair.hpp"

namespace renyi {

class SampledLossPair final : public RenyiCurve {
public:
    SampledLossPair(const LossPair& pair, double q);  // 0 <= q <= 1

    LogMoment log_moment(double alpha) const noexcept override;
    Certified divergence(double alpha) const noexcept override;
    double largest_loss() const noexcept override;

private:
    struct Panel {
        bool at_top;       // offsets are counted from the top, else from -top
        double near, far;  // offsets
    };
    void tile();
    void add_node(LossNodes& nodes, double loss, double p, double q) const;
    void add_panel(const Panel& panel, LossNodes& nodes) const;
    void add_bound(const Panel& panel, LossNodes& bounds) const;
    double sampled(double loss) const noexcept;
    std::size_t level_at(double beta) const noexcept;
    double input_error(double beta) const noexcept;

    double q_;
    LossDensity density_;
    double largest_base_;  // of the unsampled loss
    double slope_;         // of the loss in the unsampled one, at its largest
    double largest_;
    double last_width_ = 0.0;               // of the last panel of level 0
    std::size_t undivided_ = 0;             // blocks of graded_ that every level uses, one more for each level
    LossNodes graded_, tops_;               // atoms, panels and halves towards the top; the last panel of each level
    LossNodes graded_bounds_, top_bounds_;  // of their errors
};

}  // namespace renyi
