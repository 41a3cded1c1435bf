// The privacy curve of a composition where it has a closed form: nothing released, Gaussian steps alone, one step of
// the directions of add/remove, and losses of Direction::add that end below epsilon.
#pragma once

#include <algorithm>
#include <cmath>
#include <optional>

#include "renyi/curve/sorted_steps.hpp"
#include "renyi/fp/bracket.hpp"
#include "renyi/fp/certified.hpp"
#include "renyi/loss/direction.hpp"
#include "renyi/transform/sampled_loss.hpp"

namespace renyi {

std::optional<Bracket> closed_delta(const SortedSteps& c, SampledPair pair, double epsilon) noexcept;
std::optional<Bracket> closed_epsilon(const SortedSteps& c, SampledPair pair, double delta) noexcept;

// mu carries the rounding of the sum of squares: (n + 8) u/2 relative, and half a unit where it is subnormal; both
// curves rise with it.
Bracket gaussian_bracket(const SortedSteps& c, auto curve) noexcept {
    const double mu = c.gaussian_mu, least = mu < 0x1p-1000 ? 0x1p-1073 : 0.0;
    const double error =
        c.is_single() ? 2.0 * kUnitRoundoff : (6.0 + static_cast<double>(c.steps.size())) * kUnitRoundoff;
    return {curve(std::max(mu * (1.0 - error) - least, 0.0)).lower, curve(mu * (1.0 + error) + least).upper};
}

// Of steps seen one by one; add/remove only.
inline Direction direction_of(SampledPair pair) noexcept {
    return pair == SampledPair::add ? Direction::add : Direction::remove;
}

}  // namespace renyi
