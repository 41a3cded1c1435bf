// Bounds of the privacy curve where records are replaced on Poisson samples, P = (1-q) R + q N(1, sigma^2) and Q =
// (1-q) R
// + q N(-1, sigma^2) with R = N(0, sigma^2), from those of records that are added or removed. Gaussian steps have their
// noise halved.
//   Hoelder    E_P[(P/Q)^t] <= E_R[(P/R)^{2+2t}]^{1/2} E_R[(R/Q)^{2t}]^{1/2}, both orders of A, for Chernoff's bound
//   convexity  one step: delta(eps) <= q delta_G(2/sigma; eps), and basic composition
#pragma once

#include "renyi/curve/sorted_steps.hpp"

namespace renyi {

double replaced_delta_above(const SortedSteps& c, double epsilon) noexcept;
double replaced_epsilon_above(const SortedSteps& c, double delta) noexcept;

}  // namespace renyi
