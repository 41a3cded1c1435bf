// The saddle point of e^{K(t) - t eps} / (t (t+1)) on t > 0, where the contour of the privacy curve crosses the axis.
//
// F(t) = K(t) - t eps - log t - log(1+t) is convex; near its minimum is enough, since any t > 0 gives the same
// integral.
#pragma once

#include <cmath>
#include <span>

#include "renyi/curve/rdp_composition.hpp"
#include "renyi/loss/sampled_gaussian_kernels.hpp"

namespace renyi {

constexpr double kLargestTilt = 1e12;

// The composition in one direction.
struct LossSum {
    std::span<const SampledStep> steps;
    Direction direction;
};

// K(t) = sum count log E e^{t L}, with its absolute error and derivatives; t >= 0. NaN where t is out of reach: for
// Direction::remove orders of log A end at 1e6.
struct TiltedMoment {
    double value, error;
    double first, second;
};

TiltedMoment tilted_moment(const LossSum& loss, double t) noexcept;

// A tilt near t whose order is exact: K changes by K' times the rounding of the order otherwise, and K' may be large.
double exact_tilt(Direction direction, double t) noexcept;

// The order of log A that belongs to the tilt t.
inline double order_of(Direction direction, double t) noexcept { return direction == Direction::remove ? 1.0 + t : -t; }

struct Saddle {
    double tilt = 0.0;  // 0: none within reach
    TiltedMoment at{};

    // The epsilon of which it is the saddle point.
    double epsilon() const noexcept { return at.first - 1.0 / tilt - 1.0 / (1.0 + tilt); }
    // F''.
    double curvature() const noexcept { return at.second + 1.0 / (tilt * tilt) + 1.0 / ((1.0 + tilt) * (1.0 + tilt)); }
    // log delta at epsilon() by the saddle-point formula (Alghamdi et al. 2023, order 1).
    double log_estimate() const noexcept;
};

Saddle saddle_at_epsilon(const LossSum& loss, double epsilon) noexcept;

// Chernoff's bound of delta at a saddle point: e^{K(t) - t eps} t^t/(1+t)^(1+t), rounded up.
double chernoff_delta(const Saddle& saddle, double epsilon) noexcept;
Saddle saddle_at_delta(const LossSum& loss, double log_delta) noexcept;

}  // namespace renyi
