// Noises of even density on a query moved by 1, each its own reverse.
#pragma once

#include "renyi/pair/pair.hpp"

namespace renyi {

// Density proportional to e^{-(|x|/scale)^shape}; shape in [1.01, 10], losses up to some thousands. At shape 2 it is
// Gaussian.
PairPointer generalised_gaussian_noise(double shape, double scale);

// Density proportional to (1 + (x/scale)^2/n)^{-(n+1)/2}, Student's t with n degrees of freedom; n in [1.5, 1e4]. Its
// loss is bounded and turns.
PairPointer student_noise(double degrees, double scale);

// Staircase noise (Geng, Viswanath 2014, arXiv 1212.1186): its density falls by e^-epsilon at gamma and at 1, and
// repeats with that factor.
PairPointer staircase_noise(double epsilon, double gamma);

}  // namespace renyi
