// Placing a contour: the limit, the saddle point and the step. See the header for the certificate.
#include "renyi/curve/contour.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "renyi/curve/contour_sum.hpp"
#include "renyi/loss/sampled_gaussian.hpp"
#include "renyi/transform/measure_inversion.hpp"
#include "renyi/transform/node_sum.hpp"

namespace renyi {

namespace {

// Tuning: these affect width and time, not validity.
constexpr int kMostPlacements = 6;
constexpr double kFirstGuess = -40.0;  // the first guess of log delta, which sets the limit of the losses
constexpr double kRefinement = 20.0;   // the largest change of log delta from one placement to the next
constexpr double kNextToOne = 0.9;     // delta from which 1 - delta is read
constexpr double kBelow = 1.3;         // deviations of epsilon below the mean, from which it is read too
constexpr double kMostErrorOfRest = 1e-12;  // the largest error of delta with which it is
constexpr double kFirstReach = 0.6;    // in spreads; here a Gaussian transform loses an eighth and others gain

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
    const TiltedMoment origin = tilted_moment({all, direction_, limit_}, 0.0);
    if (epsilon < origin.first - kBelow * std::sqrt(origin.second) &&
        place_rest(rest_saddle_at_epsilon({all, direction_, limit_}, epsilon), epsilon))
        return true;
    const Saddle whole = saddle_at_epsilon({all, direction_, limit_}, epsilon);
    const bool beyond = reaches(whole, limit_for(all, kFirstGuess - effort_.depth));
    if (!beyond && !(whole.is_short && leaves_out())) return place(whole, epsilon);
    if (!leaves_out()) return false;
    // Move the limit out until the mass beyond it is negligible against delta.
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
    if (delta > kNextToOne) {
        const Saddle rest = rest_saddle_at_delta({all, direction_, limit_}, delta);
        if (place(rest, rest.epsilon())) return true;
    }
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

// Places contours for a sequence of epsilons that approaches the answer. It starts at the epsilon of the Gaussian with
// the same mean and variance.
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

// Whether the tilted law has a peak beyond the limit, at outputs of negligible probability.
bool Contour::reaches(const Saddle& saddle, double limit) const noexcept {
    if (direction_ == Direction::add) return false;
    if (saddle.tilt == 0.0) return true;
    return std::any_of(steps_.begin(), steps_.end(), [&](const SampledStep& s) {
        return s.q < 1.0 && order_of(direction_, saddle.tilt) > limit * s.sigma;
    });
}

// Where K is known well enough: its error is one of log (1 - delta), of which an epsilon depends less.
bool Contour::place_rest(const Saddle& saddle, double epsilon) {
    const double error = saddle.at.error * std::exp(std::min(saddle.log_estimate(), 0.0));
    return error < kMostErrorOfRest && place(saddle, epsilon);
}

// Chooses step and nodes for a bracket about e^-depth wide. The saddle-point formula is far above delta if most of the
// mass at the saddle point has loss 0; then the sum itself tells how much finer it has to be.
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

// Derives the step from the aliasing bounds: the distance D = 2 pi/h at which both are e^-depth of delta.
bool Contour::discretise(double log_delta, double epsilon) noexcept {
    const double spread = std::sqrt(2.0 * depth() / total([](const Group& g) { return g.at.second; }));
    const auto distance = [&](const Bound& bound) {
        const double s = bound.tilt;
        const double level = value_of(bound) - s * epsilon + log_kernel_peak(s) - log_delta + depth() + 1.0;
        return level / std::fabs(t_ - s);
    };
    below_ = reads_rest() ? Bound{-1.0} : Bound{};  // K(-1) = 0
    double left = distance(below_);
    if (t_ - below_.tilt > 2.0 * spread) {
        const Bound bound = bound_at(exact_tilt(direction_, t_ - spread));
        if (const double d = distance(bound); d < left) {
            left = d;
            below_ = bound;
        }
    }
    double right = kInfinity;
    if (reads_rest()) {
        above_ = {};
        right = distance(above_);
    }
    for (double reach = kFirstReach * spread; reach > 1e-3 * spread; reach *= 0.5) {
        if (reads_rest() && !(t_ + reach < 0.0)) continue;
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
    step_ = 2.0 * std::numbers::pi / period;
    return period > 0.0 && period < kInfinity;
}

// Reading a placed contour: the trapezoidal sum, its errors, and the brackets of delta and epsilon.

namespace {

// Tuning: these affect width and time, not validity.
constexpr double kFound = 1e-7;  // error of log delta after which one more Newton step is exact
constexpr int kMostWidenings = 24;
constexpr double kLongest = 2.0;  // the longest Newton step, in deviations of the tilted sum

}  // namespace

Contour::Sum Contour::sum(double epsilon) const noexcept {
    const double first = total([](const Group& g) { return g.at.first; });
    const double second = total([](const Group& g) { return g.at.second; });
    const double count = total([](const Group& g) { return g.total_count; });
    const double value_at = total([](const Group& g) { return g.at.value; });
    const Group &fixed = groups_[0], &repeated = groups_[1];
    const LineSums line = sum_line({{fixed.log_modulus.data(), repeated.log_modulus.data()},
                                    {fixed.phase.data(), repeated.phase.data()},
                                    nodes_,
                                    repeated.times,
                                    t_,
                                    step_,
                                    first - epsilon,
                                    rounding_,
                                    second,
                                    2.0 * count,  // sum count E min(y^2 d^2/2, 2 + 2 |y d|), by Cauchy-Schwarz
                                    2.0 * std::sqrt(count * second),
                                    rounding_of_mean_ * size_of_mean(first)});
    const double value = 0.5 + line.value, unit = std::fabs(t_) * (t_ + 1.0);
    const double y = static_cast<double>(nodes_) * step_;
    const double tail = std::exp(total([](const Group& g) { return g.log_tail; })) * unit / (step_ * y);
    const double exponent = value_at - t_ * epsilon;
    const double absolute = total([](const Group& g) { return g.at.error; }) +
                            2.0 * kUnitRoundoff * (std::fabs(value_at) + std::fabs(t_ * epsilon));
    const LineFactor factor = line_factor(t_, step_, 1.0);
    const double log_value = std::log(value);
    return {exponent + factor.log + log_value, (line.slope - 0.5 * t_) / value,
            kUnitRoundoff * (line.error / value + 16.0 + 4.0 * std::fabs(log_value) + std::fabs(exponent)) +
                factor.rounding + absolute + tail / value};
}

// A bound of sum E |L|, which the rounding of K'(t) is relative to. At t < 0 losses of both signs cancel. With r the
// sum of -log(1-q) those of sampled steps are at most r on one side, so that their sum E |L| <= |sum E L| + 2 r.
// Gaussian steps have the sign of t + 1/2. If sampled ones have the other, their |sum E L| <= r, since K is convex, 0
// at -1 and 0, and at least (1+t) log(1-q) a step (remove) or |t| log(1-q) (add).
double Contour::size_of_mean(double mean) const noexcept {
    if (!reads_rest()) return std::fabs(mean);
    const double r = total([&](const Group& g) {
        double sum = 0.0;
        for (const SampledStep& s : steps_of(g)) sum -= s.q < 1.0 ? s.count * std::log1p(-s.q) : 0.0;
        return sum;
    });
    return std::fabs(mean) + 3.0 * r;
}

double Contour::log_aliasing(double epsilon) const noexcept {
    const double period = 2.0 * std::numbers::pi / step_;
    const auto log_bound = [&](const Bound& bound) {
        const double s = bound.tilt, ratio = std::exp(-std::fabs(t_ - s) * period);
        return value_of(bound) - s * epsilon + log_kernel_peak(s) + std::log(ratio / (1.0 - ratio));
    };
    const double a = log_bound(below_), b = log_bound(above_);
    return std::max(a, b) + std::log1p(std::exp(-std::fabs(a - b))) + 1e-9;
}

Bracket Contour::delta(double epsilon) const noexcept {
    if (nodes_ == 0) return kNoBracket;
    const Sum s = sum(epsilon);
    const double alias = std::exp(log_aliasing(epsilon) - s.log_value) + kUnitRoundoff;
    if (reads_rest()) {
        const double rest = std::exp(s.log_value);
        return {std::fmax(std::nextafter(1.0 - rest * (1.0 + s.error + kUnitRoundoff), 0.0), 0.0),
                std::fmin(std::nextafter(1.0 - rest * std::max(1.0 - s.error - alias, 0.0), 2.0), 1.0)};
    }
    const double value = std::exp(s.log_value), beyond = total([](const Group& g) { return g.beyond; });
    const double upper = std::max(value * (1.0 + s.error) + beyond, kSmallestNormal);
    return {std::max(0.0, value * (1.0 - s.error - alias)), std::isnan(upper) ? 1.0 : std::min(upper, 1.0)};
}

// Newton's method on the fixed contour, then steps outward until both ends are proven. The first step outward is the
// error of log delta over the slope; where delta is next to 1 the slope is less than the errors, and steps double.
Bracket Contour::epsilon(double delta) const noexcept {
    if (nodes_ == 0) return kNoBracket;
    const double log_goal = reads_rest() ? std::log1p(-delta) : std::log(delta), fall = reads_rest() ? -1.0 : 1.0;
    // Where delta is next to 1, Newton's step would leave the range of the sum.
    const double farthest = kLongest * std::sqrt(total([](const Group& g) { return g.at.second; }));
    double epsilon = guess_;
    Sum s = sum(epsilon);
    for (int i = 0; i < 20; ++i) {
        const double newton = (log_goal - s.log_value) / s.slope, move = std::clamp(newton, -farthest, farthest);
        if (!std::isfinite(newton) || !(fall * s.slope < 0.0)) return kNoBracket;
        epsilon += move;
        if (std::fabs(move * s.slope) < kFound) break;
        s = sum(epsilon);
    }
    const double slack = 8.0 * kUnitRoundoff * (1.0 + std::fabs(log_goal));
    const double beyond = std::log1p(-total([](const Group& g) { return g.beyond; }) / delta);
    const auto above = [&](double, const Sum& here) { return here.error + slack - beyond; };
    const auto below = [&](double at, const Sum& here) {
        return slack - std::log1p(-here.error - std::exp(log_aliasing(at) - here.log_value));
    };
    const auto end = [&](double direction, auto error) {
        double move = 1.25 * error(epsilon, s) / std::fabs(s.slope);
        for (int turn = 0; turn < kMostWidenings; ++turn, move *= 2.0) {
            const double at = epsilon + direction * move;
            const Sum here = sum(at);
            if (direction * fall * (log_goal - here.log_value) >= error(at, here)) return at;
        }
        return kNaN;
    };
    const Bracket found = reads_rest() ? Bracket{end(-1.0, above), end(1.0, below)}
                                       : Bracket{end(-1.0, below), end(1.0, above)};
    return std::isnan(found.lower + found.upper) ? kNoBracket : found;
}

// The transform at the nodes of a placed contour, and the number of nodes.

namespace {

// Tuning: affects time, not validity.
constexpr double kFirstNodes = 2.0;  // nodes, relative to a Gaussian transform; other transforms fall more slowly

}  // namespace

// Computes K(t) and the tilted laws. While log A is small its derivative is right to a few u relatively; beyond, the
// mean of the tilted law itself is more accurate.
void Contour::make_laws(const TiltedMoment& at) {
    const bool alone = steps_.size() == 1 && groups_[1].times == 1.0;
    const double order = order_of(direction_, t_), sign = direction_ == Direction::remove ? 1.0 : -1.0;
    laws_.clear();
    for (Group& g : groups_) {
        g.at = {};
        for (const SampledStep& s : steps_of(g)) {
            const TiltedMoment m = alone ? at : tilted_moment({{&s, 1}, direction_, limit_}, t_);
            double mean = sign * m.first / s.count;
            laws_.emplace_back(s.q, s.sigma, direction_, order, mean, std::log(s.count * groups_[1].times), limit_);
            if (s.q < 1.0 && (reads_rest() || m.value > s.count)) mean = laws_.back().recentre(line_);
            g.at.value += m.value;
            g.at.error += m.error;
            g.at.first += sign * s.count * mean;
            g.at.second += m.second;
        }
        g.at.error += std::fabs(g.at.value) * kUnitRoundoff * static_cast<double>(g.last - g.first);
    }
}

bool Contour::sum_nodes(double log_delta, double epsilon) {
    for (Group& g : groups_) {
        g.log_modulus.clear();
        g.phase.clear();
    }
    nodes_ = 0;
    // The nodes beyond y add at most e^{K(t) - t eps} rho / (pi y).
    const double level = total([](const Group& g) { return g.at.value; }) - t_ * epsilon - log_delta + depth();
    const double natural = std::sqrt(2.0 * depth() / total([](const Group& g) { return g.at.second; })) / step_;
    const double most = static_cast<double>(effort_.most_nodes);
    std::size_t wanted = static_cast<std::size_t>(std::min(kFirstNodes * natural, most));
    while (nodes_ < effort_.most_nodes) {
        if (!add_nodes((wanted / kLanes + 1) * kLanes)) return false;
        const double y = static_cast<double>(nodes_) * step_;
        const double here =
            total([&](const Group& g) { return *std::max_element(g.log_modulus.end() - kLanes, g.log_modulus.end()); });
        if (std::isnan(here)) return false;
        const double weight = level - std::log(std::numbers::pi * y);
        if (here + weight < 0.0) {
            bound_tails();
            if (total([](const Group& g) { return g.log_tail; }) + weight < 0.0) return true;
        }
        wanted = nodes_ + nodes_ / 4;
    }
    return false;
}

// Adds nodes up to `count` in all, one law after the other. False if that is too much work.
bool Contour::add_nodes(std::size_t count) {
    const std::size_t first = nodes_;
    const double last = static_cast<double>(count) * step_;
    rounding_ = rounding_of_mean_ = 0.0;
    for (const TiltedLaw& law : laws_) {
        work_ += static_cast<double>(count - first) * law.cost(last);
        rounding_ = std::max(rounding_, law.rounding(last));
        rounding_of_mean_ = std::max(rounding_of_mean_, law.rounding_of_mean());
    }
    if (!(work_ < most_work())) return false;
    for (Group& g : groups_) {
        g.phase.resize(count, 0.0);
        for (std::size_t j = first; j < count; ++j) {
            const double y = static_cast<double>(j + 1) * step_;
            g.log_modulus.push_back(-0.5 * g.gaussian * y * y);
        }
        for (std::size_t i = g.first; i < g.last; ++i)
            if (steps_[i].q != 1.0) add_law(i, first, g);
    }
    nodes_ = count;
    return true;
}

// Adds one law at the nodes from `first` on.
void Contour::add_law(std::size_t law, std::size_t first, Group& g) {
    const double last = static_cast<double>(g.phase.size()) * step_;
    laws_[law].lay(last, step_, line_);
    for (std::size_t j = first; j < g.phase.size(); j += kLanes)
        laws_[law].add_log_characteristic(line_, static_cast<double>(j + 1), steps_[law].count, &g.log_modulus[j],
                                          &g.phase[j]);
}

// Bounds the transform beyond the last node.
void Contour::bound_tails() {
    const double last = static_cast<double>(nodes_) * step_;
    for (Group& g : groups_) {
        g.log_tail = -0.5 * g.gaussian * last * last;
        for (std::size_t i = g.first; i < g.last; ++i) {
            if (steps_[i].q == 1.0) continue;
            laws_[i].lay(last, step_, line_);
            g.log_tail += steps_[i].count * laws_[i].log_decay(line_, last);
        }
    }
}

}  // namespace renyi
