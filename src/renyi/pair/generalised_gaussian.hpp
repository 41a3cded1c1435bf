// Noise of density proportional to e^{-(|x|/scale)^shape} on a query moved by 1; shape in [1.01, 10], losses up to
// some thousands. At shape 2 it is Gaussian.
#pragma once

#include "renyi/pair/pair.hpp"

namespace renyi {

PairPointer generalised_gaussian_noise(double shape, double scale);

}  // namespace renyi
