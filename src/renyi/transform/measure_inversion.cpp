#include "renyi/transform/measure_inversion.hpp"

#include <algorithm>
#include <cmath>
#include <complex>

#include "renyi/transform/hockey_stick_kernel.hpp"

namespace renyi {

namespace {

using Complex = std::complex<double>;

constexpr double kPi = 0x1.921fb54442d18p1;
constexpr double kBoundTarget = 12.0;  // nats, of the nodes of Chernoff's bound
constexpr double kMostTurning = 1e4;   // steps: beyond, absolute errors would be seen
constexpr double kMostNodes = 4096.0, kFewNodes = 1024.0, kMostKurtosis = 2.0;
constexpr double kEndSlack = 6.0;  // nats
constexpr int kMostEnds = 12;
constexpr int kMostTurns = 60, kMostPlacements = 5;

// log(e^d - 1)
double log_expm1(double d) noexcept { return d > 30.0 ? d : std::log(std::expm1(d)); }

Complex log1p_complex(Complex r) noexcept {
    const double re = r.real(), im = r.imag();
    const double half =
        re > -0.5 ? 0.5 * std::log1p(2.0 * re + (re * re + im * im)) : std::log(std::hypot(1.0 + re, im));
    return {half, std::atan2(im, 1.0 + re)};
}

Complex expm1_complex(Complex d) noexcept {
    const double half = std::sin(0.5 * d.imag()), grown = std::expm1(d.real());
    return {grown - 2.0 * (grown + 1.0) * half * half, (grown + 1.0) * std::sin(d.imag())};
}

}  // namespace

MeasureInversion::MeasureInversion(Measure measure, std::vector<SplitStep> steps, double gaussian)
    : measure_(measure), steps_(std::move(steps)), gaussian_(gaussian), count_(0.0) {
    for (const SplitStep& s : steps_) {
        count_ += s.count;
        rough_.push_back({{s.law, s.base}, {s.law, s.jump}});
    }
    fine_ = rough_;
}

MeasureInversion::LogMeasure MeasureInversion::log_measure(const std::vector<Laws>& laws, double t, bool rough) const {
    LogMeasure m{0.5 * gaussian_ * t * (t + 1.0), 0.0, 0.5 * gaussian_ * (2.0 * t + 1.0)};
    m.error = 4.0 * kUnitRoundoff * m.value;
    double grown = 0.0, grown_slope = 0.0, grown_error = 0.0;
    for (std::size_t i = 0; i < steps_.size(); ++i) {
        const double k = steps_[i].count;
        const WindowedMoment b = rough ? laws[i].base.rough_moment(t) : laws[i].base.moment(t, left_out(i));
        m.value += k * b.value;
        m.error += k * b.error;
        m.mean += k * b.mean;
        if (!has_jumps()) continue;
        const WindowedMoment f = rough ? laws[i].jump.rough_moment(t) : laws[i].jump.moment(t, nullptr);
        const double ratio = f.value - b.value;
        const double part = ratio < 0.0 ? std::exp(ratio) / (1.0 + std::exp(ratio)) : 1.0 / (1.0 + std::exp(-ratio));
        grown += k * (ratio < 600.0 ? std::log1p(std::exp(ratio)) : ratio);
        grown_slope += k * part * (f.mean - b.mean);
        grown_error += k * part * (f.error + b.error + 8.0 * kUnitRoundoff);
    }
    if (has_jumps()) {
        const double factor = grown > 1e-300 ? -1.0 / std::expm1(-grown) : 1e300;
        m.value += log_expm1(grown);
        m.mean += grown_slope * factor;
        m.error += grown_error * factor + kUnitRoundoff * (8.0 + std::fabs(grown));
    }
    m.error += 4.0 * kUnitRoundoff * std::fabs(m.value);
    return m;
}

// e of the certificate, over all laws, to the power.
double MeasureInversion::node_error(const std::vector<Laws>& laws, double t, double y) const {
    double e = 0.0;
    for (std::size_t i = 0; i < steps_.size(); ++i) {
        const double b = laws[i].base.moment(t, nullptr).value;
        e = std::max(e, std::exp(laws[i].base.log_node_error(t, b, y)));
        if (has_jumps()) {
            const double f = laws[i].jump.moment(t, nullptr).value;
            e = std::max(e, std::exp(laws[i].jump.log_node_error(t, f, y)));
        }
    }
    return std::expm1(count_ * e);
}

MeasureInversion::Bound MeasureInversion::certified(double t) const {
    const LogMeasure m = log_measure(fine_, t, false);
    return {t, m.value + m.error + std::log1p(2.0 * node_error(fine_, t, 0.0)) + 1e-12};
}

double MeasureInversion::log_chernoff(const Bound& b, double epsilon) const noexcept {
    return b.log_measure - b.tilt * epsilon + log_kernel_peak(b.tilt);
}

// The saddle point of log M(t) - t eps - log t - log(1+t), which is convex: secants within a bracket, in log t.
void MeasureInversion::approach(double epsilon) {
    double width = kInfinity;
    for (const SplitStep& s : steps_)
        for (const LossWindow* w : {&s.base, &s.jump})
            for (const LossStep& step : *w) width = std::min(width, step.width);
    const double farthest = 20.0 / width;
    for (Laws& l : rough_) {
        l.base.discretise_roughly(farthest);
        if (has_jumps()) l.jump.discretise_roughly(farthest);
    }
    const auto slope = [&](double t) {
        return log_measure(rough_, t, true).mean - epsilon - 1.0 / t - 1.0 / (1.0 + t);
    };
    double low = 1e-6 * farthest, high = farthest;
    double at_high = slope(high), at_low = slope(low);
    for (int turn = 0; at_low > 0.0 && turn < 8; ++turn) at_low = slope(low *= 1e-2);
    double t = high;
    if (at_low < 0.0 && at_high > 0.0) {
        for (int turn = 0; turn < kMostTurns && high > low * 1.03; ++turn) {
            const double secant = low + (high - low) * (-at_low / (at_high - at_low));
            const double middle = std::sqrt(low * high);
            t = turn % 3 == 2 || !(secant > low) ? middle : std::clamp(secant, low * 1.01, high / 1.01);
            const double here = slope(t);
            (here < 0.0 ? low : high) = t;
            (here < 0.0 ? at_low : at_high) = here;
        }
    } else if (at_high > 0.0) {
        t = low;
    }
    tilt_ = t;
    const double around = 0.05 * t;
    curvature_ = std::max((slope(t + around) - slope(t - around)) / (2.0 * around), 1.0 / (t * t));
    at_ = log_measure(rough_, t, true);
    log_estimate_ = at_.value - t * epsilon - std::log(t) - std::log1p(t) - 0.5 * std::log(2.0 * kPi * curvature_);
}

// The period D at which aliasing is e^-depth of the value, with the tilts of both bounds.
double MeasureInversion::find_period(double epsilon, double log_value, double depth) {
    const auto distance = [&](double s) {
        const double level = log_measure(rough_, s, true).value - s * epsilon + log_kernel_peak(s) - log_value + depth;
        return std::max(level, 1.0) / std::fabs(tilt_ - s);
    };
    double left = kInfinity, right = kInfinity;
    for (const double part : {0.0, 0.2, 0.4, 0.6, 0.75, 0.87}) {
        const double d = distance(part * tilt_);
        if (d < left) {
            left = d;
            below_.tilt = part * tilt_;
        }
    }
    for (const double part : {1.15, 1.3, 1.6, 2.0, 2.7, 4.0, 8.0}) {
        const double d = distance(part * tilt_);
        if (d < right) {
            right = d;
            above_.tilt = part * tilt_;
        }
        if (right < left) break;
    }
    return std::max(left, right);
}

// log of a bound of |M(z)|/M(t) for all Im z >= y.
double MeasureInversion::log_tail(double y) const {
    double log_value = -0.5 * gaussian_ * y * y, grown = 0.0;
    for (std::size_t i = 0; i < steps_.size(); ++i) {
        const double k = steps_[i].count;
        const WindowedMoment b = fine_[i].base.moment(tilt_, left_out(i));
        if (!has_jumps()) {
            log_value += k * fine_[i].base.log_decay_by_nodes(y);
            continue;
        }
        log_value += k * b.value;
        const double f = fine_[i].jump.moment(tilt_, nullptr).value;
        grown += k * std::log1p(std::exp(f + fine_[i].jump.log_decay_by_cells(y, f) - b.value));
    }
    if (!has_jumps()) return log_value;
    return log_value + 0.5 * gaussian_ * tilt_ * (tilt_ + 1.0) + log_expm1(grown) - at_.value;
}

// The ordinate beyond which all that is left out is e^-depth of the value; infinite beyond kMostNodes.
double MeasureInversion::find_end(double epsilon, double log_value, double depth) const {
    const double level = at_.value - tilt_ * epsilon - log_value + depth, farthest = kMostNodes * step_;
    double y = std::min(std::sqrt(2.0 * std::max(level, 2.0) / curvature_), farthest), reached = 0.0;
    for (int turn = 0; turn < kMostEnds; ++turn) {
        const double tail = log_tail(y), lacking = tail + level - std::log(kPi * y);
        if (lacking < 0.0) {
            if (lacking > -kEndSlack || y < 1.1 * reached) return y;
            const double closer = std::max(0.8 * y, 0.5 * (y + reached));
            if (log_tail(closer) + level - std::log(kPi * closer) < 0.0) return closer;
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

bool MeasureInversion::make_nodes(double y, double most_work) {
    const double target = 40.0 + std::log(count_);
    const double last = y + kLanes * step_;  // nodes come in blocks
    double points = 0.0;
    for (Laws& l : fine_) {
        if (!l.base.discretise(tilt_, last, target, above_.tilt, !has_jumps())) return false;
        if (has_jumps() && !l.jump.discretise(tilt_, last, target, above_.tilt)) return false;
        points += static_cast<double>(l.base.size() + l.jump.size());
    }
    if (!(points * y / step_ < most_work)) return false;
    base_at_.clear();
    jump_at_.clear();
    for (std::size_t i = 0; i < steps_.size(); ++i) {
        const bool turning = steps_[i].count < kMostTurning;
        base_at_.push_back(fine_[i].base.tilt(tilt_, left_out(i), last, turning));
        if (!has_jumps()) fine_[i].base.prepare_decay();
        if (has_jumps()) jump_at_.push_back(fine_[i].jump.tilt(tilt_, nullptr, last));
    }
    at_ = log_measure(fine_, tilt_, false);
    quadrature_ = node_error(fine_, tilt_, last);
    return true;
}

double MeasureInversion::log_chernoff(double epsilon) const noexcept {
    return at_.value - tilt_ * epsilon + log_kernel_peak(tilt_);
}

// A tilted sum of few large losses is far from normal: its fourth cumulant tells.
bool MeasureInversion::is_smooth(double epsilon, double log_scale, double depth) {
    double variance = gaussian_, fourth = 0.0;
    for (std::size_t i = 0; i < steps_.size(); ++i) {
        fine_[i] = rough_[i];
        variance += steps_[i].count * fine_[i].base.tilt(tilt_, left_out(i)).variance;
        fourth += steps_[i].count * fine_[i].base.fourth_cumulant();
        fine_[i].base.prepare_decay();
    }
    if (!(fourth < kMostKurtosis * variance * variance)) return false;
    step_ = 2.0 * kPi / find_period(epsilon, log_scale, depth);
    return find_end(epsilon, log_scale, depth) < kFewNodes * step_;
}

// Chernoff's bound at the tilt: the moments of the jumps from cells, a few nats too large.
bool MeasureInversion::bound_only(bool failed) {
    placed_ = false;
    bounded_ = true;
    failed_ = failed;
    double log_base = 0.5 * gaussian_ * tilt_ * (tilt_ + 1.0) * (1.0 + 0x1p-50), grown = 0.0;
    for (std::size_t i = 0; i < steps_.size(); ++i) {
        WindowedLaw& base = fine_[i].base;
        WindowedMoment b{base.log_moment_bound(tilt_), 0.0, 0.0, 0.0, 0.0};
        double above = b.value;
        if (base.discretise(tilt_, 0.0, kBoundTarget + std::log(count_), tilt_)) {
            b = base.moment(tilt_, left_out(i));
            above = std::min(above, b.value + b.error + std::log1p(std::exp(base.log_node_error(tilt_, b.value))));
        }
        log_base += steps_[i].count * (above + 1e-15);
        if (has_jumps())  // 1 + f/b falls in b: where b is taken too large, f is in proportion
            grown +=
                steps_[i].count * std::log1p(std::exp(fine_[i].jump.log_moment_bound(tilt_) - b.value + b.error + 1.0));
    }
    chernoff_ = {tilt_, log_base + (has_jumps() ? log_expm1(std::max(grown, 1e-300)) : 0.0) + 1e-9};
    return false;
}

bool MeasureInversion::place(double epsilon, double log_scale, double depth, double most_work) {
    if (log_chernoff(epsilon) < log_scale - depth - 1.0) return bound_only(false);
    double goal = std::max(log_estimate_, log_scale);
    for (int turn = 0; turn < kMostPlacements; ++turn) {
        step_ = 2.0 * kPi / find_period(epsilon, goal, depth);
        for (std::size_t i = 0; i < steps_.size(); ++i) {
            fine_[i] = rough_[i];
            fine_[i].base.tilt(tilt_, left_out(i));
            if (!has_jumps()) fine_[i].base.prepare_decay();
            if (has_jumps()) fine_[i].jump.tilt(tilt_, nullptr);
        }
        const double end = find_end(epsilon, goal, depth);
        if (!(end < kInfinity) || !make_nodes(end, most_work)) return bound_only(true);
        nodes_.begin(tilt_, step_);
        const auto blocks = static_cast<std::size_t>(std::ceil(end / step_ / kLanes));
        for (std::size_t block = 0; block < blocks; ++block) sum_block(block);
        log_tail_ = log_tail(static_cast<double>(nodes_.size()) * step_);
        below_ = certified(below_.tilt);
        above_ = certified(above_.tilt);
        placed_ = true;
        const double found = std::log(read(epsilon).value);
        if (goal == log_scale || found > goal - 1.0) return true;
        goal = std::max(log_scale, std::isnan(found) ? goal - 20.0 : std::max(found - 0.5, goal - 20.0));
    }
    return true;
}

void MeasureInversion::sum_block(std::size_t block) {
    const double first = static_cast<double>(block * kLanes + 1);
    Complex log_base[kLanes] = {}, grown[kLanes] = {};
    double base_error[kLanes] = {}, grown_error[kLanes] = {};
    centre_ = 0.5 * gaussian_ * (2.0 * tilt_ + 1.0);
    double log_base_at = 0.5 * gaussian_ * tilt_ * (tilt_ + 1.0), phase_error = 0.0;
    for (std::size_t i = 0; i < steps_.size(); ++i) {
        const double k = steps_[i].count;
        centre_ += k * base_at_[i].mean;
        log_base_at += k * base_at_[i].value;
        phase_error += k * base_at_[i].mean_error;
        double re[kLanes], im[kLanes], fre[kLanes], fim[kLanes];
        fine_[i].base.excess(first, step_, re, im);
        if (has_jumps()) fine_[i].jump.whole(first, step_, fre, fim);
        for (int j = 0; j < kLanes; ++j) {
            const double y = (first + j) * step_;
            const Complex b = Complex{re[j], im[j]};
            const double size = std::abs(1.0 + b), own = fine_[i].base.excess_error(y);
            const Complex log_b = log1p_complex(b);
            log_base[j] += k * log_b;
            base_error[j] += k * (own / std::max(size, 1e-300) + kUnitRoundoff * (4.0 * std::abs(log_b)));
            if (!has_jumps()) continue;
            const double ratio = std::exp(jump_at_[i].value - base_at_[i].value),
                         turn = y * (jump_at_[i].mean - base_at_[i].mean);
            const Complex f = ratio * std::polar(1.0, turn) * Complex{fre[j], fim[j]};
            const double f_error =
                ratio * (fine_[i].jump.whole_error(y) + kUnitRoundoff * (8.0 + 2.0 * std::fabs(turn)) +
                         jump_at_[i].error + base_at_[i].error);
            const Complex r = f / (1.0 + b), whole = 1.0 + b + f;
            const Complex log_r = std::abs(r) < 0.5 ? log1p_complex(r) : std::log(whole) - log_b;
            grown[j] += k * log_r;
            grown_error[j] += k * ((f_error + std::abs(r) * own) / std::max(std::abs(whole), 1e-300) +
                                   kUnitRoundoff * (8.0 * std::abs(log_r) + (std::abs(r) < 0.5 ? 0.0 : 8.0)));
        }
    }
    const double scale = log_base_at - at_.value;
    for (int j = 0; j < kLanes; ++j) {
        const double y = (first + j) * step_;
        // The Gaussian steps: z (z+1)/2 at z = t + i y, whose phase is y (2t+1)/2.
        const Complex log_b = log_base[j] + scale - 0.5 * gaussian_ * y * y;
        const Complex whole = log_b + grown[j];
        Complex value;
        if (!has_jumps()) {
            value = std::exp(log_b);
        } else if (grown[j].real() < 30.0 && log_b.real() < 600.0) {
            value = log_b.real() > -740.0 ? std::exp(log_b) * expm1_complex(grown[j]) : std::exp(whole);
        } else {
            value = std::exp(whole) - std::exp(log_b);
        }
        const double size = std::abs(value), full = std::exp(whole.real());
        const double phases = kUnitRoundoff * (16.0 + 4.0 * std::fabs(whole.imag()) + 4.0 * std::fabs(log_b.imag()) +
                                               2.0 * std::fabs(scale)) +
                              y * phase_error;
        const double error = size * (base_error[j] + phases) + (has_jumps() ? full * grown_error[j] : 0.0);
        nodes_.add(value.real(), value.imag(), error);
    }
}

Reading MeasureInversion::read(double epsilon) const noexcept {
    if (!placed_) return {0.0, 0.0, 0.0, std::exp(log_chernoff(chernoff_, epsilon))};
    const double t = tilt_;
    const NodeSum::Sum nodes = nodes_.at(centre_ - epsilon, std::fabs(epsilon));
    const double y = static_cast<double>(nodes_.size()) * step_;
    const double tail = std::exp(log_tail_) * t * (t + 1.0) / (step_ * y);
    const double exponent = at_.value - t * epsilon;
    const double scale = std::exp(exponent + std::log(step_ / kPi) - std::log(t) - std::log1p(t));
    const double relative =
        at_.error + kUnitRoundoff * (32.0 + 4.0 * std::fabs(exponent) + 4.0 * t * std::fabs(epsilon));
    const double absolute =
        scale * (nodes.error + quadrature_ * nodes.kernel + tail + relative * std::fabs(nodes.value));
    const double period = 2.0 * kPi / step_;
    const auto alias = [&](const Bound& b) {
        return std::exp(log_chernoff(b, epsilon)) / std::expm1(std::fabs(t - b.tilt) * period);
    };
    const double sum = scale * nodes.value;
    return {sum, nodes.slope / nodes.value, std::max(0.0, sum - absolute - alias(below_) - alias(above_)),
            sum + absolute};
}

}  // namespace renyi
