// The Rényi curve of a pair of Gaussian mixtures of one deviation, P = sum w_i N(m_i, 1) and Q = sum v_j N(n_j, 1):
// groups sampled in part, samples in which a record is replaced, and their reverses.
//
//     A(alpha) - 1 = int p^alpha q^{1-alpha} - q - alpha (p - q)  >= 0 pointwise
//
// is integrated by the trapezoidal rule, whose error for an integrand analytic on |Im x| <= a is at most
// 2/(e^{2 pi a/h} - 1) times its integral on the lines Im x = +-a. There |phi| grows by e^{a^2/2}; sums of e^{m x} with
// positive weights do not grow, and fall at most by cos(D a), D half the range of the means.
//
// Means far apart would take too many points. There one term of each mixture is nearly all of it: with
// |f| = (int |f|^alpha q)^(1/alpha), Minkowski's inequality and q >= v_j N(n_j)
//
//     A^(1/alpha) = |p/q| <= sum_i w_i |N(m_i)/q|,   |N(m_i)/q|^alpha <= min_j v_j^(1-alpha) e^{alpha (alpha-1)
//     (m_i-n_j)^2/2} KL <= sum_i w_i min_j (log 1/v_j + (m_i-n_j)^2/2)
#pragma once

#include <vector>

#include "renyi/loss/sampled_gaussian.hpp"
#include "renyi/pair/renyi_curve.hpp"

namespace renyi {

struct NormalComponent {
    double weight, mean;  // weight > 0
};
using NormalMixture = std::vector<NormalComponent>;

// The law of a standard normal that m records, each sampled with probability q, move by 1/sigma each. Weights have an
// error of 4u. Weights below 1e-307 are raised to it, or left out (`leaves_out`) where the mixture must not be larger
// anywhere.
NormalMixture binomial_mixture(const SampledStep& step, bool leaves_out = false);

CurvePointer normal_mixture_moment(NormalMixture p, NormalMixture q);

// The curve of Gaussian noise on a Poisson sample: K = log A(q, sigma, alpha) of loss/sampled_gaussian.hpp, with the
// domain stated there, as a base of further steps (sampling, selection). Compositions of such steps alone are faster
// with curve/rdp_guarantee.hpp. In the other order of the neighbours K(alpha) = log A(q, sigma, 1 - alpha).
CurvePointer sampled_gaussian_curve(double q, double sigma, Direction direction = Direction::remove);

}  // namespace renyi
