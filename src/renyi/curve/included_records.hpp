// Bounds of the privacy curve of equal steps with so little noise that outputs nearly reveal whether the record was in
// the sample. The record is removed or replaced. The bounds are a binomial mean of the curves of Gaussian mechanisms,
// and a bound of what overlaps.
#pragma once

#include <limits>

#include "renyi/fp/bracket.hpp"
#include "renyi/pair/composition.hpp"
#include "renyi/transform/sampled_loss.hpp"

namespace renyi {

// Whether outputs reveal the inclusions, and how many there are: where they are many an inclusion line takes less time.
enum class Inclusions { unknown, few, many };
// `goal`: delta or 1 - delta, whichever is sought to its digits.
constexpr double kLeastGoal = std::numeric_limits<double>::denorm_min();
Inclusions revealed_inclusions(const SortedSteps& c, SampledPair pair, double goal) noexcept;

Bracket included_records_delta(const SampledStep& step, SampledPair pair, double epsilon);
Bracket included_records_epsilon(const SampledStep& step, SampledPair pair, double delta);  // within [0, inf]

}  // namespace renyi
