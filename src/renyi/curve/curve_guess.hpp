// Where a split sum is placed before anything better is known: roughly, one large loss or many small ones that are
// nearly normal. Nothing here is a bound.
#pragma once

#include "renyi/curve/sorted_steps.hpp"
#include "renyi/transform/sampled_loss.hpp"

namespace renyi {

double guess_log_delta(const SortedSteps& c, SampledPair pair, double epsilon) noexcept;
double guess_epsilon(const SortedSteps& c, SampledPair pair, double delta) noexcept;

}  // namespace renyi
