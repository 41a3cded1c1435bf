// The privacy curve by a contour that bends to the right: for few effective steps, where the transform decays slowly on
// a vertical line.
//
// In the order alpha = 1 + z (remove) or -z (add) both directions integrate the same transform G(alpha) = sum count log
// A(alpha), since delta_add(eps) = 1 - e^eps + e^eps delta_remove(-eps): the contour crosses the real axis at alpha > 1
// or at alpha < 0. It is the hyperbola
//     alpha(s) = alpha_0 + lambda ((cosh s - 1) sin phi + i sinh s cos phi),
// which ends in the sector between 45 and 90 degrees, where A decays. Its nodes are evenly spaced in s, so widely
// different scales of the loss cost a logarithm. Nothing is certified: the error is estimated by halving the step.
//
// remove, eps > 0: e^G - 1 is integrated, since the mass at loss 0 that the 1 stands for adds nothing. With few steps
// nearly all of the mass is near 0, and a contour placed for e^G would serve that instead of the rare large losses.
#pragma once

#include <complex>
#include <span>
#include <vector>

#include "renyi/curve/rdp_composition.hpp"
#include "renyi/loss/sampled_gaussian_kernels.hpp"
#include "renyi/loss/sampled_gaussian_path.hpp"

namespace renyi {

struct Estimate {
    double value;
    double error;  // estimated, relative for delta and absolute for epsilon; NaN: no value found
};

Estimate bent_delta(std::span<const SampledStep> steps, Direction direction, double epsilon) noexcept;
Estimate bent_epsilon(std::span<const SampledStep> steps, Direction direction, double delta) noexcept;

}  // namespace renyi
