// The normal distribution in double-double: density, tail, Mills ratio and its differences, quantile.
//
// With phi the density and Q(x) = P(N > x), R(x) = Q(x)/phi(x) = integral_0^inf e^{-xt - t^2/2} dt.
//   normal_density(x)         relative error <= 2^-79 + 2^-98 x^2 for |x| < 2^22; 0 beyond
//   mills(x), x >= 0          relative error <= 2^-78 for x < 8, 2^-96 beyond, 2^-79 beyond 2^40
//   mills_difference(a, b)    R(a) - R(b) > 0 for b >= |a|: relative error <= 2^-61 for a <= 64, 2^-44 beyond
//   normal_tail(x)            relative error <= 2^-77 + 2^-98 x^2 for |x| < 2^22; 0 or 1 beyond
//   normal_tail_inverse(p)    0 < p <= 1/2: x with Q(x) = p, absolute error <= 2^-74
// Errors are those of the function at the double-double given.
#pragma once

#include "renyi/fp/double_double.hpp"

namespace renyi {

Scaled normal_density(DoubleDouble x) noexcept;

DoubleDouble mills(DoubleDouble x) noexcept;

// m = b - a > 0 is given apart, so that it keeps its relative accuracy; a >= 0 or m <= 2^-12.
Scaled mills_difference(DoubleDouble a, DoubleDouble b, const Scaled& m) noexcept;

Scaled normal_tail(DoubleDouble x) noexcept;

DoubleDouble normal_tail_inverse(double p) noexcept;

}  // namespace renyi
