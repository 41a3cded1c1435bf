// One pass of projected noisy stochastic gradient descent, with one record per step:
//     w_t = Proj_K(w_{t-1} - eta grad l(w_{t-1}, x_t) + eta Z_t),   t = 1 ... n,  only w_n is released.
// Z_t is N(0, s_t^2) in each coordinate, or Laplace of density e^{-|x|/s_t}/(2 s_t) in one dimension.
//
// E_g(P||Q) = sup_S P(S) - g Q(S), g = e^eps, is delta. If the record of step i alone differs,
//     delta_i <= A_i B_{i+1} ... B_n,   A_i = theta(2L/s_i),   B_t = theta(M D/(eta s_t)),
// where theta(r) = E_g of two laws of the noise of scale 1 at distance r. A_i: gradients differ by 2L at most. B_t is
// the contraction coefficient of the step's kernel (Asoodeh, Diaz, Calmon 2020): a step without noise moves points of
// K, of diameter D, to a distance of at most M D; projection is post-processing. Sordello, Bu, Dong 2021 (arXiv
// 2106.11767).
//
// Domain of every function here: shifts and scales in [1e-150, 1e150], a state shift of 0 too, eps >= 0. All results
// are rounded outward: delta upward.
//
// For a pass over records in a fixed order, each step with noise of its own scale, delta_i = A_i B_{i+1} ... B_n for
// the record of step i.
//
// delta_i is A_i e^-S with S a sum of -log B_t >= 0, in which the rounding error of every 16 terms is carried along: S
// has a relative error of 20u, and delta is too large by at most (24 S + 20) u of itself, beside the errors of the
// terms. Memory is constant except for the results.
#pragma once

#include <cstdint>

namespace renyi {

enum class NoiseLaw { gaussian, laplace };

struct IterationSetting {
    NoiseLaw law;
    double epsilon;
    double record_shift;  // 2 L; the argument of theta is 2 L/s
    double state_shift;   // M D/eta
};

// Bounds of theta(r), r = shift/scale. Where they underflow, the upper bound is the smallest normal number and the
// lower bounds are 0.
struct StepDivergence {
    double upper;             // >= theta
    double complement_lower;  // <= 1 - theta
    double decay_lower;       // <= -log theta; inf where theta is 0
};

StepDivergence step_divergence(NoiseLaw law, double epsilon, double shift, double scale) noexcept;

// Noise scales of the steps 1, 2, 3, ...: given, constant, or decaying so slowly that the product of the contraction
// coefficients stays positive (Sordello, Bu, Dong 2021):
//     Laplace:  amplitude / log(j^a/C1 + C2)                      Gaussian:  amplitude / sqrt(W(j^{2a}/(2 pi C1^2) +
//     C2))
// W is Lambert's function. With amplitude = M D/(2 eta) and one scale for a pass of n steps, a = 1 at j = n gives their
// v(n) and sigma(n): n (1 - B) tends to C1 e^{eps/2}, and to twice that. a > 1 gives their v_j and sigma_j.
//
// Domain: a in {0} and [1, 100], C1 in [1e-100, 1e100], C2 in [1, 1e100] for Laplace and [0, 1e100] for Gaussian noise,
// j in [1, 1e300], amplitude in [1e-150, 1e150]. Scales have a relative error of 2^-44 (a log j is rounded, which moves
// j^a as much); guarantees hold for the doubles returned.

struct NoiseSchedule {
    const double* scales;  // given scales, scales[j - 1] for step j; null for a formula
    NoiseLaw law;
    double amplitude;
    double power;  // a; with a = 0 the amplitude is the scale of every step
    double c1, c2;
};

// Writes the scales of `count` steps first, first + 1, ...
void step_scales(const NoiseSchedule& schedule, double first, int count, double* scales) noexcept;

struct WorstStep {
    double delta;
    std::int64_t index;  // number of the step, from 1; of several with the same delta the last
};

// Writes delta_1 ... delta_n to out.
void online_deltas(const IterationSetting& setting, const NoiseSchedule& schedule, std::int64_t n, double* out);

// Returns the largest of delta_1 ... delta_n. The search goes backward and stops once no earlier delta_i can exceed the
// largest so far, as delta_i <= A B_{i+1} ... B_n, A the largest of all A_i: that of step n for a schedule, whose
// scales do not rise.
WorstStep online_worst(const IterationSetting& setting, const NoiseSchedule& schedule, std::int64_t n);

// Writes delta_i after each of `count` increasing numbers of steps n[k] >= i.
void online_delta(const IterationSetting& setting, const NoiseSchedule& schedule, std::int64_t i, const std::int64_t* n,
                  std::int64_t count, double* out);

// Returns an upper bound of delta_i for every n, by its limit, for a schedule. -log B_t falls in t and is convex from
// some t on, so beyond the first steps the sum over p < t <= q is at least q - p times its last or its middle term;
// q - p grows with p.
double online_limit(const IterationSetting& setting, const NoiseSchedule& schedule, std::int64_t i);

// For a pass over records in random order with noise of one scale, the record that differs is at each step with the
// same probability and E_g is jointly convex, so
//     delta <= A (1 + B + ... + B^{n-1})/n = A (1 - B^n)/(n (1 - B))     (Sordello, Bu, Dong 2021).

// Returns this bound rounded up, by less than 2^-46 of it for normal numbers; n in [1, 2^53].
double shuffled_delta(const IterationSetting& setting, double scale, double n) noexcept;

}  // namespace renyi
