// The privacy curve of the Gaussian mechanism, mu = sensitivity/sigma: Balle, Wang 2018 (arXiv 1805.06530), Theorem 8,
//     delta(eps) = Q(a) - e^eps Q(b),   a = eps/mu - mu/2,  b = eps/mu + mu/2,  Q(x) = P(N > x),
// for any real eps. Both directions of add/remove agree, and compositions add squares of mu.
//
// Domain: 0 <= mu <= inf, eps any number, 0 <= delta <= 1, 0 <= alpha <= 1; NaN outside. Relative errors are below
// u (1 + 2^-5) for normal results; below the smallest normal double nothing is claimed of the value, and the bounds are
// 0 and that double. Bounds are neighbouring doubles, but for eps(delta) and mu, where a few ulps may lie between them.
#pragma once

#include "renyi/fp/bracket.hpp"
#include "renyi/curve/curve_point.hpp"

namespace renyi {

Certified gaussian_delta(double mu, double eps) noexcept;
Bracket gaussian_delta_bounds(double mu, double eps) noexcept;

// eps with delta(eps) = delta, of either sign; -inf at delta = 1, inf at delta = 0.
Bracket gaussian_epsilon(double mu, double delta) noexcept;

// The largest mu with delta(eps) <= delta; NaN where none is, that is, where delta < 1 - e^eps.
Bracket gaussian_mu(double eps, double delta) noexcept;

// The trade-off function Phi(Phi^-1(1 - alpha) - mu) of Dong, Roth, Su 2022 (arXiv 1905.02383), Definition 2.6.
Certified gaussian_tradeoff(double mu, double alpha) noexcept;
Bracket gaussian_tradeoff_bounds(double mu, double alpha) noexcept;

// For the curves built on this one; the start of a search for delta(eps) = delta.
CurvePoint gaussian_curve_point(double mu, double eps) noexcept;
double gaussian_epsilon_guess(double mu, double delta) noexcept;

}  // namespace renyi
