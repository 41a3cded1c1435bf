// Sampling of any kind that lets the record in with probability r, by convexity alone:
//     K(alpha) = log(1 + r (e^{K_base(alpha)} - 1)),   alpha real.
//
// With probability 1-r both neighbours are treated alike, and P^alpha Q^(1-alpha) is jointly convex; the base must hold
// for both orders of neighbours. Linear in r where the bounds for Poisson and for fixed-size sampling are quadratic:
// the better one only where they are not close to their own leading term. Convex: a mixture of 1 and e^K, both
// log-convex. r = 1 is the base, r = 0 nothing. Relative error: that of r (e^K - 1) for K known to the base's error.
#pragma once

#include "renyi/mechanism/renyi_curve.hpp"

namespace renyi {

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

}  // namespace renyi
