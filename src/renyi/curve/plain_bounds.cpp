#include "renyi/curve/plain_bounds.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "renyi/curve/closed_curve.hpp"
#include "renyi/curve/gaussian_curve.hpp"
#include "renyi/curve/saddle.hpp"
#include "renyi/curve/single_step.hpp"
#include "renyi/loss/sampled_gaussian.hpp"
#include "renyi/special/false_position.hpp"
#include "renyi/transform/sampled_loss.hpp"

namespace renyi {

namespace {

constexpr int kMostHalvings = 45;
constexpr double kLeast = std::numeric_limits<double>::denorm_min();
constexpr double kUnspent = 1e-15;      // of the largest loss
constexpr double kFirstReach = 1e-3;    // of the logarithm of what is left of it
constexpr double kSmallestPart = 1e-12;  // of the upper end: a search for epsilon does not look below

// Q(x) = P(N > x) to 1e-14, and its logarithm, from above where it leaves the range of doubles.
double normal_tail_at(double x) noexcept { return 0.5 * std::erfc(x * 0x1.6a09e667f3bcdp-1); }
double log_normal_tail_above(double x) noexcept {
    const double tail = normal_tail_at(x);
    return tail > 1e-290 ? std::log(tail) + 1e-13 : -0.5 * x * x;
}

// An output, from above, at which a step of `add` loses as much of its largest loss.
double output_that_loses(const SampledStep& s, double lost) noexcept {
    const double c = 1.0 / s.sigma, log_odds = std::log(s.q) - std::log1p(-s.q);
    const double v = lost > 700.0 ? lost : std::log(std::expm1(lost));
    return (v - log_odds) / c + 0.5 * c + 1e-14 * (std::fabs(v) + std::fabs(log_odds) + c * c) / c;
}

// Of the sampled steps, and one more for all Gaussian ones, which compose by themselves.
double number_of_parts(const SortedSteps& c) noexcept {
    double number = c.gaussian > 0.0 ? 1.0 : 0.0;
    for (const SampledStep& s : c.steps) number += s.q < 1.0 ? s.count : 0.0;
    return number;
}

// Basic composition: every part at delta over their number, or at epsilon over it.
double composed_epsilon(const SortedSteps& c, Direction direction, double delta) noexcept {
    const double share = std::max(delta / number_of_parts(c) * (1.0 - 0x1p-50), 0.0);
    double sum = c.gaussian > 0.0
                     ? std::max(gaussian_bracket(c, [&](double mu) { return gaussian_epsilon(mu, share); }).upper, 0.0)
                     : 0.0;
    for (const SampledStep& s : c.steps)
        if (s.q < 1.0) sum += s.count * std::max(single_step_epsilon({s.q, s.sigma, direction}, share).upper, 0.0);
    return sum * (1.0 + 0x1p-48);
}

double composed_delta(const SortedSteps& c, Direction direction, double epsilon) noexcept {
    const double share = epsilon / number_of_parts(c) * (1.0 - 0x1p-50);
    double sum =
        c.gaussian > 0.0 ? gaussian_bracket(c, [&](double mu) { return gaussian_delta_bounds(mu, share); }).upper : 0.0;
    for (const SampledStep& s : c.steps)
        if (s.q < 1.0) sum += s.count * single_step_delta_bounds({s.q, s.sigma, direction}, share).upper;
    return sum * (1.0 + 0x1p-48);
}

// The ends of a positive bracket halved in the logarithm as long as that narrows it.
Bracket halved(Bracket b, auto is_above) noexcept {
    for (int turn = 0; turn < kMostHalvings && b.upper > b.lower * (1.0 + 1e-6) && b.lower > 0.0; ++turn) {
        const double middle = std::sqrt(b.lower) * std::sqrt(b.upper);
        (is_above(middle) ? b.upper : b.lower) = middle;
    }
    return b;
}

}  // namespace

double chernoff_delta(const SortedSteps& c, Direction direction, double epsilon) noexcept {
    return chernoff_delta(saddle_at_epsilon({c.steps, direction, kInfinity}, epsilon), epsilon);
}

namespace {

// Chernoff's bound of what can be seen: all else together is less than e^-760, a fraction of the smallest double.
double chernoff_delta_of_seen(const SortedSteps& c, double epsilon) noexcept {
    constexpr double kUnseen = -760.0, kSmallest = std::numeric_limits<double>::denorm_min();
    const LossSum seen{c.steps, Direction::remove, limit_for(c.steps, kUnseen)};
    const double bound = chernoff_delta(saddle_at_epsilon(seen, epsilon), epsilon);
    return bound == kSmallest ? kSmallest : bound + kSmallest;  // equal: less than half of it
}

double chernoff_epsilon_of_seen(const SortedSteps& c, double delta) noexcept {
    constexpr double kUnseen = 40.0;  // e^-40 of delta
    const double limit = limit_for(c.steps, std::log(delta) - kUnseen);
    const double rest = delta - mass_beyond(c.steps, limit);
    const Saddle saddle = saddle_at_delta({c.steps, Direction::remove, limit}, std::log(delta));
    return rest > kSmallestNormal ? chernoff_epsilon(saddle, rest * (1.0 - 0x1p-50)) : kInfinity;
}

// add: a sum above eps loses less than X = (the largest loss) - eps of the largest one, so that no step loses X of its
// own:  delta <= P(no step loses X) (1 - e^-X).
double unspent_delta_above(const SortedSteps& c, double epsilon) noexcept {
    const double rest = c.largest_loss - epsilon;
    double log_none = 0.0;
    for (const SampledStep& s : c.steps) {
        const double x = output_that_loses(s, rest);
        log_none += s.count * (x > 0.0 ? std::log1p(-normal_tail_at(x) * (1.0 - 1e-13)) : log_normal_tail_above(-x));
    }
    return -std::expm1(-rest) * std::exp(log_none) * (1.0 + 1e-12) + kLeast;
}

// Chernoff's bound, basic composition, and the chance that any loss is beyond eps/number; for `add` the largest loss.
double common_upper(const SortedSteps& c, Direction direction, double epsilon) noexcept {
    const double upper = std::min(chernoff_delta(c, direction, epsilon), composed_delta(c, direction, epsilon));
    if (c.gaussian > 0.0) return upper;
    if (direction == Direction::add) return std::min(upper, unspent_delta_above(c, epsilon));
    const double number = number_of_parts(c);
    double sum = 0.0;
    for (const SampledStep& s : c.steps) {
        const SampledLoss law{s.q, s.sigma, SampledPair::remove};
        const double x = output_at(law, epsilon / number) * (1.0 - 1e-12);
        sum += s.count *
               ((1.0 - s.q) * std::exp(log_normal_tail_above(x)) + s.q * std::exp(log_normal_tail_above(x - law.c)));
    }
    return std::min(upper, sum * (1.0 + 1e-11) + kSmallestNormal);
}

}  // namespace

namespace {

// delta >= P(E) - e^eps Q(E) for E = "some output beyond x" (remove) or "none" (add), x of each step.
double event_delta_below(const SortedSteps& c, Direction direction, double epsilon, auto output) noexcept {
    double log_with = 0.0, log_without = 0.0, any_without = 0.0;  // the first two of "none"
    for (const SampledStep& s : c.steps) {
        if (s.q == 1.0) continue;
        const double c = 1.0 / s.sigma, x = output(s), without = normal_tail_at(x), shifted = normal_tail_at(x - c);
        any_without += s.count * std::exp(epsilon + log_normal_tail_above(x));
        // Where they are small, probabilities of "none" are sums of their own.
        const double none = normal_tail_at(-x), mixed = (1.0 - s.q) * without + s.q * shifted;
        log_without += s.count * (x > 0.0 ? std::log1p(-without) : none > 1e-290 ? std::log(none) : -kInfinity);
        log_with += s.count * (mixed < 0.5 ? std::log1p(-mixed)
                                           : std::log((1.0 - s.q) * none + s.q * normal_tail_at(c - x)));
    }
    if (direction == Direction::remove) return -std::expm1(log_with) * (1.0 - 1e-12) - any_without * (1.0 + 1e-12);
    const double slack = 1e-13 * (std::fabs(epsilon) + std::fabs(log_with) + std::fabs(log_without));
    return -std::expm1(epsilon + (log_with - log_without) + slack) * std::exp(log_without - slack) * (1.0 - 1e-13);
}

// add: none loses more than a part of what all may lose.
double unspent_delta_below(const SortedSteps& c, double epsilon) noexcept {
    double lower = 0.0;
    for (const double part : {0.9, 0.5, 0.2, 0.05, 0.01, 1e-3}) {
        const double lost = part * (c.largest_loss - epsilon);
        const double here = event_delta_below(c, Direction::add, epsilon,
                                              [&](const SampledStep& s) { return output_that_loses(s, lost); });
        if (here > lower) lower = here;  // false where it is no number
    }
    return lower;
}

}  // namespace

// A composition tells at least as much as any of its steps, and any event bounds it: a few of them.
double plain_lower(const SortedSteps& c, Direction direction, double epsilon) noexcept {
    double lower = 0.0;
    for (const SampledStep& s : c.steps)
        if (s.q < 1.0) lower = std::max(lower, single_step_delta_bounds({s.q, s.sigma, direction}, epsilon).lower);
    for (const double part : {0.25, 0.5, 0.75}) {
        const double here =
            event_delta_below(c, direction, epsilon, [&](const SampledStep& s) { return part / s.sigma; });
        if (here > lower) lower = here;  // false where it is no number
    }
    const bool is_bounded = direction == Direction::add && c.gaussian == 0.0 && epsilon < c.largest_loss;
    return is_bounded ? std::max(lower, unspent_delta_below(c, epsilon)) : lower;
}

double plain_upper(const SortedSteps& c, Direction direction, double epsilon) noexcept {
    const double upper = common_upper(c, direction, epsilon);
    return direction == Direction::remove ? std::min(upper, chernoff_delta_of_seen(c, epsilon)) : upper;
}

// Of products: 1 - TV >= prod (1 - TV_i), TV <= sqrt(KL/2) (Pinsker), TV <= sqrt(1 - e^-KL) (Bretagnolle, Huber 1979).
// Replaced records are two replacements by none apart, and a single step is q times that of the Gaussian mechanism.
double delta_at_zero_above(const SortedSteps& c, SampledPair pair) noexcept {
    const bool replaces = pair == SampledPair::replace_one;
    double log_rest = 0.0, divergence = 0.0;
    for (const SampledStep& s : c.steps) {
        const double apart = s.q * gaussian_delta_bounds((replaces && s.q < 1.0 ? 2.0 : 1.0) / s.sigma, 0.0).upper;
        log_rest += s.count * std::log1p(-std::min(apart * (1.0 + 0x1p-48), 1.0));
        const Certified kl = rdp_sampled_gaussian(s.q, s.sigma, 1.0);
        divergence += s.count * kl.value * (1.0 + kl.relative_error + 0x1p-50);
    }
    const double information = std::sqrt(std::min(0.5 * divergence, -std::expm1(-divergence)));
    const double all = -std::expm1(log_rest * (1.0 + 0x1p-48));
    const double bound = replaces && !c.only_gaussian ? std::fmin(2.0 * information, all) : std::fmin(information, all);
    return bound * (1.0 + 0x1p-48) + kSmallestNormal;
}

namespace {

// add: where a bound of delta passes it, by the logarithm of what is left of the largest loss, from there on. Both ends
// are tried; none beyond the largest loss.
Bracket unspent_crossing(const SortedSteps& c, double delta, double log_rest, auto bound) noexcept {
    const auto at = [&](double x) { return c.largest_loss - std::exp(x); };
    const auto excess = [&](double x) { return std::log(std::max(bound(c, at(x)), kSmallestNormal) / delta); };
    const double far = std::log(c.largest_loss);
    FalsePosition ends{log_rest, log_rest, excess(log_rest), 0.0};
    if (!(ends.at_low < 0.0)) return {at(log_rest), kInfinity};
    for (double step = kFirstReach; !(ends.at_high > 0.0); step *= 2.0) {
        if (ends.high >= far) return {-kInfinity, at(ends.low)};
        if (ends.at_high < 0.0) ends.move_low(ends.high, ends.at_high);
        ends.high = std::min(ends.low + step, far);
        ends.at_high = excess(ends.high);
    }
    for (int turn = 0; turn < kMostHalvings && ends.width() * std::exp(ends.high) > kUnspent * c.largest_loss; ++turn) {
        const double part = turn % 3 == 2 ? 0.5 : std::clamp(ends.part(), 0.01, 0.99);
        const double middle = ends.low + part * ends.width(), here = excess(middle);
        here < 0.0 ? ends.move_low(middle, here) : ends.move_high(middle, here);
    }
    return {at(ends.high), at(ends.low)};
}

// Of add without Gaussian steps, from both sides.
Bracket unspent_epsilon(const SortedSteps& c, double delta) noexcept {
    const double least = std::log(std::max(-std::log1p(-delta), 0x1p-54 * c.largest_loss));
    const double most = std::min(unspent_crossing(c, delta, least - kFirstReach, unspent_delta_above).upper,
                                 c.largest_loss);
    const double start = std::max(least, std::log(c.largest_loss - most));
    return {unspent_crossing(c, delta, start - kFirstReach, unspent_delta_below).lower, most};
}

}  // namespace

// Basic composition, that of a single step, and of `add` what is left of the largest loss.
Bracket quick_epsilon(const SortedSteps& c, Direction direction, double delta) noexcept {
    Bracket answer{-kInfinity, composed_epsilon(c, direction, delta)};
    if (direction == Direction::add && c.gaussian == 0.0) {
        answer = common(answer, unspent_epsilon(c, delta));
    }
    for (const SampledStep& s : c.steps)
        if (s.q < 1.0)
            answer.lower = std::max(answer.lower, single_step_epsilon({s.q, s.sigma, direction}, delta).lower);
    return answer;
}

// Ends at which the bounds of delta certainly are on one side.
Bracket plain_epsilon(const SortedSteps& c, Direction direction, double delta) noexcept {
    Bracket answer = quick_epsilon(c, direction, delta);
    if (direction == Direction::remove) answer.upper = std::min(answer.upper, chernoff_epsilon_of_seen(c, delta));
    if (common_upper(c, direction, 0.0) <= delta) return {answer.lower, std::min(answer.upper, 0.0)};
    const auto start = [&] { return std::max(answer.lower, answer.upper * kSmallestPart); };
    const auto enough = [&](double epsilon) { return common_upper(c, direction, epsilon) <= delta; };
    answer.upper = halved({start(), answer.upper}, enough).upper;
    const auto not_too_little = [&](double epsilon) { return !(plain_lower(c, direction, epsilon) >= delta); };
    const double first = start(), found = halved({first, answer.upper}, not_too_little).lower;
    return {found > first ? found : answer.lower, answer.upper};
}

}  // namespace renyi
