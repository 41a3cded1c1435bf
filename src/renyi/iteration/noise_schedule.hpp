// Noise scales of the steps 1, 2, 3, ...: given, constant, or decaying so slowly that the product of the contraction
// coefficients stays positive (Sordello, Bu, Dong 2021):
//     Laplace:  amplitude / log(j^a/C1 + C2)                      Gaussian:  amplitude / sqrt(W(j^{2a}/(2 pi C1^2) +
//     C2))
// W is Lambert's. With amplitude = M D/(2 eta) and one scale for a pass of n steps, a = 1 at j = n is their v(n) and
// sigma(n): n (1 - B) tends to C1 e^{eps/2}, and to twice that. With a > 1, v_j and sigma_j.
//
// Domain: a in {0} and [1, 100], C1 in [1e-100, 1e100], C2 in [1, 1e100] for Laplace and [0, 1e100] for Gaussian noise,
// j in [1, 1e300], amplitude in [1e-150, 1e150]. Scales are right to 2^-44 relatively (a log j is rounded, and j^a by
// as much); guarantees are about the very doubles returned.
#pragma once

#include "renyi/iteration/step_terms.hpp"

namespace renyi {

struct NoiseSchedule {
    const double* scales;  // of step j: scales[j - 1]; else null
    NoiseLaw law;
    double amplitude;
    double power;  // a; 0: the amplitude is the scale of every step
    double c1, c2;
};

// Of the steps first, first + 1, ...
void step_scales(const NoiseSchedule& schedule, double first, int count, double* scales) noexcept;

// Of the steps j[0], j[1], ...; not for given scales.
void scales_at(const NoiseSchedule& schedule, const double* j, int count, double* scales) noexcept;

}  // namespace renyi
