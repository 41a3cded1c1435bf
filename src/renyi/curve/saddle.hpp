// The saddle point of e^{K(t) - t eps} / (t (t+1)) on t > 0, where the contour of the privacy curve crosses the axis.
//
// F(t) = K(t) - t eps - log t - log(1+t) is convex. A point near its minimum suffices, since any t > 0 gives the same
// integral.
#pragma once

#include <cmath>
#include <span>

#include "renyi/curve/rdp_guarantee.hpp"
#include "renyi/loss/sampled_gaussian_kernels.hpp"

namespace renyi {

constexpr double kLargestTilt = 1e30;

// The composition in one direction. With Direction::remove, losses beyond u = limit are left out: outputs of negligible
// probability may make the moment generating function grow without bound there.
struct LossSum {
    std::span<const SampledStep> steps;
    Direction direction;
    double limit;
};

// K(t) = sum count log E e^{t L}, with its absolute error and derivatives; t >= 0. NaN where t is out of reach: orders
// of log A end at 1e6, and at the limit the tilted law must have died down.
struct TiltedMoment {
    double value, error;
    double first, second;
};

TiltedMoment tilted_moment(const LossSum& loss, double t) noexcept;

// A tilt near t whose order is exact: K changes by K' times the rounding of the order otherwise, and K' may be large.
double exact_tilt(Direction direction, double t) noexcept;

// A limit beyond which sum count P(u > limit) is below e^log_mass.
double limit_for(std::span<const SampledStep> steps, double log_mass) noexcept;

// sum count P(u > limit), rounded up: the mass that is left out of delta.
double mass_beyond(std::span<const SampledStep> steps, double limit) noexcept;

// The order of log A that belongs to the tilt t.
inline double order_of(Direction direction, double t) noexcept { return direction == Direction::remove ? 1.0 + t : -t; }

struct Saddle {
    double tilt = 0.0;  // 0: none within reach
    TiltedMoment at{};
    bool is_short = false;  // the saddle point itself is out of reach

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
// The epsilon at which the bound is delta, rounded up; of either sign, inf without a saddle point.
double chernoff_epsilon(const Saddle& saddle, double delta) noexcept;
Saddle saddle_at_delta(const LossSum& loss, double log_delta) noexcept;

}  // namespace renyi
