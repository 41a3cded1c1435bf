// Privacy curves in closed form: of Gaussian noise, of one step, and of compositions that are either.
#pragma once

#include <algorithm>
#include <cmath>
#include <optional>

#include "renyi/curve/curve_root.hpp"
#include "renyi/fp/bracket.hpp"
#include "renyi/fp/certified.hpp"
#include "renyi/loss/sampled_gaussian.hpp"
#include "renyi/pair/composition.hpp"
#include "renyi/transform/sampled_loss.hpp"

namespace renyi {

// The privacy curve of the Gaussian mechanism, mu = sensitivity/sigma: Balle, Wang 2018 (arXiv 1805.06530), Theorem 8,
//     delta(eps) = Q(a) - e^eps Q(b),   a = eps/mu - mu/2,  b = eps/mu + mu/2,  Q(x) = P(N > x),
// for any real eps. Both directions of add/remove agree, and compositions add squares of mu.
//
// Domain: 0 <= mu <= inf, eps any number, 0 <= delta <= 1, 0 <= alpha <= 1; NaN outside. Relative errors are below
// u (1 + 2^-5) for normal results; below the smallest normal double nothing is claimed of the value, and the bounds are
// 0 and that double. Bounds are neighbouring doubles, but for eps(delta) and mu, where a few ulps may lie between them.
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
struct SingleStep {
    double q, sigma;
    Direction direction;
};

Certified single_step_delta(const SingleStep& step, double eps) noexcept;
Bracket single_step_delta_bounds(const SingleStep& step, double eps) noexcept;

// The smallest eps with delta(eps) <= delta, of either sign; -inf at delta = 1.
Bracket single_step_epsilon(const SingleStep& step, double delta) noexcept;

// The privacy curve of a composition where it has a closed form: nothing released, Gaussian steps alone, one step, and
// losses of Direction::add that end below epsilon.
std::optional<Bracket> closed_delta(const SortedSteps& c, SampledPair pair, double epsilon) noexcept;
std::optional<Bracket> closed_epsilon(const SortedSteps& c, SampledPair pair, double delta) noexcept;

// mu carries the rounding of the sum of squares: (n + 8) u/2 relative, and half a unit where it is subnormal; both
// curves rise with it.
Bracket gaussian_bracket(const SortedSteps& c, auto curve) noexcept {
    const double mu = c.gaussian_mu, least = mu < 0x1p-1000 ? 0x1p-1073 : 0.0;
    const double error =
        c.is_single() ? 2.0 * kUnitRoundoff : (6.0 + static_cast<double>(c.steps.size())) * kUnitRoundoff;
    return {curve(std::max(mu * (1.0 - error) - least, 0.0)).lower, curve(mu * (1.0 + error) + least).upper};
}

// The direction of a single step; not for replaced records.
inline Direction direction_of(SampledPair pair) noexcept {
    return pair == SampledPair::add ? Direction::add : Direction::remove;
}
inline SampledPair pair_of(Direction direction) noexcept {
    return direction == Direction::add ? SampledPair::add : SampledPair::remove;
}

}  // namespace renyi
