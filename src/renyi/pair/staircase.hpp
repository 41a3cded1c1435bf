// Staircase noise on a query moved by 1 (Geng, Viswanath 2014, arXiv 1212.1186): its density falls by e^-epsilon at
// gamma and at 1, and repeats with that factor. Its own reverse.
#pragma once

#include "renyi/pair/atoms.hpp"

namespace renyi {

PairPointer staircase_noise(double epsilon, double gamma);

}  // namespace renyi
