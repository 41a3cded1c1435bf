// Bounds of the Rényi curve of a sampled mechanism from that of the mechanism, whatever it is.
#pragma once

#include <vector>

#include "renyi/fp/double_double.hpp"
#include "renyi/pair/renyi_curve.hpp"

namespace renyi {

// Sampling of any kind that lets the record in with probability r, by convexity alone:
//     K(alpha) = log(1 + r (e^{K_base(alpha)} - 1)),   alpha real.
//
// With probability 1-r both neighbours are treated alike, and P^alpha Q^(1-alpha) is jointly convex; the base must hold
// for both orders of neighbours. Linear in r where the bounds for Poisson and for fixed-size sampling are quadratic:
// the better one only where they are not close to their own leading term. Convex: a mixture of 1 and e^K, both
// log-convex. r = 1 is the base, r = 0 nothing. Relative error: that of r (e^K - 1) for K known to the base's error.
class MixtureBound final : public RenyiCurve {
public:
    MixtureBound(CurvePointer base, double r);

    LogMoment log_moment(double alpha) const noexcept override;
    bool convex() const noexcept override { return base_->convex(); }
    double largest_order() const noexcept override;
    double largest_loss() const noexcept override { return largest_loss_; }

private:
    CurvePointer base_;
    double r_, largest_loss_;
};

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
// Between whole orders the upper kinds are linear: K of the sampled mechanism is convex and 0 at alpha = 1. By default
// they are cut at (alpha-1) log(1 + q (e^{D_inf} - 1)). Where the factor 3 has done its work (alpha q about 3) and where
// the cut sets in, the slope of the general kind may fall: every value is a bound, but K need not be convex there. The
// lower kind between n and n+1 is the larger of the lines through (n-1, n) and (n+1, n+2), below every convex K through
// these points.
//
// q = 1 is the base itself, q = 0 nothing. Infinite beyond the last whole order at which the base is finite.
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

// B_l = E_Q[(P/Q - 1)^l] for even l, from the Renyi curve of a pair that reaches it at every order:
//
//     B_l = sum_{i=2}^l (-1)^i C(l, i) (e^{K_i} - 1),
//
// which cancels: in double-double, with a bound on what the rounding of the K_i leaves of it, and given up where that
// is more than 2^-10. Where K is that of the Gaussian mechanism, K = c^2 l (l-1)/2, the same number is an integral
// without cancellation, by w = c y, z = y + c/2:
//
//     B_l = 2 e^{-c^2/8} int_0^inf cosh((l-1) c y/2) (2 sinh(c y/2))^l phi(y) dy.
//
// The trapezoidal rule of step h is off by at most 2^{l+1} (1 + e^{K_l}) e^{-2 pi^2/h^2}: the integrand is entire, on
// the lines Im y = +-2 pi/h it is at most e^{2 pi^2/h^2} (e^{cx} + 1)^l where it was (e^{cx} - 1)^l, and E_Q[(P/Q +
// 1)^l] <= 2^{l-1} (1 + e^{K_l}). Jensen's inequality gives the scale, B_l >= (e^{c^2} - 1)^{l/2}.
struct CentralMoment {
    Scaled value;
    double error;  // relative
};

// B_0, B_2, B_4, ... up to B_last at most; fewer where they cannot be had, or no longer are smaller than e^{K_l}/2.
std::vector<CentralMoment> even_central_moments(const RenyiCurve& base, int last);

// Sampling of a share gamma of the records without replacement, from the mechanism's Renyi curve alone; neighbours by
// replacing a record, population and sample size public. With K_j = (j-1) D_j of the base, D_inf its largest loss and
// m = e^{D_inf} - 1, at whole orders n (Wang, Balle, Kasiviswanathan 2019, Theorem 9)
//
//     K(n) = log( 1 + gamma^2 C(n,2) min(4 (e^{K_2} - 1), e^{K_2} min(2, m^2))
//                   + sum_{j=3}^n gamma^j C(n,j) e^{K_j} min(2, m^j) ).
//
// tight (Theorem 27): the factor of gamma^j C(n,j) is at most 4 sqrt(B_{2 floor(j/2)} B_{2 ceil(j/2)}), B_l = E_Q[(P/Q
// - 1)^l], if one pair reaches the base at every order, as the Gaussian does. B_l is known to l = 256 for the Gaussian,
// for others as far as the digits of K_j let it (even_central_moments, some 40); above, the term of Theorem 9 stands.
//
// Between whole orders K is linear: K of the sampled mechanism is convex and 0 at alpha = 1. By default it is cut
// at (alpha-1) log(1 + gamma m) (Balle, Barthe, Gaboardi 2018, Theorem 9); at gamma = 1 at the base itself. Every
// value is a bound; K need not be convex where a minimum changes sides. gamma = 0 is nothing.
class FixedSizeBound final : public RenyiCurve {
public:
    FixedSizeBound(CurvePointer base, double gamma, bool tight, bool cut = true);

    LogMoment log_moment(double alpha) const noexcept override;
    Certified divergence(double alpha) const noexcept override;
    bool convex() const noexcept override { return base_->convex(); }
    double largest_order() const noexcept override { return largest_order_; }
    double largest_loss() const noexcept override { return largest_loss_; }

private:
    Certified at_whole_order(double n) const noexcept;

    CurvePointer base_;
    double gamma_;
    double log_m_hi_, log_m_lo_;          // of e^{D_inf} - 1, as a double-double; infinite without a largest loss
    std::vector<CentralMoment> factors_;  // 4 sqrt(B B) from j = 3 on
    double largest_order_, largest_loss_;
};

}  // namespace renyi
