// Rényi-DP of Gaussian noise in closed form: of the mechanism itself, and a bound for the sampled mechanism.
#pragma once

#include "renyi/fp/certified.hpp"

namespace renyi {

// Renyi-DP of the Gaussian mechanism without sampling: D_alpha(N(1, sigma^2) || N(0, sigma^2)) = alpha / (2 sigma^2).
//
// Mironov 2017 (arXiv 1702.07476), Proposition 7. Domain: sigma in (0, inf], alpha >= 1; NaN outside; sigma = inf gives
// 0. The error is at most 0.51 ulp where the result is a normal double, one unit of the last place otherwise. The
// reported error is zero where the result is exact; relative_error is meaningful for normal results. The two functions
// below enclose the true value everywhere.
Certified rdp_gaussian(double sigma, double alpha) noexcept;

double rdp_gaussian_lower(double sigma, double alpha) noexcept;
double rdp_gaussian_upper(double sigma, double alpha) noexcept;

// The closed-form upper bound on the Renyi-DP of the sampled Gaussian mechanism: 2 q^2 alpha / sigma^2.
//
// Mironov, Talwar, Zhang 2019 (arXiv 1908.10530), Theorem 11: for q <= 1/5, sigma >= 4 and L = log(1 + 1/(q
// (alpha-1))),
//   (c1)  1 < alpha <= sigma^2 L / 2 - 2 log sigma
//   (c2)  alpha <= (sigma^2 L^2 / 2 - log 5 - 2 log sigma) / (L + log(q alpha) + 1/(2 sigma^2)).
// q up to the double nearest to 1/5 is accepted: it exceeds 1/5 by 1e-17, and the bound is three times too large there.
// q = 0 and sigma = inf are accepted: the mechanism releases nothing and the bound is 0.
// Returns the bound rounded up by at most 4 ulp, exact where it is a double; NaN where a condition fails or is within
// 1e-12 of failing.
double rdp_sampled_gaussian_bound(double q, double sigma, double alpha) noexcept;

enum class BoundCondition { first, second, both };

// The largest alpha for which the condition is proven to hold: the supremum of the permitted orders, rounded down
// (relative distance below 1e-11). NaN outside q in [0, 1/5], sigma >= 4; infinity where every order is permitted.
double largest_order_of_bound(double q, double sigma, BoundCondition condition = BoundCondition::both) noexcept;

}  // namespace renyi
