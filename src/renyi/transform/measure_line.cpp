// Where the nodes of a measure's line lie, and how many there are.
#include <algorithm>
#include <cmath>

#include "renyi/transform/hockey_stick_kernel.hpp"
#include "renyi/transform/measure_inversion.hpp"

namespace renyi {

namespace {

constexpr double kPi = 0x1.921fb54442d18p1;
constexpr double kMostNodes = 4096.0, kMostOfRemove = 16384.0;  // tiny deltas and epsilons next to 0
constexpr double kEndSlack = 6.0;  // nats
constexpr double kSteep = 0.25;    // relative distance of the tilts of a normal law
constexpr int kMostEnds = 12;

double log_expm1(double d) noexcept { return d > 30.0 ? d : std::log(std::expm1(d)); }

}  // namespace

// The period D at which aliasing is e^-depth of the value, with the tilts of both bounds.
double MeasureInversion::find_period(double epsilon, double log_value, double depth) {
    const auto distance = [&](double s) {
        const double log_bound = log_measure(rough_moments(s), s).value - s * epsilon + log_peak(s);
        return std::max(log_bound - log_value + depth, 1.0) / std::fabs(tilt_ - s);
    };
    const auto search = [&](std::initializer_list<double> parts, double enough, Bound& bound) {
        double best = kInfinity;
        for (const double part : parts) {
            const double d = distance(part * tilt_);
            if (!(d < best)) break;
            best = d;
            bound.tilt = part * tilt_;
            if (best < enough) break;
        }
        return best;
    };
    // Where log M bends steeply, as of tiny deltas that several large losses make, the tilts lie near.
    const double reach = std::sqrt(2.0 * depth / curvature_) / tilt_;
    if (reach < kSteep) {
        const double left = search({1.0 - 0.5 * reach, 1.0 - reach, 1.0 - 1.5 * reach}, 0.0, below_);
        return std::max(left, search({1.0 + 0.25 * reach, 1.0 + 0.5 * reach, 1.0 + reach}, left, above_));
    }
    Bound nearer{}, farther{};
    const double near = search({0.6, 0.75, 0.87}, 0.0, nearer), far = search({0.4, 0.2, 0.0}, 0.0, farther);
    below_ = near < far ? nearer : farther;
    const double left = std::min(near, far);
    return std::max(left, search({1.15, 1.3, 1.6, 2.0, 2.7, 4.0, 8.0}, left, above_));
}

void MeasureInversion::start_decay(const std::vector<Part>& parts) {
    decay_.clear();
    if (!bases_decay()) return;
    for (const Part& p : parts) decay_.emplace_back(p.base.nodes(), tilt_, p.base.decay_angle(), p.base.left_out());
}

// log of a bound of |M(z)|/M(t) for all Im z >= y.
double MeasureInversion::log_tail(const std::vector<Part>& parts, double y) const {
    double log_value = -0.5 * gaussian_ * y * y, grown = 0.0;
    for (std::size_t i = 0; i < steps_.size(); ++i) {
        const double k = steps_[i].count, f = moments_[i].jump.value;
        const double decay = bases_decay() ? decay_[i].log_bound(y) : 0.0;
        if (!has_jumps()) {
            log_value += k * decay;
            continue;
        }
        const double b = moments_[i].base.value + decay;
        log_value += k * b;
        grown += k * std::log1p(std::exp(f + parts[i].jump->log_decay_by_cells(tilt_, y, f) - b));
    }
    if (!has_jumps()) return log_value;
    return log_value + 0.5 * gaussian_ * tilt_ * (tilt_ + 1.0) + log_expm1(grown) - at_.value;
}

// The ordinate beyond which all that is left out is e^-depth of the value; infinite beyond kMostNodes.
double MeasureInversion::find_end(double step, double epsilon, double log_value, double depth) const {
    const double most = steps_.front().law.pair == SampledPair::remove ? kMostOfRemove : kMostNodes;
    const double level = at_.value - tilt_ * epsilon - log_value + depth, farthest = most * step;
    double y = std::min(std::sqrt(2.0 * std::max(level, 2.0) / curvature_), farthest), reached = 0.0;
    for (int turn = 0; turn < kMostEnds; ++turn) {
        const double tail = log_tail(rough_, y), lacking = tail + level - std::log(kPi * y);
        if (lacking < 0.0) {
            if (lacking > -kEndSlack || y < 1.1 * reached) return y;
            const double closer = std::max(0.8 * y, 0.5 * (y + reached));
            if (log_tail(rough_, closer) + level - std::log(kPi * closer) < 0.0) return closer;
            return y;
        }
        if (y >= farthest) return kInfinity;
        reached = y;
        // As if the tail fell like that of a normal law.
        const double factor = tail < -1.0 ? std::sqrt(1.0 + 1.1 * lacking / -tail) : 3.0;
        y = std::min(std::clamp(factor, 1.05, 3.0) * y, farthest);
    }
    return kInfinity;
}

MeasureInversion::Line MeasureInversion::plan(double epsilon, double log_value, double depth) {
    start_decay(rough_);
    const double step = 2.0 * kPi / find_period(epsilon, log_value, depth);
    return {log_value, step, find_end(step, epsilon, log_value, depth)};
}

bool MeasureInversion::make_nodes(double y, double most_work) {
    const double target = 40.0 + std::log(count_);
    const double last = y + kLanes * step_;  // nodes come in blocks
    double points = 0.0;
    fine_ = rough_;
    for (Part& p : fine_) {
        if (!p.base.discretise(tilt_, last, target, above_.tilt, bases_decay())) return false;
        points += static_cast<double>(p.base.nodes().size());
        if (!has_jumps()) continue;
        if (!p.jump->discretise(tilt_, last, target, above_.tilt)) return false;
        points += static_cast<double>(p.jump->nodes().size());
    }
    if (!(points * y / step_ < most_work)) return false;
    moments_ = moments(tilt_);
    at_ = log_measure(moments_, tilt_);
    quadrature_ = node_error(moments_, tilt_, last);
    start_decay(fine_);
    base_.clear();
    jump_.clear();
    for (std::size_t i = 0; i < fine_.size(); ++i) {
        base_.emplace_back(fine_[i].base.nodes(), tilt_, moments_[i].base.mean, step_, last);
        if (has_jumps()) jump_.emplace_back(fine_[i].jump->nodes(), tilt_, moments_[i].jump.mean, step_, last);
    }
    return true;
}

}  // namespace renyi
