// Bounds of the privacy curve of a composition that need no transform on a line: Chernoff's, basic composition, and
// single events. They hold for both directions of add/remove, at every epsilon, and are seldom narrow.
#pragma once

#include "renyi/curve/sorted_steps.hpp"
#include "renyi/fp/bracket.hpp"
#include "renyi/loss/direction.hpp"
#include "renyi/transform/sampled_loss.hpp"

namespace renyi {

double chernoff_delta(const SortedSteps& c, Direction direction, double epsilon) noexcept;

// delta(epsilon) is between them.
double plain_lower(const SortedSteps& c, Direction direction, double epsilon) noexcept;
double plain_upper(const SortedSteps& c, Direction direction, double epsilon) noexcept;

// An upper bound of delta(0), the total variation, which tells where epsilon is 0.
double delta_at_zero_above(const SortedSteps& c, SampledPair pair) noexcept;

// Of epsilon: what takes no search, and what does.
Bracket quick_epsilon(const SortedSteps& c, Direction direction, double delta) noexcept;
Bracket plain_epsilon(const SortedSteps& c, Direction direction, double delta) noexcept;

}  // namespace renyi
