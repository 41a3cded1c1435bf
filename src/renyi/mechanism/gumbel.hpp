// Gumbel noise on the location: P = Gumbel(shift), Q = Gumbel(0) at scale 1, in the worse of both orders.
//
// Through e^-x it is a pair of exponential distributions whose rates have the ratio e^shift (Gil, Alajaji, Linder
// 2013). With b = alpha - 1, c = e^shift - 1, phi(t) = e^t - 1 - t
//     K(alpha) = -b shift - log1p(-b c) = b phi(shift) + (-log1p(-b c) - b c),        both parts >= 0,
// finite for b c < 1. The other order is this with -shift for shift, and smaller: the derivatives in the shift are
// alpha b a/(1 - alpha a) and alpha b a/(1 - a + alpha a), a = 1 - e^-shift. Domain: shift >= 0.
#pragma once

#include "renyi/mechanism/renyi_curve.hpp"

namespace renyi {

class GumbelCurve final : public RenyiCurve {
public:
    explicit GumbelCurve(double shift) noexcept;

    LogMoment log_moment(double alpha) const noexcept override;
    Certified divergence(double alpha) const noexcept override;
    double largest_order() const noexcept override { return largest_order_; }
    double largest_loss() const noexcept override;

private:
    double shift_, growth_, divergence_;  // growth: e^shift - 1
    double largest_order_;
};

}  // namespace renyi
