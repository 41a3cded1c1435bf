#include "renyi/mechanism/linear_curve.hpp"

namespace renyi {

LogMoment LinearCurve::log_moment(double alpha) const noexcept {
    const Certified d = divergence(alpha);
    const double beta = alpha - 1.0;
    return {{beta * d.value, beta == 0.0 ? 0.0 : d.relative_error + 2.0 * kUnitRoundoff},
            xi_ + rho_ * (alpha + beta),
            2.0 * rho_};
}

Certified LinearCurve::divergence(double alpha) const noexcept {
    const double value = xi_ + rho_ * alpha;
    return {value, value == 0.0 ? 0.0 : 2.0 * kUnitRoundoff};
}

double LinearCurve::largest_loss() const noexcept { return rho_ > 0.0 ? kInfinity : xi_; }

}  // namespace renyi
