// A mechanism run a random number N of times, and only the best of its outputs released (Papernot, Steinke 2022, arXiv
// 2110.03620). mean = E[N]; shape = eta tells the law of N:
//
//   eta > -1, finite   truncated negative binomial, N >= 1, mean >= 1 (Theorem 2); 0 logarithmic, 1 geometric. With
//       x = log(1/gamma) from E[N] = eta (e^x - 1) / (1 - e^{-eta x}), for every order l >= 1 or infinity of the base,
//           K'(alpha) = K(alpha) + (alpha-1) C + log E[N],   C = (1+eta) (K(l) + x) / l,
//       where (K(l) + x)/l is D_inf for l infinite. The best l does not depend on alpha.
//   eta = infinity     Poisson, mean > 0 (Theorem 6). With delta such that the base is (log(alpha/(alpha-1)),
//       delta)-DP,
//           K'(alpha) = K(alpha) + (alpha-1) E[N] delta + log E[N].
//       For E[N] < 1, where that would fall below 0, the outcome without a run is counted for itself: in the proof of
//       the theorem e^{K'} is at most e^{-E[N]} + E[N] e^{K + (alpha-1) E[N] delta}.
//       delta is the least of: 1; sqrt(1 - e^{-D_1}) (Bretagnolle, Huber); (e^{D_inf} - e^eps)/(e^{D_inf} + 1);
//       e^{K(a) - (a-1) eps} (1 - 1/a)^{a-1}/a (Canonne, Kamath, Steinke 2020, Prop. 12), minimised over a > 1.
//
// Divergences do not fall with the order, so below the order at which K'/(alpha-1) is least that value stands, and K'
// is linear there: 0 at alpha = 1, and convex if eta is finite. For Poisson the slope of (alpha-1) delta is not known
// to rise everywhere; every value is a bound. Minima are sought, not proven: any l, a and any such order give a bound.
// mean = 1 with finite eta is the base itself.
#pragma once

#include "renyi/mechanism/renyi_curve.hpp"

namespace renyi {

class RepeatAndSelectCurve final : public RenyiCurve {
public:
    RepeatAndSelectCurve(CurvePointer base, double mean, double shape);

    LogMoment log_moment(double alpha) const noexcept override;
    double largest_order() const noexcept override { return largest_order_; }
    double largest_loss() const noexcept override { return largest_loss_; }

private:
    double smallest_delta(double epsilon) const noexcept;
    double selection_cost(double x, double shape) const noexcept;
    LogMoment negative_binomial(double alpha) const noexcept;
    LogMoment poisson(double alpha) const noexcept;
    LogMoment formula(double alpha) const noexcept { return poisson_ ? poisson(alpha) : negative_binomial(alpha); }
    void find_flat_part() noexcept;

    CurvePointer base_;
    double mean_, log_mean_;
    bool poisson_;
    double cost_ = 0.0;  // C
    double largest_order_, largest_loss_;
    double flat_until_ = 1.0, flat_divergence_ = 0.0;
};

}  // namespace renyi
