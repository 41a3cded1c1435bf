// Noise of Skellam's distribution, the difference of two Poisson variables of mean variance/2 each, on an integer moved
// by a whole number. Its own reverse.
#pragma once

#include "renyi/pair/pair.hpp"

namespace renyi {

PairPointer skellam_noise(double variance, int shift);

}  // namespace renyi
