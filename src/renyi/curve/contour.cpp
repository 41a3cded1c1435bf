// Placing a contour: the limit, the saddle point and the step. See the header for the certificate.
#include "renyi/curve/contour.hpp"

#include <algorithm>
#include <cmath>

#include "renyi/loss/sampled_gaussian.hpp"
#include "renyi/transform/hockey_stick_kernel.hpp"

namespace renyi {

namespace {

constexpr double kPi = 0x1.921fb54442d18p1;
constexpr int kMostPlacements = 6;
constexpr double kFirstGuess = -40.0;  // of log delta, for the limit of the losses
constexpr double kRefinement = 20.0;   // in log delta, from one placement to the next
constexpr double kFirstReach = 0.6;    // in spreads, where a Gaussian transform loses an eighth and others gain

}  // namespace

Contour::Contour(std::span<const SampledStep> fixed, std::span<const SampledStep> repeated, Direction direction,
                 Effort effort)
    : steps_(fixed.begin(), fixed.end()),
      groups_{{0, fixed.size(), 1.0}, {fixed.size(), fixed.size() + repeated.size(), 1.0}},
      direction_(direction),
      effort_(effort) {
    steps_.insert(steps_.end(), repeated.begin(), repeated.end());
    for (Group& g : groups_)
        for (const SampledStep& s : steps_of(g))
            (s.q == 1.0 ? g.gaussian : g.total_count) += s.q == 1.0 ? s.count / (s.sigma * s.sigma) : s.count;
}

void Contour::repeat(double times) noexcept { groups_[1].times = times; }

std::span<const SampledStep> Contour::steps_of(const Group& g) const noexcept {
    return {steps_.data() + g.first, g.last - g.first};
}

std::vector<SampledStep> Contour::repeated_steps() const {
    std::vector<SampledStep> all = steps_;
    for (std::size_t i = groups_[1].first; i < all.size(); ++i) all[i].count *= groups_[1].times;
    return all;
}

bool Contour::place_for_epsilon(double epsilon) {
    work_ = 0.0;
    return place_at_epsilon(epsilon);
}

bool Contour::place_at_epsilon(double epsilon) {
    const std::vector<SampledStep> all = repeated_steps();
    limit_ = kInfinity;
    const Saddle whole = saddle_at_epsilon({all, direction_, limit_}, epsilon);
    const bool beyond = reaches(whole, limit_for(all, kFirstGuess - effort_.depth));
    if (!beyond && !(whole.is_short && leaves_out())) return place(whole, epsilon);
    if (!leaves_out()) return false;
    // The limit is moved out until what lies beyond is negligible against delta.
    double log_delta = kFirstGuess;
    for (int turn = 0; turn < kMostPlacements; ++turn) {
        limit_ = limit_for(all, log_delta - effort_.depth - 1.0);
        if (!place(saddle_at_epsilon({all, direction_, limit_}, epsilon), epsilon)) return false;
        const double found = sum(epsilon).log_value;
        if (found >= log_delta) return true;
        log_delta = std::isnan(found) ? 2.0 * log_delta : found - 1.0;
    }
    return true;
}

bool Contour::place_for_delta(double delta) {
    work_ = 0.0;
    const std::vector<SampledStep> all = repeated_steps();
    const double log_delta = std::log(delta), limit = limit_for(all, log_delta - effort_.depth - 1.0);
    limit_ = kInfinity;
    const Saddle whole = saddle_at_delta({all, direction_, limit_}, log_delta);
    const bool beyond = reaches(whole, limit);
    if (beyond && !leaves_out()) return false;
    if (beyond || (whole.is_short && leaves_out())) {
        limit_ = limit;
        const Saddle saddle = saddle_at_delta({all, direction_, limit_}, log_delta);
        return saddle.tilt > 0.0 && place(saddle, saddle.epsilon());
    }
    if (whole.tilt > 0.0 && place(whole, whole.epsilon())) return true;
    return work_ < most_work() && place_by_epsilon(all, delta);
}

// Contours for epsilons nearer and nearer, from that of the Gaussian with the same mean and variance.
bool Contour::place_by_epsilon(std::span<const SampledStep> all, double delta) {
    const TiltedMoment origin = tilted_moment({all, direction_, kInfinity}, 0.0);
    double epsilon = origin.first + std::sqrt(-2.0 * std::log(delta) * origin.second);
    for (int turn = 0; turn < kMostPlacements; ++turn) {
        if (!place_at_epsilon(epsilon)) return false;
        const Bracket found = this->epsilon(delta);
        if (!(found.upper > found.lower)) return false;
        if (std::fabs(found.upper - epsilon) * t_ < 1.0) return true;
        epsilon = found.upper;
    }
    return false;
}

// Whether the tilted law has a peak beyond the limit, at outputs that are never seen.
bool Contour::reaches(const Saddle& saddle, double limit) const noexcept {
    if (direction_ == Direction::add) return false;
    if (saddle.tilt == 0.0) return true;
    return std::any_of(steps_.begin(), steps_.end(), [&](const SampledStep& s) {
        return s.q < 1.0 && order_of(direction_, saddle.tilt) > limit * s.sigma;
    });
}

// Step and nodes for a bracket about e^-depth wide. Where the saddle-point formula is far above delta, because most of
// the mass at the saddle point is no loss at all, the sum itself tells how much finer it has to be.
bool Contour::place(const Saddle& saddle, double epsilon) {
    nodes_ = 0;
    if (saddle.tilt == 0.0) return false;
    t_ = saddle.tilt;
    guess_ = epsilon;
    make_laws(saddle.at);
    double log_delta = saddle.log_estimate() + std::min(t_ * (saddle.epsilon() - epsilon), 0.0);
    for (int turn = 0; turn < kMostPlacements; ++turn) {
        if (!discretise(log_delta, epsilon) || !sum_nodes(log_delta, epsilon)) {
            nodes_ = 0;
            return false;
        }
        const double found = sum(epsilon).log_value;  // NaN: below the errors
        if (found > log_delta - 1.0) return true;
        log_delta = std::isnan(found) ? log_delta - kRefinement : std::max(found - 1.0, log_delta - kRefinement);
    }
    return true;
}

TiltedMoment Contour::moment_of(const Group& g, double t) const noexcept {
    return tilted_moment({steps_of(g), direction_, limit_}, t);
}

Contour::Bound Contour::bound_at(double t) const noexcept {
    Bound bound{t};
    for (int g = 0; g < kGroups; ++g) {
        const TiltedMoment m = moment_of(groups_[g], t);
        bound.value[g] = m.value + m.error;
    }
    return bound;
}

// The step from the aliasing bounds: the distance D = 2 pi/h at which both are e^-depth of delta.
bool Contour::discretise(double log_delta, double epsilon) noexcept {
    const double spread = std::sqrt(2.0 * effort_.depth / total([](const Group& g) { return g.at.second; }));
    const auto distance = [&](const Bound& bound) {
        const double s = bound.tilt;
        const double level = value_of(bound) - s * epsilon + log_kernel_peak(s) - log_delta + effort_.depth + 1.0;
        return level / std::fabs(t_ - s);
    };
    below_ = {};
    double left = distance(below_);
    if (t_ > 2.0 * spread) {
        const Bound bound = bound_at(exact_tilt(direction_, t_ - spread));
        if (const double d = distance(bound); d < left) {
            left = d;
            below_ = bound;
        }
    }
    double right = kInfinity;
    for (double reach = kFirstReach * spread; reach > 1e-3 * spread; reach *= 0.5) {
        const Bound bound = bound_at(exact_tilt(direction_, t_ + reach));
        const double d = distance(bound);
        if (std::isnan(d)) continue;  // out of reach
        if (!(d < right)) break;
        right = d;
        above_ = bound;
        if (right < 1.3 * left) break;
    }
    for (Group& g : groups_) g.beyond = direction_ == Direction::remove ? mass_beyond(steps_of(g), limit_) : 0.0;
    const double period = std::max(left, right);
    step_ = 2.0 * kPi / period;
    return period > 0.0 && period < kInfinity;
}

}  // namespace renyi
