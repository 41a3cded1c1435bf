// Bounds of the privacy curve of equal steps with little noise, Direction::remove, whose outputs tell whether the
// record was in the sample: delta is nearly a binomial mean of curves of Gaussian mechanisms.
#pragma once

#include "renyi/fp/bracket.hpp"
#include "renyi/loss/sampled_step.hpp"

namespace renyi {

// Whether an output tells it: `all`, the bounds are narrow; `nothing`, they hold but are too wide to be of use.
enum class Telling { nothing, most, all };
Telling telling_of(const SampledStep& step) noexcept;

Bracket seen_records_delta(const SampledStep& step, double epsilon) noexcept;
Bracket seen_records_epsilon(const SampledStep& step, double delta) noexcept;  // within [0, inf]

}  // namespace renyi
