// Renyi-DP of the Gaussian mechanism without sampling: D_alpha(N(1, sigma^2) || N(0, sigma^2)) = alpha / (2 sigma^2).
//
// Mironov 2017 (arXiv 1702.07476), Proposition 7. Domain: sigma in (0, inf], alpha >= 1; NaN outside; sigma = inf gives
// 0. Within 0.51 ulp where the result is a normal double, one unit of the last place otherwise; zero error is reported
// where the result is exact.
#pragma once

#include "renyi/fp/certified.hpp"

namespace renyi {

// relative_error is meaningful for normal results; the two functions below enclose the truth everywhere.
Certified rdp_gaussian(double sigma, double alpha) noexcept;

double rdp_gaussian_lower(double sigma, double alpha) noexcept;
double rdp_gaussian_upper(double sigma, double alpha) noexcept;

}  // namespace renyi
