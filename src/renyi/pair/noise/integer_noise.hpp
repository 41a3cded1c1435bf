// Noise on the integers, moved by an integer: P is the noise around `shift` >= 1, Q around 0. All are their own
// reverse. Very many outcomes are merged into blocks of neighbours, which are then spans with a width.
#pragma once

#include <cstdint>

#include "renyi/pair/pair.hpp"

namespace renyi {

// Mass proportional to e^{-x^2/(2 sigma^2)} (Canonne, Kamath, Steinke 2020, arXiv 2004.00010). The loss at x is
// shift (2x - shift)/(2 sigma^2). What lies beyond 38.7 sigma of both centres has less than 2^-1040 of either mass.
// Its Rényi divergences are those of continuous noise at most (Proposition 5 there).
PairPointer discrete_gaussian(double sigma, std::int64_t shift);

// The sum of e^{-x^2/(2 sigma^2)} over the integers. By Poisson's summation it is sigma sqrt(2 pi)
// (1 + 2 e^{-2 pi^2 sigma^2} + ...), where sigma >= 1 to 2^-113; else it has 39 terms on each side. To 64u.
double discrete_gaussian_total(double sigma) noexcept;

// Mass proportional to e^{-|x|/scale}, the geometric mechanism. Spans for shift/scale <= 700, moments for every scale.
PairPointer discrete_laplace(double scale, std::int64_t shift);

// Skellam's distribution, the difference of two Poisson variables of mean variance/2 each.
PairPointer skellam_noise(double variance, int shift);

}  // namespace renyi
