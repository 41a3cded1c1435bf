#include "renyi/mechanism/sampled_gaussian_curve.hpp"

#include <cmath>

#include "renyi/loss/sampled_gaussian.hpp"

namespace renyi {

LogMoment SampledGaussianCurve::log_moment(double alpha) const noexcept {
    const bool removal = direction_ == Direction::remove;
    const LogADerivatives d = log_a_derivatives(q_, sigma_, removal ? alpha : 1.0 - alpha);
    return {d.value, removal ? d.first : -d.first, d.second};
}

Certified SampledGaussianCurve::divergence(double alpha) const noexcept {
    return direction_ == Direction::remove ? rdp_sampled_gaussian(q_, sigma_, alpha) : RenyiCurve::divergence(alpha);
}

double SampledGaussianCurve::largest_loss() const noexcept { return q_ == 0.0 || std::isinf(sigma_) ? 0.0 : kInfinity; }

}  // namespace renyi
