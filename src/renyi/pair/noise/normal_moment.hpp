// The Rényi curve of a pair of Gaussian mixtures of one deviation, P = sum w_i N(m_i, 1) and Q = sum v_j N(n_j, 1):
// groups sampled in part, samples in which a record is replaced, and their reverses.
//
//     A(alpha) - 1 = int p^alpha q^{1-alpha} - q - alpha (p - q)  >= 0 pointwise
//
// by the trapezoidal rule, whose error for an integrand analytic on |Im x| <= a is at most 2/(e^{2 pi a/h} - 1) times
// its integral on the lines Im x = +-a. There |phi| grows by e^{a^2/2}, sums of e^{m x} with positive weights do not
// grow, and fall at most by cos(D a), D half the range of the means.
//
// Means far apart would take too many points. There one term of each mixture is as good as all: with
// |f| = (int |f|^alpha q)^(1/alpha), Minkowski's inequality and q >= v_j N(n_j)
//
//     A^(1/alpha) = |p/q| <= sum_i w_i |N(m_i)/q|,   |N(m_i)/q|^alpha <= min_j v_j^(1-alpha) e^{alpha (alpha-1)
//     (m_i-n_j)^2/2} KL <= sum_i w_i min_j (log 1/v_j + (m_i-n_j)^2/2)
#pragma once

#include <vector>

#include "renyi/loss/direction.hpp"
#include "renyi/pair/renyi_curve.hpp"

namespace renyi {

struct NormalComponent {
    double weight, mean;  // weight > 0
};
using NormalMixture = std::vector<NormalComponent>;

// The law of a sum of which m records, each sampled with probability q, move a standard normal by 1/sigma each: weights
// to 4u, and to 1e-307 where they are smaller, or left out where the mixture is to be no larger anywhere.
NormalMixture binomial_mixture(const SampledStep& step, bool leaves_out = false);

CurvePointer normal_mixture_moment(NormalMixture p, NormalMixture q);

// Gaussian noise on a Poisson sample: K = log A(q, sigma, alpha) of
// loss/sampled_gaussian.hpp, for bases of further steps (sampling, selection). Compositions of such steps alone have a
// faster road, curve/rdp_guarantee.hpp. In the other order of the neighbours K(alpha) = log A(q, sigma, 1 - alpha).
// Domain as there.
CurvePointer sampled_gaussian_curve(double q, double sigma, Direction direction = Direction::remove);

}  // namespace renyi
