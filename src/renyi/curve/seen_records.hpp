// Bounds of the privacy curve of equal steps with so little noise that outputs tell for sure who was seen,
// Direction::remove: a binomial mean of the curves of Gaussian mechanisms.
#pragma once

#include "renyi/curve/sorted_steps.hpp"
#include "renyi/fp/bracket.hpp"
#include "renyi/transform/sampled_loss.hpp"

namespace renyi {

// Whether outputs tell that, and of how many: a line takes less where they are many.
enum class Seen { unknown, few, many };
Seen tells_seen_records(const SortedSteps& c, SampledPair pair) noexcept;

Bracket seen_records_delta(const SampledStep& step, double epsilon) noexcept;
Bracket seen_records_epsilon(const SampledStep& step, double delta) noexcept;  // within [0, inf]

}  // namespace renyi
