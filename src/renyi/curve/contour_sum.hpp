// The hot loop of a placed contour: the trapezoidal sum over its nodes z = t + i j h, j = 1, 2, ...
#pragma once

#include <cstddef>

namespace renyi {

// The terms of the sum: the product of two transforms, the second one raised to the power `times`.
struct LineTerms {
    const double *log_modulus[2], *phase[2];  // at the nodes, a multiple of kLanes of them
    std::size_t count;
    double times;
    double t, step;
    double drift;  // K'(t) - epsilon
    // Rounding errors in units of u: that of log (1 + R + i I) relative to min(y^2 variance/2, flat + y steep), and
    // that of K'(t).
    double rounding, variance, flat, steep, mean;
};

// With w = t (t+1) e^{K(z) - K(t) - (z-t) eps} / (z (z+1)): Re w, d/d eps of it, and its error in units of u.
struct LineSums {
    double value, slope, error;
};

LineSums sum_line(const LineTerms& terms) noexcept;

}  // namespace renyi
