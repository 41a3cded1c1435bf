// E_P[e^{-s L}] = integral of P^{1-s} Q^s, 0 < s < 1, of one step by the trapezoidal rule. On the line Im u = y < pi
// sigma, short of the branch points, the modulus of (mu/mu0)^a is at most its value at Re u, a > 0, so that the error
// is at most 2 e^{y^2/2}/(e^{2 pi y/h} - 1) of the value (Trefethen, Weideman 2014, Theorem 5.1). As P^{1-s} Q^s <= P +
// Q, the integral beyond the nodes is less than 4 Q(12) < 1e-31.
#include "renyi/curve/direct_bounds.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "renyi/curve/closed_curve.hpp"
#include "renyi/curve/saddle.hpp"
#include "renyi/fp/certified.hpp"
#include "renyi/fp/lanes.hpp"
#include "renyi/fp/search.hpp"
#include "renyi/loss/sampled_gaussian.hpp"
#include "renyi/special/elementary_dd.hpp"
#include "renyi/special/normal.hpp"
#include "renyi/transform/measure_inversion.hpp"
#include "renyi/transform/sampled_loss.hpp"
#include "renyi/transform/windowed_law.hpp"

namespace renyi {

namespace {

constexpr double kAliasing = 31.0;               // e^-31 < 4e-14
constexpr double kTail = 12.0, kBeyond = 1e-31;  // 2 Q(12) < 4e-33
// Tuning: these affect width and time, not validity.
constexpr double kLeastOrder = -21.0, kOrderError = 1e-4;  // the least log s, and the accuracy of log s
constexpr double kMostBlocks = 3000.0;

}  // namespace

Complement::Complement(const SortedSteps& c, SampledPair pair) : gaussian_(c.gaussian) {
    for (const SampledStep& s : c.steps) {
        if (s.q == 1.0) continue;
        const SampledLoss loss{s.q, s.sigma, pair};
        const double y = std::min(0.99 * std::numbers::pi * s.sigma, std::sqrt(2.0 * kAliasing));
        Law law{s.count, 2.0 * std::numbers::pi * y / (kAliasing + 0.7 + 0.5 * y * y), {}, {}, {}};
        const double first = -kTail - (loss.two_sided() ? loss.c : 0.0), last = kTail + loss.c;
        const double blocks = std::ceil((last - first) / (law.spacing * kLanes)) + 1.0;
        if (!(blocks < kMostBlocks)) continue;  // E_P[e^{-s L}] <= 1 will do
        const std::size_t size = static_cast<std::size_t>(blocks) * kLanes;
        std::vector<double> u(size);
        for (std::size_t j = 0; j < size; ++j) u[j] = first + static_cast<double>(j) * law.spacing;
        law.loss.resize(size);
        law.log_density.resize(size);
        evaluate(loss, u, law.loss.data(), law.log_density.data());
        for (std::size_t j = 0; j < size; ++j) {  // error of the exponent in u: losses, order, node, sums
            const double node = std::fabs(u[j]), w = loss.c * (node + 0.5 * loss.c);
            const double losses = std::fabs(law.loss[j]) + std::fabs(law.log_density[j]) + 0.5 * node * node;
            law.error.push_back(losses * (10.0 + 2.0 * w) + node * (2.0 * node + loss.c) + 8.0);
            law.loss[j] *= loss.sign();
        }
        laws_.push_back(std::move(law));
    }
}

double Complement::log_moment(double s) const noexcept {
    double sum = -0.5 * gaussian_ * s * (1.0 - s) * lowered(254);
    for (const Law& law : laws_) {
        double value = 0.0, error = 0.0;
        for (std::size_t j = 0; j < law.loss.size(); ++j) {
            const double term = std::exp(law.log_density[j] - s * law.loss[j]);
            value += term;
            error += term * law.error[j];
        }
        const double rounding = kUnitRoundoff * (error / value + static_cast<double>(law.loss.size()));
        const double above = law.spacing * kInverseRoot2Pi * value * (1.0 + rounding + 1e-13) + kBeyond;
        sum += law.count * std::min(std::log(above) + 2.0 * kUnitRoundoff, 0.0);
    }
    return sum * lowered(254);
}

// 1 - delta(eps) >= 1 - delta(0) >= BC^2/2 with BC = E_P[e^{-S/2}] (Le Cam).
bool Complement::may_be_small() const noexcept { return log_moment(0.5) < -4.0; }

double Complement::at(double epsilon) const noexcept {
    const Least exponent = golden_section(kLeastOrder, 0.0, kOrderError, [&](double x) {
        const double s = std::exp(x);
        const double moment = log_moment(s), gained = s * epsilon;
        return moment + gained + 8.0 * kUnitRoundoff * (std::fabs(moment) + std::fabs(gained));
    });
    return std::min(std::exp(exponent.value) * raised(6), 1.0);
}

double Complement::epsilon_below(double delta) const noexcept {
    const double goal = std::log1p(-delta);
    const Least least = golden_section(kLeastOrder, 0.0, kOrderError, [&](double x) {
        const double s = std::exp(x);
        const double excess = log_moment(s) - goal;
        return (excess + 8.0 * kUnitRoundoff * (std::fabs(goal) + std::fabs(excess))) / s;
    });
    return -least.value;
}

namespace {

// Tuning: these affect width and time, not validity; except kLeast.
constexpr int kMostHalvings = 45;
constexpr double kLeast = std::numeric_limits<double>::denorm_min();
constexpr double kRemaining = 1e-15;     // accuracy, relative to the largest loss
constexpr double kNextTo = 1e-4;         // relative distance of epsilon from the largest loss
constexpr double kRevealing = 5e-3;      // noise below which outputs tell whether the record was in the sample
constexpr double kFirstLogTilt = -5.0, kLastLogTilt = 9.0, kLogTiltError = 0.1;
constexpr double kNodeTarget = 25.0;  // nats by which quadrature errors are below the moment
constexpr double kFirstReach = 1e-3;     // first step of log(largest loss - epsilon)
constexpr double kSmallestPart = 1e-12;  // least epsilon of a search, relative to the upper end

// An output, rounded up, at which the loss of a step of `add` is `lost` below its largest loss.
double output_that_loses(const SampledStep& s, double lost) noexcept {
    const double c = 1.0 / s.sigma, log_odds = std::log(s.q) - std::log1p(-s.q);
    const double v = lost > 700.0 ? lost : std::log(std::expm1(lost));
    return (v - log_odds) / c + 0.5 * c + 1e-14 * (std::fabs(v) + std::fabs(log_odds) + c * c) / c;
}

// Whether the step has so little noise that moments of high orders take many nodes and tell little.
bool reveals(const SampledStep& s) noexcept { return s.q < 1.0 && s.sigma < kRevealing; }

// The number of sampled steps, plus one for all Gaussian steps, which compose in closed form.
double number_of_parts(const SortedSteps& c) noexcept {
    double number = c.gaussian > 0.0 ? 1.0 : 0.0;
    for (const SampledStep& s : c.steps) number += s.q < 1.0 ? s.count : 0.0;
    return number;
}

// Basic composition: every part at delta, or at epsilon, divided by the number of parts. The curve of a replaced record
// is at most q times that of the Gaussian mechanism with half the noise, by convexity.
double composed_epsilon(const SortedSteps& c, SampledPair pair, double delta) noexcept {
    const double share = std::max(delta / number_of_parts(c) * lowered(6), 0.0);
    const auto of_step = [&](const SampledStep& s) {
        return pair == SampledPair::replace_one
                   ? gaussian_epsilon(2.0 / s.sigma * raised(6), std::min(share / s.q * lowered(6), 1.0)).upper
                   : single_step_epsilon({s.q, s.sigma, direction_of(pair)}, share).upper;
    };
    double sum = c.gaussian > 0.0
                     ? std::max(gaussian_bracket(c, [&](double mu) { return gaussian_epsilon(mu, share); }).upper, 0.0)
                     : 0.0;
    for (const SampledStep& s : c.steps)
        if (s.q < 1.0) sum += s.count * std::max(of_step(s), 0.0);
    return sum * raised(30);
}

double composed_delta(const SortedSteps& c, SampledPair pair, double epsilon) noexcept {
    const double share = epsilon / number_of_parts(c) * lowered(6);
    const auto of_step = [&](const SampledStep& s) {
        return pair == SampledPair::replace_one
                   ? s.q * gaussian_delta_bounds(2.0 / s.sigma * raised(6), share).upper
                   : single_step_delta_bounds({s.q, s.sigma, direction_of(pair)}, share).upper;
    };
    double sum =
        c.gaussian > 0.0 ? gaussian_bracket(c, [&](double mu) { return gaussian_delta_bounds(mu, share); }).upper : 0.0;
    for (const SampledStep& s : c.steps)
        if (s.q < 1.0) sum += s.count * of_step(s);
    return sum * raised(30);
}

// Chernoff's bound for groups: nodes serve tilts up to a farthest one, which grows while the best tilt lies next to it.
double chernoff_delta_of_groups(const SortedSteps& c, Direction direction, double epsilon) {
    double found = 1.0;
    for (double log_farthest = 2.0; log_farthest < kLastLogTilt; log_farthest += 2.0) {
        std::vector<WindowedLaw> laws;
        const double farthest = std::exp(log_farthest);
        for (const SampledStep& s : c.steps) {
            if (s.q == 1.0) continue;
            laws.emplace_back(SampledLoss(s, pair_of(direction)), LossWindow{});
            if (!laws.back().discretise(0.3 * farthest, 0.0, kNodeTarget + std::log(s.count), farthest)) return found;
        }
        const Least least = golden_section(kFirstLogTilt, log_farthest, kLogTiltError, [&](double x) {
            const double t = std::exp(x);
            double exponent = log_kernel_peak(t) + (0.5 * c.gaussian * t * (t + 1.0) - t * epsilon);
            auto law = laws.begin();
            for (const SampledStep& s : c.steps) exponent += s.q < 1.0 ? s.count * law++->log_moment_above(t) : 0.0;
            return exponent + 1e-12 * (1.0 + t * (epsilon + c.gaussian * (t + 1.0)));
        });
        found = std::min(found, std::exp(least.value) * raised(kManyRoundings));
        if (least.place < log_farthest - 0.5) break;
    }
    return found;
}

}  // namespace

double chernoff_delta(const SortedSteps& c, Direction direction, double epsilon) noexcept {
    if (c.has_groups) return chernoff_delta_of_groups(c, direction, epsilon);
    return chernoff_delta(saddle_at_epsilon({c.steps, direction, kInfinity}, epsilon), epsilon);
}

namespace {

// Chernoff's bound over likely outputs: all others together have less than e^-760, a fraction of the smallest double.
double chernoff_delta_of_likely(const SortedSteps& c, double epsilon) noexcept {
    constexpr double kLeftOut = -760.0;
    const LossSum likely{c.steps, Direction::remove, limit_for(c.steps, kLeftOut)};
    const double bound = chernoff_delta(saddle_at_epsilon(likely, epsilon), epsilon);
    return bound == kLeast ? kLeast : bound + kLeast;  // equal: less than half of it
}

double chernoff_epsilon_of_likely(const SortedSteps& c, double delta) noexcept {
    constexpr double kLeftOut = 40.0;  // e^-40 of delta
    const double limit = limit_for(c.steps, std::log(delta) - kLeftOut);
    const double rest = delta - mass_beyond(c.steps, limit);
    const Saddle saddle = saddle_at_delta({c.steps, Direction::remove, limit}, std::log(delta));
    return rest > kSmallestNormal ? chernoff_epsilon(saddle, rest * lowered(6)) : kInfinity;
}

// add: a sum above eps is less than X = (the largest loss) - eps below the largest loss, so that no step is X below its
// own largest loss:  delta <= P(no step is X below) (1 - e^-X).
double remaining_delta_above(const SortedSteps& c, double epsilon) noexcept {
    const double rest = c.largest_loss - epsilon;
    double log_none = 0.0;
    for (const SampledStep& s : c.steps) {
        const double x = output_that_loses(s, rest);
        log_none +=
            s.count * (x > 0.0 ? std::log1p(-upper_tail(x).value * lowered(kManyRoundings)) : log_upper_tail(-x));
    }
    return -std::expm1(-rest) * std::exp(log_none) * raised(kManyRoundings) + kLeast;
}

// Chernoff's bound, basic composition, and the chance that any loss is beyond eps/number; for `add` the largest loss.
double common_upper(const SortedSteps& c, Direction direction, double epsilon) noexcept {
    const double composed = composed_delta(c, pair_of(direction), epsilon);
    const double upper = std::min(chernoff_delta(c, direction, epsilon), composed);
    if (c.gaussian > 0.0) return upper;
    if (direction == Direction::add) return std::min(upper, remaining_delta_above(c, epsilon));
    const double number = number_of_parts(c);
    double sum = 0.0;
    for (const SampledStep& s : c.steps) {
        const SampledLoss law{s.q, s.sigma, SampledPair::remove};
        const double x = output_at(law, epsilon / number) * lowered(kManyRoundings);
        sum += s.count * ((1.0 - s.q) * std::exp(log_upper_tail(x)) + s.q * std::exp(log_upper_tail(x - law.c)));
    }
    return std::min(upper, sum * (1.0 + 1e-11) + kSmallestNormal);
}

// remove: delta >= P(E) - e^eps Q(E) for E = "some output beyond x", x of each step.
double some_delta_below(const SortedSteps& c, double epsilon, auto output) noexcept {
    double log_none = 0.0, any_without = 0.0;
    for (const SampledStep& s : c.steps) {
        if (s.q == 1.0) continue;
        const double x = output(s), without = upper_tail(x).value, with = upper_tail(x - 1.0 / s.sigma).value;
        any_without += s.count * std::exp(epsilon + log_upper_tail(x));
        log_none += s.count * std::log1p(-((1.0 - s.q) * without + s.q * with));
    }
    return -std::expm1(log_none) * lowered(kManyRoundings) - any_without * raised(kManyRoundings);
}

// add: the same for E = "none", with Q(E)/P(E) = prod (1 - q (1 - N(x - c)/N(x)))^k.
double none_delta_below(const SortedSteps& c, double epsilon, auto output) noexcept {
    double log_none = 0.0, log_ratio = 0.0, size = 0.0;
    for (const SampledStep& s : c.steps) {
        if (s.q == 1.0) continue;
        const double x = output(s), none = upper_tail(-x).value;
        if (!(none > 1e-290)) return 0.0;
        log_none += s.count * (x > 0.0 ? std::log1p(-upper_tail(x).value) : std::log(none));
        log_ratio += s.count * std::log1p(-s.q * (1.0 - upper_tail(1.0 / s.sigma - x).value / none));
        size += s.count * s.q / (1.0 - s.q);  // the rounding is relative to this
    }
    const double exponent = epsilon + log_ratio + 1e-13 * (std::fabs(epsilon) + size);
    return -std::expm1(exponent) * std::exp(log_none * raised(900)) * lowered(900);
}

// add: bounds by the event that no step is more than a part of (largest loss - epsilon) below its largest loss.
double remaining_delta_below(const SortedSteps& c, double epsilon) noexcept {
    double lower = 0.0;
    for (const double part : {0.9, 0.5, 0.2, 0.05, 0.01, 1e-3}) {
        const double lost = part * (c.largest_loss - epsilon);
        const double here =
            none_delta_below(c, epsilon, [&](const SampledStep& s) { return output_that_loses(s, lost); });
        if (here > lower) lower = here;  // false where it is no number
    }
    return lower;
}

}  // namespace

// Every step and every event bounds a composition from below; the function tries all steps and a few events.
double plain_lower(const SortedSteps& c, Direction direction, double epsilon) noexcept {
    double lower = 0.0;
    for (const SampledStep& s : c.steps)
        if (s.q < 1.0) lower = std::max(lower, single_step_delta_bounds({s.q, s.sigma, direction}, epsilon).lower);
    for (const double part : {0.25, 0.5, 0.75}) {
        const auto output = [&](const SampledStep& s) { return part / s.sigma; };
        const double here = direction == Direction::remove ? some_delta_below(c, epsilon, output)
                                                           : none_delta_below(c, epsilon, output);
        if (here > lower) lower = here;  // false where it is no number
    }
    const bool is_bounded = direction == Direction::add && c.gaussian == 0.0 && epsilon < c.largest_loss;
    return is_bounded ? std::max(lower, remaining_delta_below(c, epsilon)) : lower;
}

namespace {

double plain_upper(const SortedSteps& c, Direction direction, double epsilon) noexcept {
    const double upper = common_upper(c, direction, epsilon);
    return direction == Direction::remove ? std::min(upper, chernoff_delta_of_likely(c, epsilon)) : upper;
}

// An upper bound of delta(0), the total variation; from there on epsilon is 0. For products: 1 - TV >= prod (1 - TV_i),
// TV <= sqrt(KL/2) (Pinsker), TV <= sqrt(1 - e^-KL) (Bretagnolle, Huber 1979).
// A replaced record is removed, then one is added. The TV of a single step is q times that of the Gaussian mechanism.
double delta_at_zero_above(const SortedSteps& c, SampledPair pair) noexcept {
    const bool replaces = pair == SampledPair::replace_one;
    double log_rest = 0.0, divergence = 0.0;
    for (const SampledStep& s : c.steps) {
        const double apart = s.q * gaussian_delta_bounds((replaces && s.q < 1.0 ? 2.0 : 1.0) / s.sigma, 0.0).upper;
        log_rest += s.count * std::log1p(-std::min(apart * raised(30), 1.0));
        const Certified kl = rdp_sampled_gaussian(s.q, s.sigma, 1.0);
        divergence += s.count * kl.value * (1.0 + kl.relative_error + 0x1p-50);
    }
    const double information = std::sqrt(std::min(0.5 * divergence, -std::expm1(-divergence)));
    const double all = -std::expm1(log_rest * raised(30));
    const double bound = replaces && !c.only_gaussian ? std::fmin(2.0 * information, all) : std::fmin(information, all);
    return bound * raised(30) + kSmallestNormal;
}

// add: where a bound of delta passes `delta`, by a search over log(largest loss - epsilon) from `log_rest` on. The
// bound is evaluated at both ends of the answer, and nowhere beyond the largest loss.
Bracket remaining_crossing(const SortedSteps& c, double delta, double log_rest, auto bound) noexcept {
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
    for (int turn = 0; turn < kMostHalvings && ends.width() * std::exp(ends.high) > kRemaining * c.largest_loss;
         ++turn) {
        const double part = turn % 3 == 2 ? 0.5 : std::clamp(ends.part(), 0.01, 0.99);
        const double middle = ends.low + part * ends.width(), here = excess(middle);
        here < 0.0 ? ends.move_low(middle, here) : ends.move_high(middle, here);
    }
    return {at(ends.high), at(ends.low)};
}

// A bracket of epsilon for `add` without Gaussian steps.
Bracket remaining_epsilon(const SortedSteps& c, double delta) noexcept {
    const double least = std::log(std::max(-std::log1p(-delta), 0x1p-54 * c.largest_loss));
    const double most =
        std::min(remaining_crossing(c, delta, least - kFirstReach, remaining_delta_above).upper, c.largest_loss);
    const double start = std::max(least, std::log(c.largest_loss - most));
    // Bounds below the normal numbers cannot be compared: the lower end is that of a delta of 2 kSmallestNormal at
    // least.
    const double normal = std::max(delta, 2.0 * kSmallestNormal);
    return {remaining_crossing(c, normal, start - kFirstReach, remaining_delta_below).lower, most};
}

}  // namespace

// Let v be the logarithm of the odds that the record was in the sample (sampled_loss.hpp). The loss of a step is
// G = log(1 + e^v) below its largest loss. With X = -sum log(1-q) - eps
//     1 - e^-X - E min(sum G, 1) <= delta <= 1 - e^-X,   E min(G, 1) <= E e^{v/2} = e^{lambda/2 - c^2/8}.
Bracket unlost_epsilon(const SortedSteps& c, double delta) noexcept {
    double overlap = 0.0, error = 0.0;
    DoubleDouble largest{0.0, 0.0};
    const auto log_rest = [&](DoubleDouble x, double count) {
        const DoubleDouble found = log1p_dd(-x, DoubleDouble{1.0, 0.0} + -x) * count;
        error += 0x1p-76 * (std::fabs(x.hi) < 0x1p-6 ? std::fabs(found.hi) : count + std::fabs(found.hi));
        return found;
    };
    for (const SampledStep& s : c.steps) {
        const double log_odds = std::log(s.q) - std::log1p(-s.q), square = 1.0 / (s.sigma * s.sigma);
        overlap += s.count * std::exp(0.5 * log_odds - 0.125 * square) * raised(kManyRoundings);
        largest = largest + -log_rest({s.q, 0.0}, s.count);
    }
    const DoubleDouble above = two_sum(delta, overlap + kLeast);
    const double most = delta < 1.0 ? (largest + log_rest({delta, 0.0}, 1.0)).hi : 0.0;
    const double least = above.hi < 1.0 ? (largest + log_rest(above, 1.0)).hi : -kInfinity;
    return {least - error - std::fabs(least) * 0x1p-51, most + error + std::fabs(most) * 0x1p-51};
}

bool may_be_next_to_largest(const SortedSteps& c, double delta) noexcept {
    const bool all_reveal = std::all_of(c.steps.begin(), c.steps.end(), reveals);
    return c.gaussian == 0.0 && (all_reveal || !(remaining_delta_above(c, (1.0 - kNextTo) * c.largest_loss) < delta));
}

// Basic composition, the curve of a single step, and for `add` the bounds by what is left of the largest loss.
Bracket quick_epsilon(const SortedSteps& c, Direction direction, double delta) noexcept {
    Bracket answer{-kInfinity, composed_epsilon(c, pair_of(direction), delta)};
    if (direction == Direction::add && c.gaussian == 0.0) {
        answer = common(answer, remaining_epsilon(c, delta));
    }
    for (const SampledStep& s : c.steps)
        if (s.q < 1.0)
            answer.lower = std::max(answer.lower, single_step_epsilon({s.q, s.sigma, direction}, delta).lower);
    return answer;
}

namespace {

// Searches for ends at which the bounds of delta are proven to be on the right side.
Bracket plain_epsilon(const SortedSteps& c, Direction direction, double delta) noexcept {
    Bracket answer = quick_epsilon(c, direction, delta);
    if (direction == Direction::remove) answer.upper = std::min(answer.upper, chernoff_epsilon_of_likely(c, delta));
    if (common_upper(c, direction, 0.0) <= delta) return {answer.lower, std::min(answer.upper, 0.0)};
    const auto halved = [&](auto is_beyond) {
        const double start = std::max(answer.lower, answer.upper * kSmallestPart);
        return bisect_ratio(start, answer.upper, 1.0 + 1e-6, is_beyond, kMostHalvings);
    };
    answer.upper = halved([&](double epsilon) { return common_upper(c, direction, epsilon) <= delta; }).high;
    const double first = std::max(answer.lower, answer.upper * kSmallestPart);
    const double found = halved([&](double epsilon) { return !(plain_lower(c, direction, epsilon) >= delta); }).low;
    return {found > first ? found : answer.lower, answer.upper};
}

// Tuning: these affect width, not validity: the mass that is left out is added to delta.
constexpr double kFirstTilt = -14.0, kLastTilt = 67.0, kTiltError = 1e-10;  // of log t: range and accuracy
constexpr double kLeftOut = 40.0, kLeastLogDelta = -760.0;

// An upper bound of log E_P[(P/Q)^t] for the composition, over outputs up to the limit. It holds for Gaussian steps,
// too.
TiltedMoment moment_above(const SortedSteps& c, double limit, double t) noexcept {
    const TiltedMoment gained = tilted_moment({c.steps, Direction::remove, limit}, 2.0 * t + 1.0);
    const TiltedMoment lost = tilted_moment({c.steps, Direction::add, kInfinity}, 2.0 * t);
    return {0.5 * (gained.value + lost.value), 0.5 * (gained.error + lost.error), 0.0, 0.0};
}

// Bounds where records are replaced on Poisson samples, from bounds for added and removed records.
// P = (1-q) R + q N(1, sigma^2) and Q = (1-q) R + q N(-1, sigma^2) with R = N(0, sigma^2). Gaussian steps have their
// noise halved. By Hoelder's inequality
//     E_P[(P/Q)^t] <= E_R[(P/R)^{2+2t}]^{1/2} E_R[(R/Q)^{2t}]^{1/2}, both orders of A, for Chernoff's bound.
double replaced_delta_above(const SortedSteps& c, double epsilon) noexcept {
    const double composed = std::min(composed_delta(c, SampledPair::replace_one, epsilon), 1.0);
    if (std::any_of(c.steps.begin(), c.steps.end(), reveals)) return composed;
    const double limit = limit_for(c.steps, kLeastLogDelta), rest = mass_beyond(c.steps, limit);
    const Least least = golden_section(kFirstTilt, kLastTilt, kTiltError, [&](double x) {
        const double t = std::exp(x);
        return std::log(chernoff_delta({t, moment_above(c, limit, t)}, epsilon));
    });
    // Below the normal numbers the exponential and the mass left out are off by up to one smallest double each.
    const double chernoff = std::exp(least.value) * raised(kManyRoundings) + rest + 3.0 * kLeast;
    return std::fmin(chernoff, composed);
}

double replaced_epsilon_above(const SortedSteps& c, double delta) noexcept {
    const double composed = composed_epsilon(c, SampledPair::replace_one, delta);
    if (std::any_of(c.steps.begin(), c.steps.end(), reveals)) return composed;
    const double limit = limit_for(c.steps, std::log(delta) - kLeftOut);
    const double rest = (delta - mass_beyond(c.steps, limit)) * lowered(6);
    const Least chernoff = golden_section(kFirstTilt, kLastTilt, kTiltError, [&](double x) {
        const double t = std::exp(x);
        return rest > kSmallestNormal ? chernoff_epsilon({t, moment_above(c, limit, t)}, rest) : kInfinity;
    });
    return std::fmin(chernoff.value, composed);
}

}  // namespace

Complement& DirectBounds::complement() { return complement_ ? *complement_ : complement_.emplace(c_, pair_); }

Bracket DirectBounds::delta_near_one(double epsilon) {
    if (c_.has_groups) return {0.0, 1.0};
    return {complement().may_be_small() ? std::nextafter(1.0 - complement().at(epsilon), 0.0) : 0.0, 1.0};
}

bool DirectBounds::is_enough_at_zero(double delta) {
    if (c_.has_groups) return false;
    if (!at_zero_) at_zero_ = delta_at_zero_above(c_, pair_);
    return *at_zero_ <= delta;
}

Bracket DirectBounds::delta(double epsilon) {
    if (c_.has_groups) return {0.0, 1.0};
    if (pair_ == SampledPair::replace_one) return {0.0, replaced_delta_above(c_, epsilon)};
    const Direction direction = direction_of(pair_);
    return {plain_lower(c_, direction, epsilon), plain_upper(c_, direction, epsilon)};
}

Bracket DirectBounds::epsilon(double delta) {
    if (c_.has_groups) return {-kInfinity, kInfinity};
    const double below = complement().epsilon_below(delta);
    if (pair_ == SampledPair::replace_one) return {below, replaced_epsilon_above(c_, delta)};
    const Bracket plain = plain_epsilon(c_, direction_of(pair_), delta);
    return {std::fmax(plain.lower, below), plain.upper};
}

namespace {

// Tuning: these affect width and time, not validity.
constexpr double kManyInclusions = 50.0;  // mean number of steps with the record
constexpr double kLittleNoise = 0.35;     // sigma; more noise blurs inclusion, and windows of the loss serve

}  // namespace

bool DirectBounds::has_many_inclusions() const noexcept {
    double included = 0.0;
    for (const SampledStep& s : c_.steps)
        if (s.sigma < kLittleNoise) included += s.q * s.count;
    return included > kManyInclusions;
}

}  // namespace renyi
