#include "renyi/curve/closed_curve.hpp"

#include "renyi/curve/gaussian_curve.hpp"
#include "renyi/curve/single_step.hpp"

namespace renyi {

namespace {

// Replaced records leave the form of a single sampled step.
bool is_closed_step(const SortedSteps& c, SampledPair pair) noexcept {
    return pair != SampledPair::replace_one && c.is_single();
}

}  // namespace

std::optional<Bracket> closed_delta(const SortedSteps& c, SampledPair pair, double epsilon) noexcept {
    if (epsilon == kInfinity) return Bracket{0.0, 0.0};
    if (c.steps.empty()) {
        const double value = epsilon < 0.0 ? -std::expm1(epsilon) : 0.0;
        return Bracket{value * (1.0 - 4.0 * kUnitRoundoff), value * (1.0 + 4.0 * kUnitRoundoff)};
    }
    if (c.only_gaussian) return gaussian_bracket(c, [&](double mu) { return gaussian_delta_bounds(mu, epsilon); });
    if (is_closed_step(c, pair))
        return single_step_delta_bounds({c.steps[0].q, c.steps[0].sigma, direction_of(pair)}, epsilon);
    if (pair == SampledPair::add && epsilon >= c.largest_loss) return Bracket{0.0, 0.0};
    return std::nullopt;
}

std::optional<Bracket> closed_epsilon(const SortedSteps& c, SampledPair pair, double delta) noexcept {
    if (c.steps.empty() || delta == 1.0) return Bracket{0.0, 0.0};
    if (delta == 0.0) {  // only a record that was added has a largest loss
        const double largest = pair == SampledPair::add ? c.largest_loss : kInfinity;
        return Bracket{largest, largest};
    }
    if (c.only_gaussian) return gaussian_bracket(c, [&](double mu) { return gaussian_epsilon(mu, delta); });
    if (is_closed_step(c, pair))
        return single_step_epsilon({c.steps[0].q, c.steps[0].sigma, direction_of(pair)}, delta);
    return std::nullopt;
}

}  // namespace renyi
