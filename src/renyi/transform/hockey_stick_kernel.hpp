// Kernels of what is integrated over a sum beyond eps, 1/(z (z + shift)): shift 1 of the hockey stick (1 - e^{-x})_+ of
// losses, shift 0 of the excess (x)_+ of likelihood ratios.
#pragma once

#include <cmath>

#include "renyi/fp/certified.hpp"

namespace renyi {

// Chernoff's factor: log (s^s/(1+s)^(1+s)), where s^s/(1+s)^(1+s) is the largest value of e^{-s x} (1 - e^{-x}), x > 0.
inline double log_kernel_peak(double s) noexcept { return s > 0.0 ? -s * std::log1p(1.0 / s) - std::log1p(s) : 0.0; }

// The largest value of e^{-s x} x, x > 0, is 1/(e s).
inline double log_excess_peak(double s) noexcept { return s > 0.0 ? -1.0 - std::log(s) : kInfinity; }

}  // namespace renyi
