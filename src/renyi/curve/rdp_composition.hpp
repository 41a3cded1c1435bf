// The log moment generating function of a composition: K(alpha) = sum of count log A(q, sigma, alpha) over
// Poisson-sampled Gaussian steps, plus sum of count K_i(alpha) over Renyi curves of other mechanisms.
#pragma once

#include <span>

#include "renyi/fp/certified.hpp"
#include "renyi/loss/sampled_step.hpp"
#include "renyi/pair/renyi_curve.hpp"

namespace renyi {

struct WeightedCurve {
    const RenyiCurve* curve;
    double count;  // > 0
};

struct Composition {
    std::span<const SampledStep> steps;
    std::span<const WeightedCurve> curves;
};

// alpha in [1, 1e6]; infinite above the largest order of a curve. The relative error covers the rounding of the sum:
// all terms are >= 0.
Certified log_moment(const Composition& composition, double alpha) noexcept;
LogMoment log_moment_derivatives(const Composition& composition, double alpha) noexcept;

// Renyi divergence of order alpha >= 1: K/(alpha-1), or sum of the Kullback-Leibler divergences at alpha = 1.
Certified rdp(const Composition& composition, double alpha) noexcept;

// K is infinite above; infinity if there are only steps.
double largest_order(const Composition& composition) noexcept;

// Whether K is convex; see RenyiCurve.
bool is_convex(const Composition& composition) noexcept;

// A bound on the privacy loss, rounded up: the composition is that much epsilon-DP. Infinite where a step depends on
// the data.
double largest_loss(const Composition& composition) noexcept;

}  // namespace renyi
