// The quadrature route inside the open domain: 0 < q < 1, 0 < sigma < inf, alpha >= 1 or alpha < 0 (see
// sampled_gaussian.hpp).
#pragma once

#include "renyi/loss/sampled_gaussian.hpp"

namespace renyi {

// The derivatives are void unless asked for.
LogADerivatives log_a_by_quadrature(double q, double sigma, double alpha, bool derivatives) noexcept;

// The limit log A(alpha)/(alpha-1) as alpha -> 1: the Kullback-Leibler divergence of mu from mu0.
Certified kullback_leibler_by_quadrature(double q, double sigma) noexcept;

}  // namespace renyi
