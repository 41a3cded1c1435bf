#include "renyi/curve/saddle.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "renyi/fp/bracket.hpp"
#include "renyi/fp/search.hpp"
#include "renyi/loss/sampled_gaussian_quadrature.hpp"

namespace renyi {

namespace {

constexpr double kTwoPi = 2.0 * std::numbers::pi;
// Tuning: these affect width and time, not validity, since every tilt gives a bound.
constexpr int kMostTurns = 80;
constexpr double kSmallestStart = 1e-12;
constexpr double kNear = 0.1, kNearInteger = 0.7;  // in widths of the peak, 1/sqrt(F'')
constexpr double kReached = 1.01, kShortOf = 0.85;
constexpr double kMargin = 2.0;        // distance before a limit within which tilted laws die down
constexpr double kLargestOrder = 1e6;  // of log_a_derivatives
constexpr double kDepth = 43.0;        // a share e^-43 of the tilted law beyond the limit is negligible

// If the tilted law ends well before the limit, the derivatives are those of the whole law.
LogADerivatives derivatives_of(const SampledStep& s, double order, double limit) noexcept {
    if (order > 0.0 && order < 1.0) return log_a_between(s.q, s.sigma, order);
    if (order < -kLargestOrder && s.q < 1.0) return log_a_by_quadrature(s.q, s.sigma, order, true);
    const double distance = limit - order / s.sigma;
    const bool ends = distance > std::sqrt(2.0 * (kDepth + std::log(std::max(s.count, 1.0))));
    if (order <= 1.0 || s.q == 1.0 || limit == kInfinity || (ends && order <= kLargestOrder))
        return log_a_derivatives(s.q, s.sigma, order);
    return log_a_below(s.q, s.sigma, order, limit);
}

bool is_integer_order(double order) noexcept { return order >= 2.0 && order <= 64.0 && order == std::floor(order); }

bool is_known_well(const LossSum& loss, double tilt) noexcept {
    return loss.direction == Direction::remove && is_integer_order(1.0 + tilt);
}

// Log A is right to a few u at integer orders, so a nearby integer order is preferred.
double near_integer(const LossSum& loss, double tilt, double curvature) noexcept {
    const double t = std::nearbyint(tilt);
    const bool near = std::fabs(t - tilt) * std::sqrt(curvature) < kNearInteger;
    return near && is_known_well(loss, t) ? t : tilt;
}

// Halves the bracket in the logarithm where Newton's step leaves it, or where the moment could not be had.
double next_tilt(double newton, double low, double high) noexcept {
    if (newton > low && newton < high) return newton;
    return high < kInfinity ? std::sqrt(std::max(low, 1e-3 * high) * high) : 4.0 * low;
}

// A starting value for the search: the variance of the loss at t = 0 where it is small, and a rough size elsewhere.
double rough_variance(const LossSum& loss) noexcept {
    double sum = 0.0;
    for (const SampledStep& s : loss.steps) {
        const double square = 1.0 / (s.sigma * s.sigma);
        sum += s.count * s.q * std::min(s.q * std::expm1(square), square * (1.0 + 0.25 * square));
    }
    return sum;
}

}  // namespace

double exact_tilt(Direction direction, double t) noexcept {
    if (direction == Direction::add) return t;
    return t < 0.0 ? std::min((1.0 + t) - 1.0, -0x1p-53) : std::max((1.0 + t) - 1.0, 0x1p-52);
}

TiltedMoment tilted_moment(const LossSum& loss, double t) noexcept {
    const double order = order_of(loss.direction, t), sign = loss.direction == Direction::remove ? 1.0 : -1.0;
    TiltedMoment m{};
    double size = 0.0;  // terms are negative where a limit cuts off most of the law
    for (const SampledStep& s : loss.steps) {
        LogADerivatives d = derivatives_of(s, order, loss.limit);
        if (std::isinf(loss.limit) && s.q < 1.0 && is_integer_order(order)) {
            const Certified binomial = log_a_binomial(s.q, s.sigma, order);
            if (binomial.relative_error < d.value.relative_error) d.value = binomial;
        }
        m.value += s.count * d.value.value;
        size += s.count * std::fabs(d.value.value);
        m.error += s.count * std::fabs(d.value.value) * d.value.relative_error;
        m.first += sign * s.count * d.first;
        m.second += s.count * d.second;
    }
    m.error += size * kUnitRoundoff * (2.0 + static_cast<double>(loss.steps.size()));
    return m;
}

double limit_for(std::span<const SampledStep> steps, double log_mass) noexcept {
    double limit = 0.0;
    for (const SampledStep& s : steps) {
        const double share = log_mass - std::log(static_cast<double>(steps.size())) - std::log(s.count);
        const double alone = std::sqrt(2.0 * std::max(-share, 1.0));
        const double moved = 1.0 / s.sigma + std::sqrt(2.0 * std::max(std::log(s.q) - share, 1.0));
        limit = std::max(limit, std::max(alone, moved) + kMargin);
    }
    return limit;
}

// Q(x) <= e^{-x^2/2} / 2 for x >= 0.
double mass_beyond(std::span<const SampledStep> steps, double limit) noexcept {
    double mass = 0.0;
    for (const SampledStep& s : steps) {
        const double moved = std::max(limit - 1.0 / s.sigma, 0.0);
        mass += s.count * (std::exp(-0.5 * limit * limit) + s.q * std::exp(-0.5 * moved * moved));
    }
    return 0.5 * mass * (1.0 + 1e-9);
}

double Saddle::log_estimate() const noexcept {
    const double poles = std::log(std::fabs(tilt)) + std::log1p(tilt);
    return at.value - tilt * epsilon() - poles - 0.5 * std::log(kTwoPi * curvature());
}

namespace {

// The saddle point lies beyond the largest tilt in reach. Returns a tilt a little below that one.
Saddle short_of(const LossSum& loss, double reach) noexcept {
    if (reach == 0.0) return {};
    Saddle s{exact_tilt(loss.direction, kShortOf * reach), {}, true};
    s.at = tilted_moment(loss, s.tilt);
    return s;
}

// Newton's steps, kept within a bracket, until they are short against the width of the peak of e^-F.
template <class Step>
Saddle search(const LossSum& loss, double start, Step newton_step) noexcept {
    Saddle s{std::clamp(start, kSmallestStart, kLargestTilt)};
    double low = 0.0, high = kInfinity;
    for (int turn = 0; turn < kMostTurns; ++turn) {
        s.tilt = exact_tilt(loss.direction, s.tilt);
        s.at = tilted_moment(loss, s.tilt);
        const double curvature = s.curvature(), step = newton_step(s);
        const double away = std::fabs(step) * std::sqrt(curvature);
        if (away < kNearInteger && is_known_well(loss, s.tilt)) return s;
        if (away < kNear) {
            const double better = near_integer(loss, s.tilt, curvature);
            return better == s.tilt ? s : Saddle{better, tilted_moment(loss, better)};
        }
        (step > 0.0 ? low : high) = s.tilt;  // out of reach counts as too far
        if (low >= kLargestTilt) return {};
        if (high <= low * kReached) return short_of(loss, low);
        const double next = next_tilt(s.tilt + step, std::max(low, 0.05 * s.tilt), std::min(high, 20.0 * s.tilt));
        const double integer = near_integer(loss, next, curvature);
        s.tilt = std::min(integer > low && integer < high ? integer : next, kLargestTilt);
    }
    return {};
}

}  // namespace

// F' = 0, from the Gaussian of the same mean and variance; both signs without cancellation.
Saddle saddle_at_epsilon(const LossSum& loss, double epsilon) noexcept {
    const double variance = rough_variance(loss), gap = epsilon - 0.5 * variance;
    const double root = std::sqrt(gap * gap + 4.0 * variance);
    const double start = gap > 0.0 ? (gap + root) / (2.0 * variance) : 2.0 / (root - gap);
    return search(loss, start, [&](const Saddle& s) { return (epsilon - s.epsilon()) / s.curvature(); });
}

// Solves log_estimate() = log delta, whose derivative is -t F''. Newton's method runs on the logarithm of both sides,
// as K may grow exponentially, except where log delta is next to 0: steps would be short far from the root.
Saddle saddle_at_delta(const LossSum& loss, double log_delta) noexcept {
    const double start = std::sqrt(std::max(-2.0 * log_delta, 0.5) / rough_variance(loss));
    return search(loss, start, [&](const Saddle& s) {
        const double here = s.log_estimate(), slope = s.tilt * s.curvature();
        const double ratio = here / log_delta;
        return (ratio > 0.0 && here < -1.0 ? here * std::log(ratio) : here - log_delta) / slope;
    });
}

namespace {

// The saddle in -1 < t < 0 at which `excess`, increasing in t, passes 0: by halving the range of log(-t/(1+t)).
Saddle rest_search(const LossSum& loss, auto excess) noexcept {
    constexpr double kFarthest = 36.0, kWidth = 0.05;
    const auto at = [&](double x) {
        const double t = exact_tilt(loss.direction, -1.0 / (1.0 + std::exp(-x)));
        return Saddle{t, tilted_moment(loss, t)};
    };
    const Interval around = bisect(-kFarthest, kFarthest, kWidth, [&](double x) { return excess(at(x)) < 0.0; });
    const Saddle found = at(0.5 * (around.low + around.high));
    return std::isnan(found.at.value) ? Saddle{} : found;
}

}  // namespace

Saddle rest_saddle_at_epsilon(const LossSum& loss, double epsilon) noexcept {
    return rest_search(loss, [&](const Saddle& s) { return s.epsilon() - epsilon; });
}

Saddle rest_saddle_at_delta(const LossSum& loss, double delta) noexcept {
    return rest_search(loss, [&](const Saddle& s) { return s.log_estimate() - std::log1p(-delta); });
}

double chernoff_delta(const Saddle& saddle, double epsilon) noexcept {
    const double t = saddle.tilt;
    if (!(t > 0.0)) return 1.0;
    const double exponent = saddle.at.value - t * epsilon - t * std::log1p(1.0 / t) - std::log1p(t);
    const double error =
        saddle.at.error +
        16.0 * kUnitRoundoff * (2.0 + std::fabs(saddle.at.value) + 3.0 * t * (1.0 + std::fabs(epsilon)));
    constexpr double kLeast = std::numeric_limits<double>::denorm_min();
    if (t * epsilon == kInfinity && saddle.at.value + saddle.at.error < 1e307) return kLeast;
    if (std::isnan(exponent + error)) return 1.0;
    const double bound = std::exp(exponent + error);  // below the normal numbers right to half of the smallest
    return bound == 0.0 ? kLeast : std::min(bound * raised(6) + (bound < kSmallestNormal ? kLeast : 0.0), 1.0);
}

double chernoff_epsilon(const Saddle& saddle, double delta) noexcept {
    const double t = saddle.tilt, goal = std::log(delta);
    if (!(t > 0.0)) return kInfinity;
    const double peak = t * std::log1p(1.0 / t) + std::log1p(t);
    const double error =
        saddle.at.error + 16.0 * kUnitRoundoff * (2.0 + std::fabs(saddle.at.value) + peak + std::fabs(goal));
    const double bound = (saddle.at.value - peak - goal + error) / t;
    return std::isnan(bound) ? kInfinity : bound + 4.0 * kUnitRoundoff * std::fabs(bound);
}

}  // namespace renyi
