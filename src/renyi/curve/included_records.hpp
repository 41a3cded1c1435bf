// Bounds of the privacy curve of equal steps with so little noise that outputs nearly reveal whether the record was in
// the sample, where it is removed or replaced: a binomial mean of the curves of Gaussian mechanisms, and what overlaps.
#pragma once

#include <limits>

#include "renyi/curve/sorted_steps.hpp"
#include "renyi/fp/bracket.hpp"
#include "renyi/transform/sampled_loss.hpp"

namespace renyi {

// Whether outputs reveal that, and of how many steps with the record: a line takes less where they are many.
enum class Inclusions { unknown, few, many };
// `goal`: what is sought to its digits, delta or 1 - delta.
constexpr double kLeastGoal = std::numeric_limits<double>::denorm_min();
Inclusions revealed_inclusions(const SortedSteps& c, SampledPair pair, double goal) noexcept;

Bracket included_records_delta(const SampledStep& step, SampledPair pair, double epsilon);
Bracket included_records_epsilon(const SampledStep& step, SampledPair pair, double delta);  // within [0, inf]

}  // namespace renyi
