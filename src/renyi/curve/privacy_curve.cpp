#include "renyi/curve/privacy_curve.hpp"

#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include "renyi/curve/closed_curve.hpp"
#include "renyi/curve/curve_guess.hpp"
#include "renyi/curve/plain_bounds.hpp"
#include "renyi/curve/sorted_steps.hpp"
#include "renyi/transform/split_sum.hpp"

namespace renyi {

namespace {

constexpr double kNarrow = 1e-11;  // relative width at which a contour placed for another question still serves
constexpr double kUseful = 1e-9;   // and that which needs no second route
constexpr double kSmallest = std::numeric_limits<double>::denorm_min();  // an upper bound of what is above 0 is not 0
constexpr int kMostPlacements = 6;
constexpr double kNear = 0.1;  // relative distance of an epsilon from that a split sum was placed for

bool narrow(Bracket b, double width) noexcept { return b.upper - b.lower <= width * std::fabs(b.upper); }

// What two brackets of one number have in common; NaN is no bound.
Bracket common(Bracket a, Bracket b) noexcept { return {std::fmax(a.lower, b.lower), std::fmin(a.upper, b.upper)}; }

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

private:
    bool replaces() const noexcept { return pair_ == SampledPair::replace_one; }
    Bracket split_delta(double epsilon);
    Bracket split_epsilon(double delta);
    void place_split(double epsilon, double log_delta);

    SortedSteps c_{};
    Contour contour_;
    std::optional<SplitSum> split_;
    double split_at_ = 0.0;
    SampledPair pair_;
    Direction direction_;
};

void CurveSolver::place_split(double epsilon, double log_delta) {
    split_.emplace(c_.steps, pair_);
    split_->place(epsilon, log_delta);
    split_at_ = epsilon;
}

Bracket CurveSolver::split_delta(double epsilon) {
    if (split_) {
        const Bracket here = split_->delta(epsilon);
        if (narrow(here, kUseful)) return here;
    }
    place_split(epsilon, guess_log_delta(c_, pair_, epsilon));
    return split_->delta(epsilon);
}

Bracket CurveSolver::split_epsilon(double delta) {
    double low = 0.0, high = kInfinity, epsilon = split_ ? split_at_ : guess_epsilon(c_, pair_, delta);
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
    if (const std::optional<Bracket> closed = closed_delta(c_, pair_, epsilon)) return *closed;
    if (replaces()) return split_delta(epsilon);
    Bracket answer = contour_.delta(epsilon);
    if (narrow(answer, kNarrow)) return answer;
    if (contour_.place_for_epsilon(epsilon)) answer = contour_.delta(epsilon);
    if (narrow(answer, kUseful)) return answer;
    answer = common(answer, split_delta(epsilon));
    if (!narrow(answer, kUseful))
        answer = common(answer, {plain_lower(c_, direction_, epsilon), plain_upper(c_, direction_, epsilon)});
    if (!narrow(answer, kUseful)) {
        Contour last(c_.steps, {}, direction_, kLastEffort);
        if (last.place_for_epsilon(epsilon)) answer = common(answer, last.delta(epsilon));
    }
    return {std::fmax(answer.lower, 0.0), std::fmin(std::fmax(answer.upper, kSmallest), 1.0)};
}

Bracket CurveSolver::epsilon(double delta) {
    if (const std::optional<Bracket> closed = closed_epsilon(c_, pair_, delta)) return *closed;
    if (replaces()) return split_epsilon(delta);
    Bracket answer = contour_.epsilon(delta);
    if (narrow(answer, kNarrow)) return answer;
    if (contour_.place_for_delta(delta)) answer = contour_.epsilon(delta);
    if (narrow(answer, kUseful)) return answer;
    const Bracket plain = plain_epsilon(c_, direction_, delta);
    if (narrow(plain, kUseful)) return plain;
    answer = common(common(answer, split_epsilon(delta)), plain);
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
    const SortedSteps c = sorted_steps(steps);
    if (const std::optional<Bracket> closed = closed_delta(c, pair, epsilon)) return closed->upper;
    return pair == SampledPair::replace_one ? 1.0 : chernoff_delta(c, direction_of(pair), epsilon);
}

}  // namespace renyi
