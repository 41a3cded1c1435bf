// Two normal laws of standard deviation s at distance d, r = d/s (Balle, Wang 2018, Theorem 8):
//     theta = Q(a) - e^eps Q(b) = phi(a) (R(a) - R(b)),   1 - theta = phi(a) (R(-a) + R(b)),
//     a = eps/r - r/2,  b = eps/r + r/2,  R = Q/phi,
// right to a few u however small theta or 1 - theta is.
#pragma once

#include "renyi/iteration/setting.hpp"

namespace renyi {

StepDivergence gaussian_step(double epsilon, double shift, double scale) noexcept;

}  // namespace renyi
