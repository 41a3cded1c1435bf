#include "renyi/curve/privacy_curve.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <vector>

#include "renyi/curve/closed_curve.hpp"
#include "renyi/curve/direct_bounds.hpp"
#include "renyi/curve/included_records.hpp"
#include "renyi/curve/inclusion_line.hpp"
#include "renyi/curve/placed_splits.hpp"
#include "renyi/pair/composition.hpp"

namespace renyi {

namespace {

// Tuning: these affect width and time, not validity.
constexpr double kNarrow = 1e-11;  // relative width at which a contour placed for another question still serves
constexpr double kServes = 1e-10;  // the same for other routes
constexpr double kUseful = 1e-9, kEnough = 5e-9;  // widths of delta and epsilon that need no other route
constexpr double kTarget = 1e-8;    // width of epsilon at which no long line is tried
constexpr double kFewIncluded = 20.0;  // mean number of inclusions; with more the sum of all losses is smooth
constexpr double kNear = 0.1;      // width at which the next question may start from the answer
constexpr double kLeastResolved = 1e-303;  // the least delta that sums of parts resolve: below they lose digits
constexpr double kSmallest = std::numeric_limits<double>::denorm_min();  // the least upper end of a delta above 0

// A bracket of delta by a sum of parts, with its ends below kLeastResolved moved outward.
Bracket widened(Bracket found) noexcept {
    return found.lower >= kLeastResolved ? found : Bracket{0.0, std::max(found.upper, kLeastResolved)};
}

}  // namespace

// The contours and split sums of one composition; new ones are placed where the earlier ones do not serve.
class CurveSolver {
public:
    CurveSolver(std::span<const SampledStep> fixed, std::span<const SampledStep> repeated, SampledPair pair)
        : contour_(fixed, repeated, direction_of(pair), kPlainEffort),
          splits_(c_, pair),
          pair_(pair),
          direction_(direction_of(pair)) {}

    void set(std::span<const SampledStep> all, double times) {
        c_ = sorted_steps(all);
        contour_.repeat(times);
        splits_.clear();
        inclusion_line_ = InclusionLine(c_, pair_);
        last_line_.reset();
        held_ = {};
        direct_.emplace(c_, pair_);
    }

    // If a quick bound proves that `known` is valid, it is the upper end.
    Bracket delta(double epsilon, double known);
    Bracket epsilon(double delta, double known);
    double rough_delta(double epsilon) const noexcept;
    Route route() const noexcept { return route_; }

private:
    bool replaces() const noexcept { return pair_ == SampledPair::replace_one; }
    // Contours and bounds for one record that is added or removed do not apply.
    bool only_splits() const noexcept { return replaces() || c_.has_groups; }
    // A pair (epsilon, delta) that holds; all pairs of larger numbers hold with it.
    struct Held {
        double epsilon = kInfinity, delta = kInfinity;
    };
    bool is_held(double epsilon, double delta) const noexcept {
        return epsilon >= held_.epsilon && delta >= held_.delta;
    }
    bool is_enough(double epsilon, double delta) const noexcept {
        return epsilon > 0.0 && delta > 0.0 && rough_delta(epsilon) <= delta;
    }
    bool take(Route route, Bracket found, Bracket& answer, double enough) noexcept;
    bool with_inclusions(const auto& with_records, const auto& with_line, double goal) const;
    bool has_overlapping_line() const noexcept {
        return inclusion_line_.serves() && !inclusion_line_.reveals_inclusions();
    }
    bool has_few_inclusions() const noexcept {
        double included = 0.0;
        for (const SampledStep& s : c_.steps) included += s.q * s.count;
        return included < kFewIncluded;
    }
    Bracket new_delta(double epsilon, Bracket answer);
    Bracket new_epsilon(double delta);
    Bracket placed_delta(double epsilon) const noexcept;

    SortedSteps c_{};
    std::optional<DirectBounds> direct_;
    Contour contour_;
    PlacedSplits splits_;
    InclusionLine inclusion_line_;
    std::optional<Contour> last_line_;  // a long line
    double last_ = 0.0;                 // about the epsilon that was answered last
    Held held_;                         // proven by the last answer
    Route route_ = Route::nothing_new;
    SampledPair pair_;
    Direction direction_;
};

double CurveSolver::rough_delta(double epsilon) const noexcept {
    if (const std::optional<Bracket> closed = closed_delta(c_, pair_, epsilon)) return closed->upper;
    return replaces() ? 1.0 : chernoff_delta(c_, direction_, epsilon);
}

// A bracket by the lines and sums that are placed already; [0, 1] where there are none.
Bracket CurveSolver::placed_delta(double epsilon) const noexcept {
    Bracket answer = common(contour_.delta(epsilon), {0.0, 1.0});
    if (is_narrow(answer, kNarrow)) return answer;
    answer = common(answer, widened(splits_.placed_delta(epsilon)));
    if (is_narrow(answer, kServes)) return answer;
    if (last_line_) answer = common(answer, last_line_->delta(epsilon));
    return answer;
}

Bracket CurveSolver::delta(double epsilon, double known) {
    route_ = Route::closed_form;
    if (const std::optional<Bracket> closed = closed_delta(c_, pair_, epsilon)) return *closed;
    route_ = Route::nothing_new;
    if (is_held(epsilon, known)) return {0.0, known};
    Bracket answer = placed_delta(epsilon);
    if (!is_narrow(answer, kServes)) {
        route_ = Route::bounds;
        if (is_enough(epsilon, known)) return {0.0, known};
        answer = new_delta(epsilon, answer);
    }
    // Below the normal numbers an end is rounded to their spacing.
    if (answer.lower < kSmallestNormal) answer.lower = std::fmax(answer.lower - 2.0 * kSmallest, 0.0);
    if (answer.upper < kSmallestNormal && answer.upper > 0.0) answer.upper += 2.0 * kSmallest;
    held_ = {epsilon, answer.upper};
    return answer;
}

// Intersects the answer with the bracket of a route. True where the answer is narrow then, or its upper end 0.
bool CurveSolver::take(Route route, Bracket found, Bracket& answer, double enough) noexcept {
    route_ = route;
    answer = common(answer, found);
    return is_narrow(answer, enough) || answer.upper == 0.0;
}

// The routes for little noise, by the number of inclusions: a sum where outputs reveal a few of them, else a line.
bool CurveSolver::with_inclusions(const auto& with_records, const auto& with_line, double goal) const {
    const Inclusions number = revealed_inclusions(c_, pair_, goal);
    return (number == Inclusions::few && with_records()) || (inclusion_line_.reveals_inclusions() && with_line()) ||
           (number == Inclusions::many && with_records());
}

// Tries one route after the other until the answer is narrow.
Bracket CurveSolver::new_delta(double epsilon, Bracket answer) {
    const auto with = [&](Route route, Bracket found) { return take(route, found, answer, kUseful); };
    const auto with_line = [&] {
        return contour_.place_for_epsilon(epsilon) && with(Route::line, contour_.delta(epsilon));
    };
    const auto with_long_line = [&](const Effort& effort) {
        last_line_.emplace(c_.steps, std::span<const SampledStep>{}, direction_, effort);
        return last_line_->place_for_epsilon(epsilon) && with(Route::long_line, last_line_->delta(epsilon));
    };
    const auto with_sum = [&] { return with(Route::split_sum, widened(splits_.delta(epsilon))); };
    const auto with_records = [&] {
        return with(Route::bounds, widened(included_records_delta(c_.steps[0], pair_, epsilon)));
    };
    const auto with_inclusion_line = [&] {
        return with(Route::inclusion_line, widened(inclusion_line_.delta(epsilon)));
    };
    const auto with_bounds = [&] { return with(Route::bounds, direct_->delta(epsilon)); };
    if (only_splits() && with_inclusions(with_records, with_inclusion_line, kLeastGoal)) return answer;
    with(Route::bounds, direct_->delta_near_one(epsilon)) ||
        (only_splits() ? with_sum() || (has_overlapping_line() && with_inclusion_line()) || with_bounds()
                    : (!splits_.reach(epsilon) && with_line()) ||
                          (direct_->has_many_inclusions() && with_long_line(kShortEffort)) ||
                          with_inclusions(with_records, with_inclusion_line, kLeastGoal) || with_sum() ||
                          (has_overlapping_line() && with_inclusion_line()) ||
                          with_bounds() || with_long_line(kLastEffort));
    return {std::fmax(answer.lower, 0.0), std::fmin(std::fmax(answer.upper, kSmallest), 1.0)};
}

Bracket CurveSolver::epsilon(double delta, double known) {
    route_ = Route::closed_form;
    if (const std::optional<Bracket> closed = closed_epsilon(c_, pair_, delta)) return *closed;
    route_ = Route::nothing_new;
    if (is_held(known, delta)) return {-kInfinity, known};
    Bracket answer = contour_.epsilon(delta);
    if (!is_narrow(answer, kNarrow)) {
        route_ = Route::bounds;
        if (is_enough(known, delta)) return {-kInfinity, known};
        if (c_.has_groups && known > 0.0 && splits_.delta(known).upper <= delta) return {-kInfinity, known};
        if (direct_->is_enough_at_zero(delta)) return {-kInfinity, 0.0};
        answer = delta >= kLeastResolved ? splits_.placed_epsilon(delta, last_) : kNoBracket;
    }
    if (std::isnan(answer.lower)) answer = new_epsilon(delta);
    if (answer.lower > 0.0 && is_narrow(answer, kNear)) last_ = 0.5 * (answer.lower + answer.upper);
    held_ = {answer.upper, delta};
    return answer;
}

Bracket CurveSolver::new_epsilon(double delta) {
    Bracket answer = kNoBracket;
    const auto with = [&](Route route, Bracket found) { return take(route, found, answer, kEnough); };
    const auto with_line = [&] {
        return contour_.place_for_delta(delta) && with(Route::line, contour_.epsilon(delta));
    };
    const auto with_long_line = [&](const Effort& effort) {
        Contour line(c_.steps, {}, direction_, effort);
        return line.place_for_delta(delta) && with(Route::long_line, line.epsilon(delta));
    };
    const bool is_resolved = delta >= kLeastResolved;
    const double goal = std::min(delta, 1.0 - delta);
    const auto with_sum = [&] { return is_resolved && with(Route::split_sum, splits_.epsilon(delta, last_)); };
    const auto with_records = [&] { return with(Route::bounds, included_records_epsilon(c_.steps[0], pair_, delta)); };
    const auto with_inclusion_line = [&](bool in_any_case = true) {
        return with(Route::inclusion_line, inclusion_line_.epsilon(delta, in_any_case));
    };
    const auto with_quick = [&] { return with(Route::bounds, quick_epsilon(c_, direction_, delta)); };
    const bool is_bounded = direction_ == Direction::add && !only_splits() && c_.gaussian == 0.0;
    const auto with_unlost = [&] { return with(Route::bounds, unlost_epsilon(c_, delta)); };
    const bool is_next = is_bounded && may_be_next_to_largest(c_, delta);
    // remove: where epsilon may be below 0, delta(0) decides; where epsilon is above 0, it also gives a start.
    const auto with_zero = [&] {
        if (direction_ == Direction::add || answer.lower > 0.0 || !(answer.upper > 0.0)) return false;
        const Bracket zero = splits_.delta(0.0);
        if (zero.upper <= delta) {
            answer.upper = 0.0;
            return true;
        }
        const double fall = zero.lower - splits_.placed_delta(answer.upper).upper;
        const double start = answer.upper * (zero.lower - delta) / fall;
        return start > 0.0 && start < kInfinity && with(Route::split_sum, splits_.epsilon(delta, start));
    };
    const auto with_bounds = [&] { return with(Route::bounds, direct_->epsilon(delta)); };
    only_splits() ? (is_resolved && with_inclusions(with_records, with_inclusion_line, goal)) ||
                        (is_resolved && has_few_inclusions() && has_overlapping_line() && with_inclusion_line(false)) ||
                        with_sum() || (is_resolved && has_overlapping_line() && with_inclusion_line()) ||
                        with_zero() || with_bounds()
               : (is_bounded && with_unlost()) || (is_next && with_quick()) || with_line() ||
                     (!is_next && with_quick()) ||
                     (direct_->has_many_inclusions() && with_long_line(kShortEffort)) ||
                     (is_resolved && with_inclusions(with_records, with_inclusion_line, goal)) ||
                     (is_resolved && has_overlapping_line() && with_inclusion_line(false)) || with_sum() ||
                     with_zero() ||
                     (is_resolved && has_overlapping_line() && with_inclusion_line()) || with_bounds() ||
                     is_narrow(answer, kTarget) || with_long_line(kLastEffort);
    return answer;
}

PrivacyCurve::PrivacyCurve(std::span<const SampledStep> steps, SampledPair pair)
    : solver_(std::make_unique<CurveSolver>(sorted_steps(steps).steps, std::span<const SampledStep>{}, pair)) {
    solver_->set(steps, 1.0);
}

PrivacyCurve::~PrivacyCurve() = default;

namespace {

// Answers the questions in ascending order: neighbours share work.
template <class Answer>
void answer_all(std::span<const double> asked, std::span<const double> known, Bracket* answers, const Answer& answer) {
    std::vector<std::size_t> order(asked.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t i, std::size_t j) { return asked[i] < asked[j]; });
    for (const std::size_t i : order) answers[i] = answer(asked[i], known.empty() ? -kInfinity : known[i]);
}

}  // namespace

void PrivacyCurve::delta(std::span<const double> epsilons, std::span<const double> known, Bracket* answers) {
    answer_all(epsilons, known, answers,
               [&](double epsilon, double enough) { return solver_->delta(epsilon, enough); });
}

void PrivacyCurve::epsilon(std::span<const double> deltas, std::span<const double> known, Bracket* answers) {
    answer_all(deltas, known, answers, [&](double delta, double enough) { return solver_->epsilon(delta, enough); });
}

double PrivacyCurve::rough_delta(double epsilon) const noexcept { return solver_->rough_delta(epsilon); }

Route PrivacyCurve::route() const noexcept { return solver_->route(); }

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
        *answers++ = solver.epsilon(delta, -kInfinity);
    }
}

}  // namespace renyi
