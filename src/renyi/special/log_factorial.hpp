// log n! in double-double, for the binomial coefficients of large orders.
//
// Whole n in [0, 2^40]. Up to 22 the factorial is a double; beyond, Stirling's series, whose remainder is below the
// first term left out, 0.0065 n^-13 < 2^-65. Absolute error <= 2^-59 + n 2^-78: that of log_dd, n times.
#pragma once

#include "renyi/special/elementary_dd.hpp"

namespace renyi {

constexpr double kFactorials[] = {1.0,
                                  1.0,
                                  2.0,
                                  6.0,
                                  24.0,
                                  120.0,
                                  720.0,
                                  5040.0,
                                  40320.0,
                                  362880.0,
                                  3628800.0,
                                  39916800.0,
                                  479001600.0,
                                  6227020800.0,
                                  87178291200.0,
                                  1307674368000.0,
                                  20922789888000.0,
                                  355687428096000.0,
                                  6402373705728000.0,
                                  121645100408832000.0,
                                  2432902008176640000.0,
                                  51090942171709440000.0,
                                  1124000727777607680000.0};

inline DoubleDouble log_factorial(double n) noexcept {
    if (n < 23.0) return log_dd({kFactorials[static_cast<int>(n)], 0.0});
    constexpr DoubleDouble kHalfLogTwoPi{0x1.d67f1c864beb5p-1, -0x1.65b5a1b7ff5dfp-55};
    const double x = 1.0 / (n * n);
    const double series =
        (1.0 / 12 + x * (-1.0 / 360 + x * (1.0 / 1260 + x * (-1.0 / 1680 + x * (1.0 / 1188 - x * (691.0 / 360360)))))) /
        n;
    return log_dd({n, 0.0}) * (n + 0.5) + -n + kHalfLogTwoPi + series;
}

}  // namespace renyi
