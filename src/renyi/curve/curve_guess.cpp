#include "renyi/curve/curve_guess.hpp"

#include <algorithm>
#include <cmath>

#include "renyi/curve/closed_curve.hpp"
#include "renyi/curve/gaussian_curve.hpp"
#include "renyi/curve/plain_bounds.hpp"
#include "renyi/curve/saddle.hpp"
#include "renyi/curve/single_step.hpp"

namespace renyi {

namespace {

constexpr double kBulk = 0.5;  // of delta: beyond, saddle points are next to 0

// Of the loss without a tilt.
double variance_of(const SortedSteps& c, Direction direction) noexcept {
    return tilted_moment({c.steps, direction, kInfinity}, 0.0).second;
}

}  // namespace

double guess_log_delta(const SortedSteps& c, SampledPair pair, double epsilon) noexcept {
    const Direction direction = direction_of(pair);
    const double normal = -0.5 * epsilon * epsilon / variance_of(c, direction) - 5.0;
    const double large = std::log(std::max(plain_lower(c, direction, epsilon), kSmallestNormal));
    return std::max(large, std::isfinite(normal) ? normal : -700.0);
}

double guess_epsilon(const SortedSteps& c, SampledPair pair, double delta) noexcept {
    const Direction direction = direction_of(pair);
    if (direction == Direction::add && c.gaussian == 0.0) {
        const Bracket sure = quick_epsilon(c, direction, delta);
        if (delta > kBulk) {  // by the normal law of the same mean and variance
            const TiltedMoment at = tilted_moment({c.steps, direction, kInfinity}, 0.0);
            const double guess = at.first - 0.5 * at.second + gaussian_epsilon_guess(std::sqrt(at.second), delta);
            return std::clamp(guess, sure.lower, sure.upper);
        }
        const Saddle saddle = saddle_at_delta({c.steps, direction, kInfinity}, std::log(delta));
        return saddle.tilt > 0.0 ? std::clamp(saddle.epsilon(), sure.lower, sure.upper) : sure.upper;
    }
    const double one_way = gaussian_epsilon_guess(1.0, delta) * std::sqrt(variance_of(c, direction));
    const double normal = pair == SampledPair::replace_one ? 2.0 * one_way : one_way;
    double large = 0.0;
    for (const SampledStep& s : c.steps) {
        if (s.q == 1.0) continue;
        const double share = std::min(delta / s.count, 0.5);
        large = std::max(large, single_step_epsilon({s.q, s.sigma, direction}, share).upper);
    }
    const double guess = std::isfinite(normal) ? std::max(large, 0.8 * normal) : large;
    return guess;
}

}  // namespace renyi
