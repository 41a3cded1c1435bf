// Certified bounds of what a window and a bulk leave out.
#pragma once

#include <vector>

#include "renyi/transform/lattice/composed_loss.hpp"
#include "renyi/transform/lattice/loss_layout.hpp"

namespace renyi::lattice {

// Bounds the tilted mass at nodes beyond `node`, above it for s > 0 and below it for s < 0, by Markov's inequality
// P(N >= n) <= E e^(s (N - n)); without outcomes all in the bulk.
double mass_beyond(const std::vector<TiltedPart>& parts, std::int64_t lowest, std::int64_t node, double s);

// Outcomes all in the bulk give delta(epsilon) <= c e^(-slope epsilon): (1 - e^-x)_+ <= w e^(slope x), w the largest
// weight, so that c = w E[e^(slope L)].
LeftOut bound_left_out(const LossLayout& layout, const std::vector<std::size_t>& bulks, double slope);

}  // namespace renyi::lattice
