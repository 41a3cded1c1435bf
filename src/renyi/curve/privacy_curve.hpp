// The privacy curve of a composition of Poisson-sampled Gaussian steps by the best route for it:
//   nothing released                  delta = max(0, 1 - e^eps)
//   only Gaussian steps               closed form (gaussian_curve.hpp)
//   one step                          closed form (single_step.hpp)
//   the transform decays              vertical contour, certified (contour.hpp)
//   few effective steps               bent contour, estimated (bent_contour.hpp)
// Steps have q in [0, 1], sigma in (0, inf] and counts >= 0. Their order does not matter, to the last bit.
#pragma once

#include <span>

#include "renyi/curve/contour.hpp"

namespace renyi {

struct CurveAnswer {
    Bracket bracket;  // NaN: no route answered
    bool certified;   // else the bracket is the estimate and its estimated error, widened
};

// Estimates allowed: the fastest answer to about ten digits or more. Many questions to one composition share contours.
void curve_delta(std::span<const SampledStep> steps, Direction direction, std::span<const double> epsilons,
                 CurveAnswer* answers);
void curve_epsilon(std::span<const SampledStep> steps, Direction direction, std::span<const double> deltas,
                   CurveAnswer* answers);

// epsilon after `steps` and each number of repetitions of `repeated`.
void curve_epsilon_after(std::span<const SampledStep> steps, std::span<const SampledStep> repeated, Direction direction,
                         std::span<const double> times, double delta, CurveAnswer* answers);

// A certified upper bound of delta that is quickly had and usually within a factor of ten or so.
double rough_delta(std::span<const SampledStep> steps, Direction direction, double epsilon);

// Certified only, at most about rtol wide (of delta); NaN where that would take more than half a million nodes.
Bracket certified_delta(std::span<const SampledStep> steps, Direction direction, double epsilon, double rtol);
Bracket certified_epsilon(std::span<const SampledStep> steps, Direction direction, double delta, double rtol);

}  // namespace renyi
