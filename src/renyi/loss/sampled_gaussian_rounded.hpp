// The doubles nearest to log A(alpha) and to the Renyi divergence log A(alpha)/(alpha-1) of the sampled Gaussian, by
// Ziv's strategy: the trapezoidal sum in double-double with a proven bound of its error, some 2^-70 relatively. NaN where
// that does not decide the rounding, or outside of alpha > 1 (the divergence: >= 1), 1e-12 <= q < 1, 0.05 <= sigma <=
// 1e6 and what the exponents of doubles hold; more digits decide there.
#pragma once

namespace renyi {

double log_a_nearest(double q, double sigma, double alpha) noexcept;
double rdp_sampled_gaussian_nearest(double q, double sigma, double alpha) noexcept;

}  // namespace renyi
