// Renyi divergences linear in the order: D_alpha = xi + rho alpha, so K = (alpha-1) (xi + rho alpha).
//
// The Gaussian mechanism and the discrete Gaussian have rho = Delta^2/(2 sigma^2) and xi = 0 (Mironov 2017, Prop. 7;
// Canonne, Kamath, Steinke 2020, Theorem 4), and (xi, rho)-zCDP is this bound by definition (Bun, Steinke 2016). K to
// 4u, rho and xi taken as exact. Domain: rho, xi >= 0.
#pragma once

#include "renyi/mechanism/renyi_curve.hpp"

namespace renyi {

class LinearCurve final : public RenyiCurve {
public:
    explicit LinearCurve(double rho, double xi = 0.0) noexcept : rho_(rho), xi_(xi) {}

    LogMoment log_moment(double alpha) const noexcept override;
    Certified divergence(double alpha) const noexcept override;
    double largest_loss() const noexcept override;

private:
    double rho_, xi_;
};

}  // namespace renyi
