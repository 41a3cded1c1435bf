// Poisson sampling of any mechanism, from its Renyi curve alone: every record enters with probability q, neighbours by
// adding or removing a record. With w_l = C(n,l) q^l (1-q)^(n-l) and K_l = (l-1) D_l of the base, in both orders of
// neighbours, at whole orders n
//     K(n) = log( w_0 + w_1 + w_2 e^{K_2} + c sum_{l=3}^n w_l e^{K_l} ).
//
//   general  c = 3, as published (Zhu, Wang 2019, Theorem 5).
//   tight    c = 1. They prove it for pairs of non-negative odd moments E_Q[(P/Q - 1)^l] (Theorem 8); it holds for all.
//   lower    c = 1 (Theorem 6): some mechanism with this base reaches it. Round down with lower().
//
// c = 1 for all: let X = P/Q, u(x) = 1-q+qx. E_Q[u(X)^n] and E_Q[X u(1/X)^n], the divergences from the plain law in
// both orders of neighbours, are the sum with c = 1 over the moments of X and of 1/X under P. The other order is
// E_Q[u(X)^(1-n)], and with a = n-2, t = 3(1-q)/(3+2aq), and the c for which F'(1) = 0
//     F(x) = t u(x)^n + (1-t) x u(1/x)^n + c (x-1) - u(x)^(1-n) >= 0,
// so that by E_Q[X-1] = 0 it is at most the mean of these two with weights t and 1-t. For F(1) = F'(1) = 0, and
//     F''/(n(n-1)q^2) = t u(x)^a + (1-t) x^-3 u(1/x)^a - u(x)^(-a-3) >= 0:
// the weighted geometric mean of the first two terms over the third is exp(h(log x)),
//     h(y) = (ta+a+3) log u(e^y) + (1-t) a log u(e^-y) - 3(1-t) y,
// a convex function with h(0) = 0 and h'(0) = t(3+2aq) - 3(1-q) = 0.
//
// Computed without its cancelling part, K = log1p(sum_{l>=2} w_l (c e^{K_l} - 1)), every term >= 0.
//
// Between whole orders the upper kinds are linear: K of the sampled mechanism is convex and 0 at alpha = 1. Unless told
// otherwise they are cut at (alpha-1) log(1 + q (e^{D_inf} - 1)). Where the factor 3 has done its work (alpha q about 3) and where the cut
// sets in, the slope of the general kind may fall: every value is a bound, but K need not be convex there. The lower
// kind between n and n+1 is the larger of the lines through (n-1, n) and (n+1, n+2), below every convex K through these
// points.
//
// q = 1 is the base itself, q = 0 nothing. Infinite beyond the last whole order at which the base is finite.
#pragma once

#include "renyi/mechanism/renyi_curve.hpp"

namespace renyi {

enum class PoissonBoundKind { general, tight, lower };

class PoissonBound final : public RenyiCurve {
public:
    PoissonBound(CurvePointer base, double q, PoissonBoundKind kind, bool cut = true);

    LogMoment log_moment(double alpha) const noexcept override;
    Certified divergence(double alpha) const noexcept override;
    bool convex() const noexcept override { return base_->convex(); }
    double largest_order() const noexcept override { return largest_order_; }
    double largest_loss() const noexcept override { return largest_loss_; }

private:
    Certified at_whole_order(double n) const noexcept;
    LogMoment above(double alpha) const noexcept;
    LogMoment below(double alpha) const noexcept;

    CurvePointer base_;
    double q_;
    PoissonBoundKind kind_;
    double largest_order_, largest_loss_;
};

}  // namespace renyi
