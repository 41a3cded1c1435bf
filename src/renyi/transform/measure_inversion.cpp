#include "renyi/transform/measure_inversion.hpp"

#include <algorithm>
#include <cmath>

#include "renyi/transform/hockey_stick_kernel.hpp"

namespace renyi {

namespace {

constexpr double kPi = 0x1.921fb54442d18p1;
constexpr double kBoundTarget = 12.0;  // nats, of the nodes of Chernoff's bound
constexpr double kMostKurtosis = 2.0;
constexpr double kSaddle = 0.03;    // relative
constexpr double kDecrement = 0.1;  // twice the nats to the saddle point
constexpr double kLongest = 2.0;    // of Newton's steps, in log t
constexpr double kLeastTilt = 3.0, kWorthLifting = 1.2;  // the first in deviations of the sum
constexpr double kMostSpent = 8.0;                       // nats
constexpr int kMostTurns = 60, kMostPlacements = 5;

// log(e^d - 1)
double log_expm1(double d) noexcept { return d > 30.0 ? d : std::log(std::expm1(d)); }

}  // namespace

MeasureInversion::MeasureInversion(Measure measure, std::vector<SplitStep> steps, double gaussian)
    : measure_(measure), steps_(std::move(steps)), gaussian_(gaussian), count_(0.0) {
    for (const SplitStep& s : steps_) {
        if (s.law.is_ratio()) shift_ = 0.0;
        count_ += s.count;
        rough_.push_back({WindowedLaw(s.law, s.base), {}});
        if (has_jumps()) rough_.back().jump.emplace(s.law, s.jump);
    }
}

std::vector<MeasureInversion::StepMoments> MeasureInversion::rough_moments(double t) const {
    std::vector<StepMoments> result;
    for (const Part& p : rough_)
        result.push_back(
            {p.base.nodes().rough_moment(t), has_jumps() ? p.jump->nodes().rough_moment(t) : WindowedMoment{}});
    return result;
}

std::vector<MeasureInversion::StepMoments> MeasureInversion::moments(double t) const {
    std::vector<StepMoments> result;
    for (std::size_t i = 0; i < steps_.size(); ++i)
        result.push_back({fine_[i].base.moment(t, steps_[i].is_weighed ? &steps_[i].left_out : nullptr),
                          has_jumps() ? fine_[i].jump->nodes().moment(t) : WindowedMoment{}});
    return result;
}

// With r = f/b:  log M = sum k log b + log(e^g - 1),  g = sum k log(1 + r).
MeasureInversion::LogMeasure MeasureInversion::log_measure(const std::vector<StepMoments>& at, double t) const {
    LogMeasure m{0.5 * gaussian_ * t * (t + 1.0), 0.0, 0.5 * gaussian_ * (2.0 * t + 1.0), gaussian_};
    m.error = 4.0 * kUnitRoundoff * m.value;
    double grown = 0.0, slope = 0.0, bend = 0.0, grown_error = 0.0;
    for (std::size_t i = 0; i < steps_.size(); ++i) {
        const double k = steps_[i].count;
        const WindowedMoment &b = at[i].base, &f = at[i].jump;
        m.value += k * b.value;
        m.error += k * b.error;
        m.mean += k * b.mean;
        m.curvature += k * b.variance;
        if (!has_jumps()) continue;
        const double ratio = f.value - b.value, r = std::exp(std::min(ratio, 600.0)), part = r / (1.0 + r);
        const double apart = f.mean - b.mean;
        grown += k * (ratio < 600.0 ? std::log1p(r) : ratio);
        slope += k * part * apart;
        bend += k * part * (apart * apart / (1.0 + r) + f.variance - b.variance);
        grown_error += k * part * (f.error + b.error + 8.0 * kUnitRoundoff);
    }
    if (has_jumps()) {
        const double factor = grown > 1e-300 ? -1.0 / std::expm1(-grown) : 1e300;
        m.value += log_expm1(grown);
        m.mean += slope * factor;
        m.curvature += factor * (bend - slope * (slope * (factor - 1.0)));
        m.error += grown_error * factor + kUnitRoundoff * (8.0 + std::fabs(grown));
    }
    m.error += 4.0 * kUnitRoundoff * std::fabs(m.value);
    return m;
}

// e of the certificate, over all laws, to the power.
double MeasureInversion::node_error(const std::vector<StepMoments>& at, double t, double y) const {
    double e = 0.0;
    for (std::size_t i = 0; i < steps_.size(); ++i) {
        e = std::max(e, std::exp(fine_[i].base.log_node_error(t, at[i].base.value, y)));
        if (has_jumps()) e = std::max(e, std::exp(fine_[i].jump->log_node_error(t, at[i].jump.value, y)));
    }
    return std::expm1(count_ * e);
}

MeasureInversion::Bound MeasureInversion::certified(double t) const {
    const std::vector<StepMoments> at = moments(t);
    const LogMeasure m = log_measure(at, t);
    return {t, m.value + m.error + std::log1p(2.0 * node_error(at, t, 0.0)) + 1e-12};
}

double MeasureInversion::log_peak(double tilt) const noexcept {
    return shift_ == 0.0 ? log_excess_peak(tilt) : log_kernel_peak(tilt);
}

double MeasureInversion::log_chernoff(const Bound& b, double epsilon) const noexcept {
    return b.log_measure - b.tilt * epsilon + log_peak(b.tilt);
}

double MeasureInversion::log_chernoff(double epsilon) const noexcept {
    return at_.value - tilt_ * epsilon + log_peak(tilt_);
}

// The saddle point of log M(t) - t eps - log t - log(t + shift), which is convex: Newton's method in log t within a
// bracket.
void MeasureInversion::approach(double epsilon) {
    double width = kInfinity;
    for (const SplitStep& s : steps_)
        for (const LossWindow* w : {&s.base, &s.jump})
            for (const LossStep& step : *w) width = std::min(width, step.width);
    const double farthest = 20.0 / width;
    for (Part& p : rough_) {
        p.base.discretise_roughly(farthest);
        if (has_jumps()) p.jump->discretise_roughly(farthest);
    }
    double low = 0.0, high = farthest, t = std::min(10.0 / std::fabs(epsilon), 0.5 * farthest);
    for (int turn = 0; turn < kMostTurns; ++turn) {
        moments_ = rough_moments(t);
        at_ = log_measure(moments_, t);
        tilt_ = t;
        const double slope = at_.mean - epsilon - 1.0 / t - 1.0 / (t + shift_);
        const double kernel = 1.0 / (t * t) + 1.0 / ((t + shift_) * (t + shift_));
        curvature_ = std::max(at_.curvature + kernel, 1.0 / (t * t));
        (slope < 0.0 ? low : high) = t;
        if ((t == farthest && slope < 0.0) || high < low * (1.0 + kSaddle)) break;
        const double move = -slope / (t * curvature_);
        const bool is_near = std::fabs(move) < kSaddle;
        if (is_near && slope * slope < kDecrement * curvature_) break;
        // Where the slope grows exponentially Newton's steps are short: the bracket is halved.
        const double middle = low > 0.0 ? std::sqrt(low * high) : 0.5 * t;
        double next = is_near ? middle : t * std::exp(std::clamp(move, -kLongest, kLongest));
        if (!(next < high)) next = high == farthest ? farthest : middle;
        t = next > low ? next : middle;
    }
    log_estimate_ =
        at_.value - t * epsilon - std::log(t) - std::log(t + shift_) - 0.5 * std::log(2.0 * kPi * curvature_);
    lift_tilt(epsilon, farthest);
}

// Inside the bulk of the sum the saddle point is so near 0 that what lies below eps dies slowly; a few nats are spent
// on a larger tilt, unless the law has a peak of its own out there.
void MeasureInversion::lift_tilt(double epsilon, double farthest) {
    double t = std::min(kLeastTilt / std::sqrt(at_.curvature), farthest);
    if (!(t > tilt_ * kWorthLifting)) return;
    std::vector<StepMoments> moments = rough_moments(t);
    LogMeasure at = log_measure(moments, t);
    const auto spent = [&] { return at.value - t * epsilon - (at_.value - tilt_ * epsilon); };
    // Of `add`, whose sums are mostly beyond eps: half of that, and half again.
    for (int turn = 0; turn < 4 && pair() == SampledPair::add && !(spent() < kMostSpent); ++turn) {
        t *= 0.5;
        if (!(t > tilt_ * kWorthLifting)) return;
        moments = rough_moments(t);
        at = log_measure(moments, t);
    }
    if (!(spent() < kMostSpent)) return;
    moments_ = moments;
    at_ = at;
    tilt_ = t;
    curvature_ = std::max(at.curvature, 0.0) + 1.0 / (t * t) + 1.0 / ((t + shift_) * (t + shift_));
}

// A tilted sum of few large losses is far from normal: its fourth cumulant tells.
bool MeasureInversion::is_smooth(double epsilon, double log_scale, double depth, double few_nodes) {
    double variance = gaussian_, fourth = 0.0;
    for (std::size_t i = 0; i < steps_.size(); ++i) {
        variance += steps_[i].count * moments_[i].base.variance;
        fourth += steps_[i].count * rough_[i].base.nodes().fourth_cumulant(tilt_, moments_[i].base);
    }
    if (!(fourth < kMostKurtosis * variance * variance)) return false;
    plan_ = plan(epsilon, log_scale, depth);
    return plan_->end < few_nodes * plan_->step;
}

// Chernoff's bound at the tilt: the moments of the jumps from cells, a few nats too large.
bool MeasureInversion::bound_only(bool failed) {
    placed_ = false;
    bounded_ = true;
    failed_ = failed;
    double log_base = 0.5 * gaussian_ * tilt_ * (tilt_ + 1.0) * (1.0 + 0x1p-50), grown = 0.0;
    for (std::size_t i = 0; i < steps_.size(); ++i) {
        WindowedLaw& base = rough_[i].base;
        WindowedMoment b{base.log_moment_bound(tilt_), 0.0, 0.0, 0.0, 0.0};
        double above = b.value;
        if (base.discretise(tilt_, 0.0, kBoundTarget + std::log(count_), tilt_)) {
            b = base.moment(tilt_, steps_[i].is_weighed ? &steps_[i].left_out : nullptr);
            above = std::min(above, b.value + b.error + std::log1p(std::exp(base.log_node_error(tilt_, b.value))));
        }
        log_base += steps_[i].count * (above + 1e-15);
        if (has_jumps())  // 1 + f/b falls in b: where b is taken too large, f is in proportion
            grown += steps_[i].count *
                     std::log1p(std::exp(rough_[i].jump->log_moment_bound(tilt_) - b.value + b.error + 1.0));
    }
    chernoff_ = {tilt_, log_base + (has_jumps() ? log_expm1(std::max(grown, 1e-300)) : 0.0) + 1e-9};
    return false;
}

bool MeasureInversion::place(double epsilon, double log_scale, double depth, double most_work) {
    if (log_chernoff(epsilon) < log_scale - depth - 1.0) return bound_only(false);
    double goal = std::max(log_estimate_, log_scale);
    for (int turn = 0; turn < kMostPlacements; ++turn) {
        const Line line = plan_ && plan_->goal == goal ? *plan_ : plan(epsilon, goal, depth);
        step_ = line.step;
        if (!(line.end < kInfinity) || !make_nodes(line.end, most_work)) return bound_only(true);
        sum_nodes(line.end);
        log_tail_ = log_tail(fine_, static_cast<double>(nodes_.size()) * step_);
        below_ = certified(below_.tilt);
        above_ = certified(above_.tilt);
        placed_ = true;
        const double found = std::log(read(epsilon).value);
        if (goal == log_scale || found > goal - 1.0) return true;
        goal = std::max(log_scale, std::isnan(found) ? goal - 20.0 : std::max(found - 0.5, goal - 20.0));
        moments_ = rough_moments(tilt_);
        at_ = log_measure(moments_, tilt_);
    }
    return true;
}

void MeasureInversion::release() noexcept {
    rough_.clear();
    fine_.clear();
    moments_.clear();
    decay_.clear();
    base_.clear();
    jump_.clear();
}

}  // namespace renyi
