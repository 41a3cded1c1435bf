// A(alpha) = E_mu0[(mu/mu0)^alpha] far off the real axis, where the integral over real u oscillates.
//
// In V = log odds of the sampled component (u = split + sigma V), l = log(1-q) + L with L = log1p(e^V), the path is
//     L(v) = log1p(e^v) e^{i w(v)},   w(v) = psi + (omega - psi) / (1 + e^{-v-log(1+|alpha|)}),   v real:
// on the left e^{alpha l} is turned by psi, as the saddle point of the bulk asks; from |alpha| L = 1 on, L runs along a
// ray at the angle omega, where Re(alpha l) falls, or towards the saddle point u = alpha/sigma where that is near the
// axis. (1+x)^alpha has its branch points at L = -inf: none is crossed for 0 <= w < pi/2. What is summed is
//     A - 1 = integral of n(u) (phi(alpha l) - alpha phi(l)),   phi(z) = e^z - 1 - z,
// or e^{alpha l - scale} where log A is large on the axis. Errors are relative to the integral of the modulus, which
// the path keeps near |A - 1| or below 1 as long as sigma is small, a few units at most; that is where the transform
// decays slowly and this route is needed. Trapezoidal rule; its step is heuristic, so that nothing here is certified.
#pragma once

#include <complex>

#include "renyi/loss/sampled_gaussian_law.hpp"

namespace renyi {

class LawOnPath {
public:
    // scale: log A at the real order from which the contour starts. Values are A e^{-scale}.
    LawOnPath(double q, double sigma, double scale) noexcept;

    // log A(alpha) - scale, Im alpha >= 0.
    std::complex<double> log_ratio(std::complex<double> alpha) const noexcept;

private:
    SampledGaussianLaw law_;
    double split_, scale_;
    bool excess_;  // A - 1 is summed
};

}  // namespace renyi
