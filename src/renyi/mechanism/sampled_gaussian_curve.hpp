// Gaussian noise on a Poisson sample as one curve among others: K = log A(q, sigma, alpha) of
// loss/sampled_gaussian.hpp, for bases of further steps (sampling, selection). Compositions of such steps alone have a
// faster road, curve/rdp_composition.hpp. In the other order of the neighbours K(alpha) = log A(q, sigma, 1 - alpha).
// Domain as there.
#pragma once

#include "renyi/loss/direction.hpp"
#include "renyi/mechanism/renyi_curve.hpp"

namespace renyi {

class SampledGaussianCurve final : public RenyiCurve {
public:
    SampledGaussianCurve(double q, double sigma, Direction direction = Direction::remove) noexcept
        : q_(q), sigma_(sigma), direction_(direction) {}

    LogMoment log_moment(double alpha) const noexcept override;
    Certified divergence(double alpha) const noexcept override;
    double largest_loss() const noexcept override;

private:
    double q_, sigma_;
    Direction direction_;
};

}  // namespace renyi
