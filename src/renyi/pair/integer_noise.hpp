// Noise on the integers, moved by an integer: P is the noise around `shift` >= 1, Q around 0. Both are their own
// reverse. Very many outcomes are merged into blocks of neighbours, which are then spans with a width.
#pragma once

#include <cstdint>

#include "renyi/pair/atoms.hpp"

namespace renyi {

// Mass proportional to e^{-x^2/(2 sigma^2)} (Canonne, Kamath, Steinke 2020, arXiv 2004.00010). The loss at x is
// shift (2x - shift)/(2 sigma^2). What lies beyond 38.7 sigma of both centres has less than 2^-1040 of either mass.
AtomsPair discrete_gaussian(double sigma, std::int64_t shift);

// Mass proportional to e^{-|x|/scale}, the geometric mechanism; shift/scale <= 700.
AtomsPair discrete_laplace(double scale, std::int64_t shift);

}  // namespace renyi
