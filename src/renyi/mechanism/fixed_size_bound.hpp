// Sampling of a share gamma of the records without replacement, from the mechanism's Renyi curve alone; neighbours by
// replacing a record, population and sample size public. With K_j = (j-1) D_j of the base, D_inf its largest loss and
// m = e^{D_inf} - 1, at whole orders n (Wang, Balle, Kasiviswanathan 2019, Theorem 9)
//
//     K(n) = log( 1 + gamma^2 C(n,2) min(4 (e^{K_2} - 1), e^{K_2} min(2, m^2))
//                   + sum_{j=3}^n gamma^j C(n,j) e^{K_j} min(2, m^j) ).
//
// tight (Theorem 27): the factor of gamma^j C(n,j) is at most 4 sqrt(B_{2 floor(j/2)} B_{2 ceil(j/2)}), B_l = E_Q[(P/Q
// - 1)^l], if one pair reaches the base at every order, as the Gaussian does. B_l is known to l = 256 for the Gaussian,
// for others as far as the digits of K_j let it (central_moments.hpp, some 40); above, the term of Theorem 9 stands.
//
// Between whole orders K is linear: K of the sampled mechanism is convex and 0 at alpha = 1. Unless told otherwise it is
// cut at (alpha-1) log(1 + gamma m) (Balle, Barthe, Gaboardi 2018, Theorem 9); at gamma = 1 at the base itself. Every
// value is a bound; K need not be convex where a minimum changes sides. gamma = 0 is nothing.
#pragma once

#include <vector>

#include "renyi/mechanism/central_moments.hpp"
#include "renyi/mechanism/renyi_curve.hpp"

namespace renyi {

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
