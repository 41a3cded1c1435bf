// The privacy curve of one step of the Poisson-sampled Gaussian mechanism at sensitivity 1, in closed form.
//
// mu0 = N(0, sigma^2), mu = (1-q) mu0 + q N(1, sigma^2); Direction::remove is the pair (mu, mu0), Direction::add is
// (mu0, mu). With delta_G the curve of the Gaussian mechanism and v(eps) = log(1 + (e^eps - 1)/q), for eps >= 0
//     remove   delta(eps) = q delta_G(v(eps))
//     add      delta(eps) = e^eps y delta_G(log(q/y)),   y = q + e^-eps - 1;   0 where y <= 0
// (Balle, Barthe, Gaboardi 2018, Theorem 2, for the first) and for eps < 0 the duality delta_add(-eps) = 1 - e^-eps +
// e^-eps delta_remove(eps), both ways round. All sums are of terms >= 0 but for y, whose rounding is carried into the
// error.
//
// Domain: q = 0 or in [1e-100, 1], sigma in [1e-100, inf], eps any number, delta in [0, 1]; NaN outside. The bounds
// are neighbouring doubles except where eps is within about 2^-30 of -log(1-q), the end of the losses of `add`; below
// the smallest normal double they are 0 and that double.
#pragma once

#include "renyi/fp/bracket.hpp"
#include "renyi/loss/direction.hpp"

namespace renyi {

struct SingleStep {
    double q, sigma;
    Direction direction;
};

Certified single_step_delta(const SingleStep& step, double eps) noexcept;
Bracket single_step_delta_bounds(const SingleStep& step, double eps) noexcept;

// The smallest eps with delta(eps) <= delta, of either sign; -inf at delta = 1.
Bracket single_step_epsilon(const SingleStep& step, double delta) noexcept;

}  // namespace renyi
