// Mechanisms of bounded range epsilon: for every pair of neighbours all losses lie in an interval of length epsilon.
// The exponential mechanism is one (Dong, Durfee, Rogers 2020), and so is report-noisy-max with Gumbel noise.
//
// The worst pair of an order has two losses, t and t - epsilon:
//     K(alpha) = max over y = e^t in [1, E] of log( y^b ((E - E^-b) - y (1 - E^-b))/(E - 1) ),  b = alpha - 1, E =
//     e^eps
// at y = b/alpha (E - E^-b)/(1 - E^-b); both orders of the pair have the same maximum. Domain: epsilon >= 0, finite.
#pragma once

#include "renyi/mechanism/renyi_curve.hpp"

namespace renyi {

class BoundedRangeCurve final : public RenyiCurve {
public:
    explicit BoundedRangeCurve(double epsilon) noexcept : epsilon_(epsilon) {}

    LogMoment log_moment(double alpha) const noexcept override;
    Certified divergence(double alpha) const noexcept override;
    double largest_loss() const noexcept override { return epsilon_; }

private:
    double epsilon_;
};

}  // namespace renyi
