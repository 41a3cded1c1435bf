// B_l = E_Q[(P/Q - 1)^l] for even l, from the Renyi curve of a pair that reaches it at every order:
//
//     B_l = sum_{i=2}^l (-1)^i C(l, i) (e^{K_i} - 1),
//
// which cancels: in double-double, with a bound on what the rounding of the K_i leaves of it, and given up where that
// is more than 2^-10. Where K is that of the Gaussian mechanism, K = c^2 l (l-1)/2, the same number is an integral
// without cancellation, by w = c y, z = y + c/2:
//
//     B_l = 2 e^{-c^2/8} int_0^inf cosh((l-1) c y/2) (2 sinh(c y/2))^l phi(y) dy.
//
// The trapezoidal rule of step h is off by at most 2^{l+1} (1 + e^{K_l}) e^{-2 pi^2/h^2}: the integrand is entire, on
// the lines Im y = +-2 pi/h it is at most e^{2 pi^2/h^2} (e^{cx} + 1)^l where it was (e^{cx} - 1)^l, and E_Q[(P/Q +
// 1)^l] <= 2^{l-1} (1 + e^{K_l}). Jensen's inequality gives the scale, B_l >= (e^{c^2} - 1)^{l/2}.
#pragma once

#include <vector>

#include "renyi/fp/scaled.hpp"
#include "renyi/mechanism/renyi_curve.hpp"

namespace renyi {

struct CentralMoment {
    Scaled value;
    double error;  // relative
};

// B_0, B_2, B_4, ... up to B_last at most; fewer where they cannot be had, or no longer are smaller than e^{K_l}/2.
std::vector<CentralMoment> even_central_moments(const RenyiCurve& base, int last);

}  // namespace renyi
