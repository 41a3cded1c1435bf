#include "renyi/curve/privacy_curve.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <tuple>
#include <vector>

#include "renyi/curve/gaussian_curve.hpp"
#include "renyi/curve/single_step.hpp"
#include "renyi/transform/split_sum.hpp"

namespace renyi {

namespace {

constexpr double kNarrow = 1e-11;  // relative width at which a contour placed for another question still serves
constexpr double kUseful = 1e-9;   // and that which needs no second route
constexpr double kSmallest = std::numeric_limits<double>::denorm_min();  // an upper bound of what is above 0 is not 0
constexpr int kMostPlacements = 6;
constexpr int kMostHalvings = 45;
constexpr double kNear = 0.1;  // relative distance of an epsilon from that a split sum was placed for

struct SortedSteps {
    std::vector<SampledStep> steps;  // sorted and merged, those that release nothing left out
    double gaussian;                 // mu^2 of the Gaussian steps among them
    double largest_loss;             // of Direction::add, rounded up; inf if there are Gaussian steps
    bool only_gaussian;
};

SortedSteps sorted_steps(std::span<const SampledStep> steps) {
    SortedSteps c{{}, 0.0, 0.0, true};
    for (const SampledStep& s : steps)
        if (s.q > 0.0 && s.sigma < kInfinity && s.count > 0.0) c.steps.push_back(s);
    std::sort(c.steps.begin(), c.steps.end(), [](const SampledStep& a, const SampledStep& b) {
        return std::tie(a.q, a.sigma, a.count) < std::tie(b.q, b.sigma, b.count);
    });
    const auto kept = [&] {  // equal steps merge
        std::size_t n = 0;
        for (const SampledStep& s : c.steps) {
            if (n > 0 && c.steps[n - 1].q == s.q && c.steps[n - 1].sigma == s.sigma) {
                c.steps[n - 1].count += s.count;
            } else {
                c.steps[n++] = s;
            }
        }
        return n;
    }();
    c.steps.resize(kept);
    for (const SampledStep& s : c.steps) {
        if (s.q == 1.0) {
            c.gaussian += s.count / (s.sigma * s.sigma);
        } else {
            c.only_gaussian = false;
            c.largest_loss -= s.count * std::log1p(-s.q);
        }
    }
    c.largest_loss = c.gaussian > 0.0 ? kInfinity : c.largest_loss * (1.0 + 8.0 * kUnitRoundoff);
    return c;
}

// mu carries the rounding of the sum of squares: (n + 4) u/2 relative, both curves rise with it.
Bracket gaussian_bracket(const SortedSteps& c, auto curve) noexcept {
    const double mu = std::sqrt(c.gaussian);
    const double error = c.steps.size() == 1 && c.steps[0].count == 1.0
                             ? 2.0 * kUnitRoundoff
                             : (4.0 + static_cast<double>(c.steps.size())) * kUnitRoundoff;
    return {curve(mu * (1.0 - error)).lower, curve(mu * (1.0 + error)).upper};
}

bool is_single(const SortedSteps& c) noexcept { return c.steps.size() == 1 && c.steps[0].count == 1.0; }

bool narrow(Bracket b, double width) noexcept { return b.upper - b.lower <= width * std::fabs(b.upper); }

// What two brackets of one number have in common; NaN is no bound.
Bracket common(Bracket a, Bracket b) noexcept { return {std::fmax(a.lower, b.lower), std::fmin(a.upper, b.upper)}; }

// Of the plain line, which knows nothing of replaced records.
Direction direction_of(SampledPair pair) noexcept {
    return pair == SampledPair::add ? Direction::add : Direction::remove;
}

// The contours of one composition, moved where they do not serve.
class CurveSolver {
public:
    CurveSolver(std::span<const SampledStep> fixed, std::span<const SampledStep> repeated, SampledPair pair)
        : contour_(fixed, repeated, direction_of(pair), kPlainEffort), pair_(pair), direction_(direction_of(pair)) {}

    void set(std::span<const SampledStep> all, double times) {
        c_ = sorted_steps(all);
        contour_.repeat(times);
        split_.reset();
    }

    Bracket delta(double epsilon);
    Bracket epsilon(double delta);
    double rough_delta(double epsilon) const noexcept {
        Bracket answer;
        return closed_delta(epsilon, answer) ? answer.upper : replaces() ? 1.0 : chernoff(epsilon);
    }

private:
    bool replaces() const noexcept { return pair_ == SampledPair::replace_one; }
    bool closed_delta(double epsilon, Bracket& answer) const noexcept;
    bool closed_epsilon(double delta, Bracket& answer) const noexcept;
    Bracket split_delta(double epsilon);
    Bracket split_epsilon(double delta);
    void place_split(double epsilon, double log_delta);
    double guess_log_delta(double epsilon) const noexcept;
    double plain_lower(double epsilon) const noexcept;
    double plain_upper(double epsilon) const noexcept;
    double composed_epsilon(double delta) const noexcept;
    double composed_delta(double epsilon) const noexcept;
    Bracket closed_bounds(double delta) const noexcept;
    Bracket plain_epsilon(double delta) const noexcept;
    double guess_epsilon(double delta) const noexcept;
    double chernoff(double epsilon) const noexcept {
        return chernoff_delta(saddle_at_epsilon({c_.steps, direction_, kInfinity}, epsilon), epsilon);
    }

    SortedSteps c_{};
    Contour contour_;
    std::optional<SplitSum> split_;
    double split_at_ = 0.0;
    SampledPair pair_;
    Direction direction_;
};

bool CurveSolver::closed_delta(double epsilon, Bracket& answer) const noexcept {
    if (c_.steps.empty()) {
        const double value = epsilon < 0.0 ? -std::expm1(epsilon) : 0.0;
        answer = {value * (1.0 - 4.0 * kUnitRoundoff), value * (1.0 + 4.0 * kUnitRoundoff)};
    } else if (c_.only_gaussian) {
        answer = gaussian_bracket(c_, [&](double mu) { return gaussian_delta_bounds(mu, epsilon); });
    } else if (replaces()) {
        return false;
    } else if (is_single(c_)) {
        answer = single_step_delta_bounds({c_.steps[0].q, c_.steps[0].sigma, direction_}, epsilon);
    } else if (direction_ == Direction::add && epsilon >= c_.largest_loss) {
        answer = {0.0, 0.0};
    } else {
        return false;
    }
    return true;
}

bool CurveSolver::closed_epsilon(double delta, Bracket& answer) const noexcept {
    if (c_.steps.empty()) {
        answer = {0.0, 0.0};
    } else if (c_.only_gaussian) {
        answer = gaussian_bracket(c_, [&](double mu) { return gaussian_epsilon(mu, delta); });
    } else if (!replaces() && is_single(c_)) {
        answer = single_step_epsilon({c_.steps[0].q, c_.steps[0].sigma, direction_}, delta);
    } else {
        return false;
    }
    return true;
}

// Q(x) = P(N > x) to 1e-14, and its logarithm, from above where it leaves the range of doubles.
double normal_tail_at(double x) noexcept { return 0.5 * std::erfc(x * 0x1.6a09e667f3bcdp-1); }
double log_normal_tail_above(double x) noexcept {
    const double tail = normal_tail_at(x);
    return tail > 1e-290 ? std::log(tail) + 1e-13 : -0.5 * x * x;
}

// A composition tells at least as much as any of its steps, and any event E bounds it: delta >= P(E) - e^eps Q(E), here
// "some output beyond part/sigma" (remove) or "none" (add), for a few parts.
double CurveSolver::plain_lower(double epsilon) const noexcept {
    double lower = 0.0;
    for (const SampledStep& s : c_.steps)
        if (s.q < 1.0) lower = std::max(lower, single_step_delta_bounds({s.q, s.sigma, direction_}, epsilon).lower);
    for (const double part : {0.25, 0.5, 0.75}) {
        double log_with = 0.0, log_without = 0.0, any_without = 0.0;  // the first two of "none"
        for (const SampledStep& s : c_.steps) {
            if (s.q == 1.0) continue;
            const double x = part / s.sigma, without = normal_tail_at(x), shifted = normal_tail_at(x - 1.0 / s.sigma);
            any_without += s.count * std::exp(epsilon + log_normal_tail_above(x));
            log_without += s.count * std::log1p(-without);
            log_with += s.count * std::log1p(-((1.0 - s.q) * without + s.q * shifted));
        }
        const double slack = 1e-13 * (1.0 + std::fabs(epsilon) + std::fabs(log_with) + std::fabs(log_without));
        const double here = direction_ == Direction::remove
                                ? -std::expm1(log_with) * (1.0 - 1e-12) - any_without * (1.0 + 1e-12)
                                : std::exp(log_without - slack) - std::exp(epsilon + log_with + slack);
        if (here > lower) lower = here;  // false where it is no number
    }
    return lower;
}

// Chernoff's bound, basic composition, and the chance that any loss is beyond eps/number; for `add` the largest loss.
double CurveSolver::plain_upper(double epsilon) const noexcept {
    double upper = std::min(chernoff(epsilon), composed_delta(epsilon));
    if (c_.gaussian > 0.0) return upper;
    if (direction_ == Direction::add) return std::min(upper, -std::expm1(epsilon - c_.largest_loss) * (1.0 + 1e-12));
    double number = 0.0, sum = 0.0;
    for (const SampledStep& s : c_.steps) number += s.count;
    for (const SampledStep& s : c_.steps) {
        const SampledLoss law{s.q, s.sigma, SampledPair::remove};
        const double x = output_at(law, epsilon / number) * (1.0 - 1e-12);
        sum += s.count *
               ((1.0 - s.q) * std::exp(log_normal_tail_above(x)) + s.q * std::exp(log_normal_tail_above(x - law.c)));
    }
    return std::min(upper, sum * (1.0 + 1e-11) + kSmallestNormal);
}

// Basic composition: every step at delta over their number, the Gaussian ones as one.
double CurveSolver::composed_epsilon(double delta) const noexcept {
    double number = c_.gaussian > 0.0 ? 1.0 : 0.0;
    for (const SampledStep& s : c_.steps) number += s.q < 1.0 ? s.count : 0.0;
    const double share = std::max(delta / number * (1.0 - 0x1p-50), 0.0);
    double sum = c_.gaussian > 0.0
                     ? std::max(gaussian_bracket(c_, [&](double mu) { return gaussian_epsilon(mu, share); }).upper, 0.0)
                     : 0.0;
    for (const SampledStep& s : c_.steps)
        if (s.q < 1.0) sum += s.count * std::max(single_step_epsilon({s.q, s.sigma, direction_}, share).upper, 0.0);
    return sum * (1.0 + 0x1p-48);
}

double CurveSolver::composed_delta(double epsilon) const noexcept {
    double number = c_.gaussian > 0.0 ? 1.0 : 0.0;
    for (const SampledStep& s : c_.steps) number += s.q < 1.0 ? s.count : 0.0;
    const double share = epsilon / number * (1.0 - 0x1p-50);
    double sum = c_.gaussian > 0.0
                     ? gaussian_bracket(c_, [&](double mu) { return gaussian_delta_bounds(mu, share); }).upper
                     : 0.0;
    for (const SampledStep& s : c_.steps)
        if (s.q < 1.0) sum += s.count * single_step_delta_bounds({s.q, s.sigma, direction_}, share).upper;
    return sum * (1.0 + 0x1p-48);
}

// What no search is needed for: basic composition, the largest loss, and that of a single step.
Bracket CurveSolver::closed_bounds(double delta) const noexcept {
    double lower = -kInfinity, upper = composed_epsilon(delta);
    if (direction_ == Direction::add) upper = std::min(upper, c_.largest_loss);
    for (const SampledStep& s : c_.steps)
        if (s.q < 1.0) lower = std::max(lower, single_step_epsilon({s.q, s.sigma, direction_}, delta).lower);
    return {lower, upper};
}

// By halving: where plain bounds of delta certainly are on one side.
Bracket CurveSolver::plain_epsilon(double delta) const noexcept {
    auto [lower, upper] = closed_bounds(delta);
    if (plain_upper(0.0) <= delta) return {lower, std::min(upper, 0.0)};
    double low = std::max(lower, upper * 1e-12), high = upper;
    for (int turn = 0; turn < kMostHalvings && high > low * (1.0 + 1e-6) && low > 0.0; ++turn) {
        const double middle = std::sqrt(low) * std::sqrt(high);
        (plain_upper(middle) <= delta ? high : low) = middle;
    }
    upper = high;
    low = std::max(lower, upper * 1e-12);
    for (int turn = 0; turn < kMostHalvings && high > low * (1.0 + 1e-6) && low > 0.0; ++turn) {
        const double middle = std::sqrt(low) * std::sqrt(high);
        if (plain_lower(middle) >= delta) {
            low = lower = middle;
        } else {
            high = middle;
        }
    }
    return {lower, upper};
}

void CurveSolver::place_split(double epsilon, double log_delta) {
    split_.emplace(c_.steps, pair_);
    split_->place(epsilon, log_delta);
    split_at_ = epsilon;
}

// Roughly: one large loss, or many small ones that are nearly normal.
double CurveSolver::guess_log_delta(double epsilon) const noexcept {
    const double variance = tilted_moment({c_.steps, direction_, 6.0}, 0.0).second;
    const double normal = -0.5 * epsilon * epsilon / variance - 5.0;
    return std::max(std::log(std::max(plain_lower(epsilon), kSmallestNormal)), std::isfinite(normal) ? normal : -700.0);
}

Bracket CurveSolver::split_delta(double epsilon) {
    if (split_) {
        const Bracket here = split_->delta(epsilon);
        if (narrow(here, kUseful)) return here;
    }
    place_split(epsilon, guess_log_delta(epsilon));
    return split_->delta(epsilon);
}

// One large loss, or many small ones that are nearly normal.
double CurveSolver::guess_epsilon(double delta) const noexcept {
    const TiltedMoment origin = tilted_moment({c_.steps, direction_, 6.0}, 0.0);
    const double normal = gaussian_epsilon_guess(1.0, delta) * std::sqrt(origin.second);
    double large = 0.0;
    for (const SampledStep& s : c_.steps)
        if (s.q < 1.0)
            large =
                std::max(large, single_step_epsilon({s.q, s.sigma, direction_}, std::min(delta / s.count, 0.5)).upper);
    const double near = replaces() ? 2.0 * normal : normal;
    const double guess = std::isfinite(near) ? std::max(large, 0.8 * near) : large;
    return direction_ == Direction::add ? std::min(guess, 0.9 * c_.largest_loss) : guess;
}

Bracket CurveSolver::split_epsilon(double delta) {
    double low = 0.0, high = kInfinity, epsilon = split_ ? split_at_ : guess_epsilon(delta);
    Bracket best{-kInfinity, kInfinity};
    for (int turn = 0; turn < kMostPlacements && epsilon > 0.0; ++turn) {
        if (!split_ || split_at_ != epsilon) place_split(epsilon, std::log(delta));
        const Bracket found = split_->epsilon(delta, epsilon);
        if (!std::isnan(found.lower)) {
            best = common(best, found);
            const double middle = 0.5 * (found.lower + found.upper);
            if (std::fabs(middle - epsilon) < kNear * epsilon || narrow(best, 1e-12)) break;
            epsilon = middle;
            continue;
        }
        const Bracket here = split_->delta(epsilon);
        if (here.lower > delta) low = epsilon;
        if (here.upper < delta) high = epsilon;
        if (low != epsilon && high != epsilon) break;
        epsilon = low == 0.0 ? 0.6 * high : high == kInfinity ? 1.6 * low : std::sqrt(low * high);
        best = common(best, {low > 0.0 ? low : -kInfinity, high});
    }
    return best;
}

Bracket CurveSolver::delta(double epsilon) {
    Bracket answer;
    if (closed_delta(epsilon, answer)) return answer;
    if (replaces()) return split_delta(epsilon);
    answer = contour_.delta(epsilon);
    if (narrow(answer, kNarrow)) return answer;
    if (contour_.place_for_epsilon(epsilon)) answer = contour_.delta(epsilon);
    if (narrow(answer, kUseful)) return answer;
    answer = common(answer, split_delta(epsilon));
    if (!narrow(answer, kUseful)) answer = common(answer, {plain_lower(epsilon), plain_upper(epsilon)});
    if (!narrow(answer, kUseful)) {
        Contour last(c_.steps, {}, direction_, kLastEffort);
        if (last.place_for_epsilon(epsilon)) answer = common(answer, last.delta(epsilon));
    }
    return {std::fmax(answer.lower, 0.0), std::fmin(std::fmax(answer.upper, kSmallest), 1.0)};
}

Bracket CurveSolver::epsilon(double delta) {
    Bracket answer;
    if (closed_epsilon(delta, answer)) return answer;
    if (replaces()) return split_epsilon(delta);
    answer = contour_.epsilon(delta);
    if (narrow(answer, kNarrow)) return answer;
    if (contour_.place_for_delta(delta)) answer = contour_.epsilon(delta);
    if (narrow(answer, kUseful)) return answer;
    const Bracket closed = closed_bounds(delta);
    if (narrow(closed, kUseful)) return closed;
    answer = common(common(answer, split_epsilon(delta)), closed);
    if (!narrow(answer, kUseful)) answer = common(answer, plain_epsilon(delta));
    if (!narrow(answer, kUseful)) {
        Contour last(c_.steps, {}, direction_, kLastEffort);
        if (last.place_for_delta(delta)) answer = common(answer, last.epsilon(delta));
    }
    return answer;
}

}  // namespace

void curve_delta(std::span<const SampledStep> steps, SampledPair pair, std::span<const double> epsilons,
                 Bracket* answers) {
    CurveSolver solver(sorted_steps(steps).steps, {}, pair);
    solver.set(steps, 1.0);
    for (const double epsilon : epsilons) *answers++ = solver.delta(epsilon);
}

void curve_epsilon(std::span<const SampledStep> steps, SampledPair pair, std::span<const double> deltas,
                   Bracket* answers) {
    CurveSolver solver(sorted_steps(steps).steps, {}, pair);
    solver.set(steps, 1.0);
    for (const double delta : deltas) *answers++ = solver.epsilon(delta);
}

void curve_epsilon_after(std::span<const SampledStep> steps, std::span<const SampledStep> repeated, SampledPair pair,
                         std::span<const double> times, double delta, Bracket* answers) {
    CurveSolver solver(sorted_steps(steps).steps, sorted_steps(repeated).steps, pair);
    for (const double t : times) {
        std::vector<SampledStep> all(steps.begin(), steps.end());
        for (SampledStep s : repeated) {
            s.count *= t;
            all.push_back(s);
        }
        solver.set(all, t);
        *answers++ = solver.epsilon(delta);
    }
}

double rough_delta(std::span<const SampledStep> steps, SampledPair pair, double epsilon) {
    CurveSolver solver({}, {}, pair);
    solver.set(steps, 1.0);
    return solver.rough_delta(epsilon);
}

}  // namespace renyi
