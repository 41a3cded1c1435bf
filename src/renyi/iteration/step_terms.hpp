// One pass of projected noisy stochastic gradient descent, a record a step:
//     w_t = Proj_K(w_{t-1} - eta grad l(w_{t-1}, x_t) + eta Z_t),   t = 1 ... n,  only w_n is released.
// Z_t is N(0, s_t^2) in each coordinate, or Laplace of density e^{-|x|/s_t}/(2 s_t) in one dimension.
//
// E_g(P||Q) = sup_S P(S) - g Q(S), g = e^eps, is delta. Records that differ in step i alone leave
//     delta_i <= A_i B_{i+1} ... B_n,   A_i = theta(2L/s_i),   B_t = theta(M D/(eta s_t)),
// theta(r) = E_g of two laws of the noise of scale 1 at distance r: A_i, since gradients differ by 2L at most, and B_t,
// the contraction coefficient of the step's kernel (Asoodeh, Diaz, Calmon 2020), since a step without noise moves
// points of K, of diameter D, to at most M D of each other; projection is post-processing. Sordello, Bu, Dong 2021
// (arXiv 2106.11767).
//
// Domain of every function here: shifts and scales in [1e-150, 1e150], a state shift of 0 too, eps >= 0. All results
// are rounded outward: delta upward.
#pragma once

#include <algorithm>
#include <cmath>

#include "renyi/fp/certified.hpp"
#include "renyi/fp/double_double.hpp"
#include "renyi/special/elementary.hpp"

namespace renyi {

enum class NoiseLaw { gaussian, laplace };

struct IterationSetting {
    NoiseLaw law;
    double epsilon;
    double record_shift;  // 2 L, which theta sees as 2 L/s
    double state_shift;   // M D/eta
};

// theta(r) with r = shift/scale. Beyond the range of double: the smallest normal number above, 0 below.
struct StepDivergence {
    double upper;             // >= theta
    double complement_lower;  // <= 1 - theta
    double decay_lower;       // <= -log theta; inf where theta is 0
};

// Two normal laws of standard deviation s at distance d, r = d/s (Balle, Wang 2018, Theorem 8):
//     theta = Q(a) - e^eps Q(b) = phi(a) (R(a) - R(b)),   1 - theta = phi(a) (R(-a) + R(b)),
//     a = eps/r - r/2,  b = eps/r + r/2,  R = Q/phi,
// right to a few u however small theta or 1 - theta is.

StepDivergence gaussian_step(double epsilon, double shift, double scale) noexcept;

// Two Laplace laws of scale s at distance d: theta = (1 - e^x)_+, x = (eps - d/s)/2.
//
// In a block r = d (1/s) is off by 2u, and eps - r is rounded: together with the halves less than 2u (r + eps), by
// which x is moved down, so that e^x, 4u, is a lower bound of 1 - theta.

RENYI_INLINE double laplace_exponent(double epsilon, double r) noexcept {
    return 0.5 * (epsilon - r) - 0x1p-52 * (r + epsilon);
}

// <= 1 - theta, at the exponent x rounded down.
RENYI_INLINE double laplace_complement(double x) noexcept {
    const double value = lane_exp(x < 0.0 ? x : 0.0) * lowered(6);
    return x < 0.0 ? value : 1.0;
}

// Here r is carried to twice the precision, so that theta keeps its relative accuracy where eps is near r, and is 0
// where eps >= r: eps - r is exact where it cancels, and what r leaves over is right to u of itself. expm1: 6u,
// log: 2u; the error of the logarithm's argument counts once where theta < 1/2.
inline StepDivergence laplace_step(double epsilon, double shift, double scale) noexcept {
    if (epsilon == kInfinity) return {0.0, 1.0, kInfinity};
    const double r = shift / scale;
    const DoubleDouble back = two_prod(r, scale);
    const double low = ((shift - back.hi) - back.lo) / scale;
    const double centre = 0.5 * ((epsilon - r) - low);
    const double x = centre - (0x1p-50 * std::fabs(centre) + 0x1p-51 * std::fabs(low));
    if (!(x < 0.0)) return {0.0, 1.0, kInfinity};
    const double theta = std::clamp(-lane_expm1(x) * raised(14), kSmallestNormal, 1.0);
    const double complement = laplace_complement(x);
    const double decay = complement < 0.5 ? -lane_log1p(-complement) : -lane_log(theta);
    return {theta, complement, std::max(decay * lowered(30), 0.0)};
}

// theta of many steps at once, as StepDivergence of each.

constexpr int kStepBlock = 256;

StepDivergence step_divergence(NoiseLaw law, double epsilon, double shift, double scale) noexcept;

// 1/scale, an argument of the two functions below.
void inverse_scales(const double* scales, int count, double* inverse) noexcept;

// start[k] >= A and decay[k] <= -log B of steps with these scales, k < count <= kStepBlock.
void step_starts(const IterationSetting& setting, const double* scales, const double* inverse, int count,
                 double* start) noexcept;
void step_decays(const IterationSetting& setting, const double* scales, const double* inverse, int count,
                 double* decay) noexcept;

}  // namespace renyi
