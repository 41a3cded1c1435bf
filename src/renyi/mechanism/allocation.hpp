// The two directions of random allocation: moments of r = (1/t) sum_i exp(c z_i - c^2/2), z_i standard normal.
//
// Remove, E[r^n]: the mean of exp(c^2/2 sum_i k_i (k_i-1)) over n balls thrown into t bins, k_i in bin i. Without the
// part that cancels, d_s(n) = that mean for s bins, less 1, has d_1(n) = expm1(c^2 n (n-1)/2) and
//     d_{s+s'}(n) = sum_k Bin(k; n, s/(s+s')) (d_s(k) + d_s'(n-k) + d_s(k) d_s'(n-k)),
// every term >= 0; t is reached by doubling and adding one.
//
// Add, E[r^-b]: with phi(x) = E exp(-x X) of one summand X, E[e^{-sr}] = phi(s/t)^t and
//     E[r^-b] - 1 = 1/Gamma(b) int_0^inf s^{b-1} (phi(s/t)^t - e^{-s}) ds,
// where phi(s/t)^t >= e^{-s} as E[r] = 1. In log s by the trapezoidal rule; phi by another.
#pragma once

#include <cstdint>
#include <vector>

#include "renyi/fp/certified.hpp"

namespace renyi {

// log E[r^n] for n = 0 .. last; 0 < c <= 16.
std::vector<Certified> allocation_remove(double c, std::int64_t steps, int last);

// Upper bounds of log E[r^-b] for b = 1 .. last-1, at index b+1, no better than `enough` has them already.
std::vector<double> allocation_add(double c, std::int64_t steps, const std::vector<Certified>& enough);

}  // namespace renyi
