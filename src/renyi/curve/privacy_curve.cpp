#include "renyi/curve/privacy_curve.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include "renyi/curve/closed_curve.hpp"
#include "renyi/curve/curve_guess.hpp"
#include "renyi/curve/plain_bounds.hpp"
#include "renyi/curve/direct_bounds.hpp"
#include "renyi/curve/sorted_steps.hpp"
#include "renyi/transform/split_sum.hpp"

namespace renyi {

namespace {

constexpr double kNarrow = 1e-11;  // relative width at which a contour placed for another question still serves
constexpr double kServes = 1e-10;  // the same of a split sum
constexpr double kUseful = 1e-9;   // and that which needs no second route
constexpr double kSmallest = std::numeric_limits<double>::denorm_min();  // an upper bound of what is above 0 is not 0
constexpr int kMostPlacements = 6, kMostMoves = 2;
constexpr double kMove = 0.94;
constexpr std::size_t kMostKept = 64;  // split sums: about a megabyte each
constexpr double kFar = 0.4;           // relative distance at which a line may serve where it did not serve before
constexpr double kNear = 0.1;          // relative distance of an epsilon from that a split sum was placed for

bool narrow(Bracket b, double width) noexcept { return b.upper - b.lower <= width * std::fabs(b.upper); }

// What two brackets of one number have in common; NaN is no bound.
Bracket common(Bracket a, Bracket b) noexcept { return {std::fmax(a.lower, b.lower), std::fmin(a.upper, b.upper)}; }

// Between 0 and 1, of numbers of one sign.
double relative_distance(double a, double b) noexcept {
    return a == b ? 0.0 : std::fabs(a - b) / (std::fabs(a) + std::fabs(b));
}

struct PlacedSplit {
    double epsilon;
    SplitSum sum;
};

}  // namespace

// The contours and split sums of one composition: more of them where those placed before do not serve.
class CurveSolver {
public:
    CurveSolver(std::span<const SampledStep> fixed, std::span<const SampledStep> repeated, SampledPair pair)
        : contour_(fixed, repeated, direction_of(pair), kPlainEffort), pair_(pair), direction_(direction_of(pair)) {}

    void set(std::span<const SampledStep> all, double times) {
        c_ = sorted_steps(all);
        contour_.repeat(times);
        splits_.clear();
        last_line_.reset();
        held_ = {};
        mirror_.reset();
        direct_.emplace(c_, pair_);
    }

    // Where `known` is a number that certainly is enough, it is the upper end.
    Bracket delta(double epsilon, double known);
    Bracket epsilon(double delta, double known);
    double rough_delta(double epsilon) const noexcept;

private:
    bool replaces() const noexcept { return pair_ == SampledPair::replace_one; }
    // (epsilon, delta) holds, and with it all pairs of larger numbers.
    struct Held {
        double epsilon = kInfinity, delta = kInfinity;
    };
    bool is_held(double epsilon, double delta) const noexcept {
        return epsilon >= held_.epsilon && delta >= held_.delta;
    }
    bool is_enough(double epsilon, double delta) const noexcept {
        return epsilon > 0.0 && delta > 0.0 && rough_delta(epsilon) <= delta;
    }
    Bracket new_delta(double epsilon, Bracket answer);
    Bracket split_delta(double epsilon);
    Bracket split_epsilon(double delta);
    Bracket new_epsilon(double delta);
    Bracket placed_delta(double epsilon) const noexcept;
    Bracket mirrored_delta(double epsilon);
    Bracket placed_epsilon(double delta) const noexcept;
    const PlacedSplit* nearest_split(double epsilon) const noexcept;
    const SplitSum& place_split(double epsilon, double log_delta);

    SortedSteps c_{};
    std::optional<DirectBounds> direct_;
    Contour contour_;
    std::vector<PlacedSplit> splits_;
    std::optional<Contour> last_line_;     // of kLastEffort
    std::unique_ptr<CurveSolver> mirror_;  // of the other direction, at -epsilon
    double last_ = 0.0;                    // about the epsilon that was answered last
    Held held_;                            // by the last answer
    SampledPair pair_;
    Direction direction_;
};

double CurveSolver::rough_delta(double epsilon) const noexcept {
    if (const std::optional<Bracket> closed = closed_delta(c_, pair_, epsilon)) return closed->upper;
    return replaces() ? 1.0 : chernoff_delta(c_, direction_, epsilon);
}

const PlacedSplit* CurveSolver::nearest_split(double epsilon) const noexcept {
    const auto nearest =
        std::min_element(splits_.begin(), splits_.end(), [&](const PlacedSplit& a, const PlacedSplit& b) {
            return relative_distance(a.epsilon, epsilon) < relative_distance(b.epsilon, epsilon);
        });
    return nearest == splits_.end() ? nullptr : &*nearest;
}

const SplitSum& CurveSolver::place_split(double epsilon, double log_delta) {
    if (splits_.size() == kMostKept) splits_.erase(splits_.begin());
    splits_.push_back({epsilon, SplitSum(c_.steps, pair_)});
    splits_.back().sum.place(epsilon, log_delta);
    return splits_.back().sum;
}

// delta_1(eps) = 1 - e^eps + e^eps delta_2(-eps), of the two directions. Either term is right to 4 u.
Bracket mirrored(double epsilon, Bracket other) noexcept {
    const double grown = std::exp(epsilon), least = std::expm1(epsilon);
    const auto error = [&](double d) { return 8.0 * kUnitRoundoff * (grown * d + std::fabs(least)); };
    return {grown * other.lower - least - error(other.lower), grown * other.upper - least + error(other.upper)};
}

// By what is placed already; [0, 1] where that is nothing.
Bracket CurveSolver::placed_delta(double epsilon) const noexcept {
    Bracket answer = common(contour_.delta(epsilon), {0.0, 1.0});
    if (narrow(answer, kNarrow)) return answer;
    if (const PlacedSplit* split = nearest_split(epsilon)) answer = common(answer, split->sum.delta(epsilon));
    if (narrow(answer, kServes)) return answer;
    if (last_line_) answer = common(answer, last_line_->delta(epsilon));
    if (narrow(answer, kServes) || !mirror_) return answer;
    return common(answer, mirrored(epsilon, mirror_->placed_delta(-epsilon)));
}

Bracket CurveSolver::mirrored_delta(double epsilon) {
    if (!mirror_) {
        mirror_ = std::make_unique<CurveSolver>(c_.steps, std::span<const SampledStep>{}, SampledPair::remove);
        mirror_->set(c_.steps, 1.0);
    }
    return mirrored(epsilon, mirror_->split_delta(-epsilon));
}

// From the last answer on; no bracket where delta there is wide. Next to 0 epsilon itself is, relatively.
Bracket CurveSolver::placed_epsilon(double delta) const noexcept {
    const PlacedSplit* split = last_ > 0.0 ? nearest_split(last_) : nullptr;
    if (!split) return kNoBracket;
    const Bracket found = split->sum.epsilon(delta, last_);
    return narrow(split->sum.delta(found.upper), kServes) ? found : kNoBracket;
}

Bracket CurveSolver::split_delta(double epsilon) {
    if (const PlacedSplit* split = nearest_split(epsilon)) {
        const Bracket here = split->sum.delta(epsilon);
        if (narrow(here, kUseful)) return here;
    }
    return place_split(epsilon, guess_log_delta(c_, pair_, epsilon)).delta(epsilon);
}

Bracket CurveSolver::split_epsilon(double delta) {
    double low = 0.0, high = kInfinity, epsilon = last_ > 0.0 ? last_ : guess_epsilon(c_, pair_, delta);
    Bracket best{-kInfinity, kInfinity};
    int moves = 0;  // off an epsilon for which the windows fall badly
    for (int turn = 0; turn < kMostPlacements && epsilon > 0.0; ++turn) {
        const SplitSum& split = place_split(epsilon, std::log(delta));
        const Bracket found = split.epsilon(delta, epsilon);
        if (!std::isnan(found.lower)) {
            best = common(best, found);
            const double middle = 0.5 * (found.lower + found.upper);
            const bool near = std::fabs(middle - epsilon) < kNear * epsilon;
            if (narrow(best, near ? kUseful : 1e-12) || (near && ++moves > kMostMoves)) break;
            epsilon = near ? kMove * epsilon : middle;
            continue;
        }
        const Bracket here = split.delta(epsilon);
        if (here.lower > delta) low = epsilon;
        if (here.upper < delta) high = epsilon;
        if (low != epsilon && high != epsilon) {
            if (++moves > kMostMoves) break;
            epsilon *= kMove;
            continue;
        }
        epsilon = low == 0.0 ? 0.6 * high : high == kInfinity ? 1.6 * low : std::sqrt(low * high);
        best = common(best, {low > 0.0 ? low : -kInfinity, high});
    }
    return best;
}

Bracket CurveSolver::delta(double epsilon, double known) {
    if (const std::optional<Bracket> closed = closed_delta(c_, pair_, epsilon)) return *closed;
    if (is_held(epsilon, known)) return {0.0, known};
    Bracket answer = placed_delta(epsilon);
    if (!narrow(answer, kServes)) {
        if (is_enough(epsilon, known)) return {0.0, known};
        answer = new_delta(epsilon, answer);
    }
    held_ = {epsilon, answer.upper};
    return answer;
}

Bracket CurveSolver::new_delta(double epsilon, Bracket answer) {
    const Bracket near_one = direct_->delta_near_one(epsilon);
    if (narrow(near_one, kUseful)) return near_one;
    answer = common(answer, near_one);
    if (replaces()) {
        answer = common(answer, split_delta(epsilon));
        return narrow(answer, kUseful) ? answer : common(answer, direct_->delta(epsilon));
    }
    const PlacedSplit* near = nearest_split(epsilon);
    const bool line_may_serve = !near || relative_distance(near->epsilon, epsilon) > kFar;
    if (line_may_serve && contour_.place_for_epsilon(epsilon)) answer = common(answer, contour_.delta(epsilon));
    if (mirror_) answer = common(answer, mirrored_delta(epsilon));
    if (narrow(answer, kUseful)) return answer;
    answer = common(answer, direct_->delta_of_seen(epsilon));
    if (narrow(answer, kUseful)) return answer;
    const auto place_last = [&] {
        last_line_.emplace(c_.steps, std::span<const SampledStep>{}, direction_, kLastEffort);
        if (last_line_->place_for_epsilon(epsilon)) answer = common(answer, last_line_->delta(epsilon));
    };
    if (direct_->has_many_seen()) place_last();
    if (!narrow(answer, kUseful)) answer = common(answer, split_delta(epsilon));
    if (!narrow(answer, kUseful) && direction_ == Direction::add && !mirror_)
        answer = common(answer, mirrored_delta(epsilon));
    if (!narrow(answer, kUseful)) answer = common(answer, direct_->delta(epsilon));
    if (!narrow(answer, kUseful) && !direct_->has_many_seen()) place_last();
    return {std::fmax(answer.lower, 0.0), std::fmin(std::fmax(answer.upper, kSmallest), 1.0)};
}

Bracket CurveSolver::epsilon(double delta, double known) {
    if (const std::optional<Bracket> closed = closed_epsilon(c_, pair_, delta)) return *closed;
    if (is_held(known, delta)) return {-kInfinity, known};
    Bracket answer = contour_.epsilon(delta);
    if (!narrow(answer, kNarrow)) {
        if (is_enough(known, delta)) return {-kInfinity, known};
        if (direct_->is_enough_at_zero(delta)) return {-kInfinity, 0.0};
        answer = placed_epsilon(delta);
    }
    if (std::isnan(answer.lower)) answer = new_epsilon(delta);
    if (answer.lower > 0.0 && narrow(answer, kNear)) last_ = 0.5 * (answer.lower + answer.upper);
    held_ = {answer.upper, delta};
    return answer;
}

Bracket CurveSolver::new_epsilon(double delta) {
    if (replaces()) {
        const Bracket split = split_epsilon(delta);
        return narrow(split, kUseful) ? split : common(split, direct_->epsilon(delta));
    }
    Bracket answer = kNoBracket;
    if (contour_.place_for_delta(delta)) answer = contour_.epsilon(delta);
    if (narrow(answer, kUseful)) return answer;
    answer = common(answer, quick_epsilon(c_, direction_, delta));
    if (!narrow(answer, kUseful)) answer = common(answer, direct_->epsilon_of_seen(delta));
    if (narrow(answer, kUseful)) return answer;
    const auto place_last = [&] {
        Contour line(c_.steps, {}, direction_, kLastEffort);
        if (line.place_for_delta(delta)) answer = common(answer, line.epsilon(delta));
    };
    if (direct_->has_many_seen()) place_last();
    if (!narrow(answer, kUseful)) answer = common(answer, split_epsilon(delta));
    if (!narrow(answer, kUseful)) answer = common(answer, direct_->epsilon(delta));
    if (!narrow(answer, kUseful) && !direct_->has_many_seen()) place_last();
    return answer;
}

PrivacyCurve::PrivacyCurve(std::span<const SampledStep> steps, SampledPair pair)
    : solver_(std::make_unique<CurveSolver>(sorted_steps(steps).steps, std::span<const SampledStep>{}, pair)) {
    solver_->set(steps, 1.0);
}

PrivacyCurve::~PrivacyCurve() = default;

void PrivacyCurve::delta(std::span<const double> epsilons, std::span<const double> known, Bracket* answers) {
    for (std::size_t i = 0; i < epsilons.size(); ++i)
        answers[i] = solver_->delta(epsilons[i], known.empty() ? -kInfinity : known[i]);
}

void PrivacyCurve::epsilon(std::span<const double> deltas, std::span<const double> known, Bracket* answers) {
    for (std::size_t i = 0; i < deltas.size(); ++i)
        answers[i] = solver_->epsilon(deltas[i], known.empty() ? -kInfinity : known[i]);
}

double PrivacyCurve::rough_delta(double epsilon) const noexcept { return solver_->rough_delta(epsilon); }

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
