// The log moment generating function of a composition of Poisson-sampled Gaussian steps: K(alpha) = sum_i count_i log
// A(q_i, sigma_i, alpha).
#pragma once

#include <span>

#include "renyi/fp/certified.hpp"

namespace renyi {

struct SampledStep {
    double q, sigma, count;  // q = 1: the plain Gaussian mechanism
};

struct LogMoment {
    Certified value;
    double first, second;  // derivatives in alpha
};

// alpha in [1, 1e6]. The relative error covers the rounding of the sum: all terms are >= 0.
Certified log_moment(std::span<const SampledStep> steps, double alpha) noexcept;
LogMoment log_moment_derivatives(std::span<const SampledStep> steps, double alpha) noexcept;

// Renyi divergence of order alpha >= 1: K/(alpha-1), or sum of the Kullback-Leibler divergences at alpha = 1.
Certified rdp(std::span<const SampledStep> steps, double alpha) noexcept;

}  // namespace renyi
