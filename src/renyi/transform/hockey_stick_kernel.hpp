// Chernoff's factor of the hockey stick: log (s^s/(1+s)^(1+s)), where s^s/(1+s)^(1+s) is the largest value of
// e^{-s x} (1 - e^{-x}), x > 0.
#pragma once

#include <cmath>

namespace renyi {

inline double log_kernel_peak(double s) noexcept { return s > 0.0 ? -s * std::log1p(1.0 / s) - std::log1p(s) : 0.0; }

}  // namespace renyi
