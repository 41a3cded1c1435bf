// Upper bounds of integrals over a line beside the real axis, all that is needed to certify nodes and tails:
//     integral |density(x + i a)| e^{tilt Re loss} e^{-y Im V} |window| dx,   0 <= c a <= 0.7.
// y > 0 bounds what the transform has decayed to at every ordinate beyond y (the loss moves to the side where it
// decays); y < 0 what it may have grown to up to |y|, for the error of quadrature nodes.
//
// The line is cut into cells short enough that the exponent changes by about a nat, each bounded by its ends, since all
// factors are monotone; the ends of the line by the normal tail times what the monotone factors are there. A few nats
// are lost, which cost nothing. The logarithm is rounded up by 1e-6.
#pragma once

#include "renyi/transform/loss_window.hpp"
#include "renyi/transform/sampled_loss.hpp"

namespace renyi {

constexpr double kLargestAngle = 0.7;  // tan^2 < 1, see line_integral.cpp

struct LineRange {
    double first = -kInfinity, last = kInfinity;
    double spacing = 0.0;           // bounds the sum over nodes so far apart as well as the integral
    double log_scale = -kInfinity;  // what lies e^-8 below it is bounded by wider cells
};

// tilt > 0 needs a window that falls (or SampledPair::add, whose loss is bounded above).
double log_line_integral(const SampledLoss& law, const LossWindow& window, double angle, double tilt, double y,
                         const LineRange& range = {}) noexcept;

}  // namespace renyi
