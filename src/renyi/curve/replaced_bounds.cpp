#include "renyi/curve/replaced_bounds.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "renyi/curve/closed_curve.hpp"
#include "renyi/curve/gaussian_curve.hpp"
#include "renyi/curve/saddle.hpp"
#include "renyi/fp/golden_section.hpp"

namespace renyi {

namespace {

constexpr double kFirstTilt = -14.0, kLastTilt = 67.0, kTiltError = 1e-10;  // of its logarithm
constexpr double kSmallest = std::numeric_limits<double>::denorm_min();
constexpr double kUnseen = 40.0, kLeastLogDelta = -760.0;

// log E_P[(P/Q)^t] of the sum over outputs up to the limit, rounded up. Of a Gaussian step it is no more than this,
// too.
TiltedMoment moment_above(const SortedSteps& c, double limit, double t) noexcept {
    const TiltedMoment gained = tilted_moment({c.steps, Direction::remove, limit}, 2.0 * t + 1.0);
    const TiltedMoment lost = tilted_moment({c.steps, Direction::add, kInfinity}, 2.0 * t);
    return {0.5 * (gained.value + lost.value), 0.5 * (gained.error + lost.error), 0.0, 0.0};
}

double number_of(const SortedSteps& c) noexcept {
    double number = c.gaussian > 0.0 ? 1.0 : 0.0;
    for (const SampledStep& s : c.steps) number += s.q < 1.0 ? s.count : 0.0;
    return number;
}

double composed_delta(const SortedSteps& c, double epsilon) noexcept {
    const double share = epsilon / number_of(c) * (1.0 - 0x1p-50);
    double sum =
        c.gaussian > 0.0 ? gaussian_bracket(c, [&](double mu) { return gaussian_delta_bounds(mu, share); }).upper : 0.0;
    for (const SampledStep& s : c.steps)
        if (s.q < 1.0) sum += s.count * s.q * gaussian_delta_bounds(2.0 / s.sigma * (1.0 + 0x1p-50), share).upper;
    return sum * (1.0 + 0x1p-48);
}

double composed_epsilon(const SortedSteps& c, double delta) noexcept {
    const double share = delta / number_of(c) * (1.0 - 0x1p-50);
    const auto positive = [](double epsilon) { return std::max(epsilon, 0.0); };
    double sum = c.gaussian > 0.0
                     ? positive(gaussian_bracket(c, [&](double mu) { return gaussian_epsilon(mu, share); }).upper)
                     : 0.0;
    for (const SampledStep& s : c.steps) {
        const double own = std::min(share / s.q * (1.0 - 0x1p-50), 1.0);
        if (s.q < 1.0) sum += s.count * positive(gaussian_epsilon(2.0 / s.sigma * (1.0 + 0x1p-50), own).upper);
    }
    return sum * (1.0 + 0x1p-48);
}

}  // namespace

double replaced_delta_above(const SortedSteps& c, double epsilon) noexcept {
    const double limit = limit_for(c.steps, kLeastLogDelta), rest = mass_beyond(c.steps, limit);
    const Least least = golden_section(kFirstTilt, kLastTilt, kTiltError, [&](double x) {
        const double t = std::exp(x);
        return std::log(chernoff_delta({t, moment_above(c, limit, t)}, epsilon));
    });
    // Below the normal numbers the exponential and what is left out are right to one of the smallest double each.
    const double chernoff = std::exp(least.value) * (1.0 + 1e-12) + rest + 3.0 * kSmallest;
    return std::min(std::fmin(chernoff, composed_delta(c, epsilon)), 1.0);
}

double replaced_epsilon_above(const SortedSteps& c, double delta) noexcept {
    const double limit = limit_for(c.steps, std::log(delta) - kUnseen);
    const double rest = (delta - mass_beyond(c.steps, limit)) * (1.0 - 0x1p-50);
    const Least chernoff = golden_section(kFirstTilt, kLastTilt, kTiltError, [&](double x) {
        const double t = std::exp(x);
        return rest > kSmallestNormal ? chernoff_epsilon({t, moment_above(c, limit, t)}, rest) : kInfinity;
    });
    return std::fmin(chernoff.value, composed_epsilon(c, delta));
}

}  // namespace renyi
