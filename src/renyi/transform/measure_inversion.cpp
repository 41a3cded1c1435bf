#include "renyi/transform/measure_inversion.hpp"

#include <algorithm>
#include <cmath>
#include <complex>
#include <numbers>
#include <utility>

namespace renyi {

namespace {

// Tuning: all but kUnderflow affect width and time, not validity.
constexpr double kBoundTarget = 12.0;  // nats of accuracy of the nodes of Chernoff's bound
constexpr double kMostKurtosis = 2.0;
constexpr double kSaddle = 0.03, kTight = 1e-4;          // relative size of a last step and of a last bracket
constexpr double kDecrement = 0.1;                       // twice the nats to the saddle point
constexpr double kLongest = 2.0;                         // longest of Newton's steps, in log t
constexpr double kLeastTilt = 3.0, kWorthLifting = 1.2;  // over the deviation of the sum; ratio of tilts
constexpr double kMostSpent = 8.0, kNearGoal = 1.0;      // nats
constexpr int kMostTurns = 60, kMostPlacements = 5;
constexpr double kUnderflow = 0x1p-1070;  // underflow of a ratio of moments and of products with it

}  // namespace

MeasureInversion::MeasureInversion(Measure measure, std::vector<SplitStep> steps, double gaussian, double number)
    : measure_(measure), steps_(std::move(steps)), gaussian_(gaussian), count_(0.0), number_(number) {
    for (double n = 0.0; n < number; n += 1.0) log_ways_ += std::log((steps_.front().count - n) / (n + 1.0));
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
        result.push_back({fine_[i].base.moment(t, steps_[i].has_masses ? &steps_[i].left_out : nullptr),
                          has_jumps() ? fine_[i].jump->nodes().moment(t) : WindowedMoment{}});
    return result;
}

// With r = f/b:  log M = sum k log b + log(e^g - 1),  g = sum k log(1 + r).
MeasureInversion::LogMeasure MeasureInversion::log_measure(const std::vector<StepMoments>& at, double t) const {
    LogMeasure m{0.5 * gaussian_ * t * (t + 1.0), 0.0, 0.5 * gaussian_ * (2.0 * t + 1.0), gaussian_};
    m.error = 4.0 * kUnitRoundoff * m.value;
    double grown = 0.0, slope = 0.0, bend = 0.0, grown_error = 0.0;
    for (std::size_t i = 0; i < steps_.size(); ++i) {
        const double k = steps_[i].count - number_;
        const WindowedMoment &b = at[i].base, &f = at[i].jump;
        m.value += k * b.value;
        m.error += k * b.error + 2.0 * kUnitRoundoff * std::fabs(k * b.value);
        m.mean += k * b.mean;
        m.curvature += k * b.variance;
        if (!has_jumps()) continue;
        if (number_ > 0.0) {
            m.value += number_ * f.value + log_ways_;
            m.error += number_ * (f.error + 4.0 * kUnitRoundoff * (std::fabs(f.value) + log_ways_ + 4.0));
            m.mean += number_ * f.mean;
            m.curvature += number_ * f.variance;
            continue;
        }
        const double ratio = f.value - b.value, r = std::exp(std::min(ratio, 600.0)), part = r / (1.0 + r);
        const double apart = f.mean - b.mean;
        grown += k * (ratio < 600.0 ? std::log1p(r) : ratio);
        slope += k * part * apart;
        bend += k * part * (apart * apart / (1.0 + r) + f.variance - b.variance);
        grown_error += k * (part * (f.error + b.error + 8.0 * kUnitRoundoff) + kUnderflow);
    }
    if (has_jumps() && number_ == 0.0) {
        const double factor = grown > 1e-300 ? -1.0 / std::expm1(-grown) : 1e300;
        m.value += log_expm1(grown);
        m.mean += slope * factor;
        m.curvature += factor * (bend - slope * (slope * (factor - 1.0)));
        m.error += grown_error * factor + kUnitRoundoff * (8.0 + std::fabs(grown));
    }
    m.error += 4.0 * kUnitRoundoff * std::fabs(m.value);
    return m;
}

// (1 + e)^{sum k} - 1 of the certificate, e the largest relative error over all laws.
double MeasureInversion::node_error(const std::vector<StepMoments>& at, double t, double y) const {
    double of_bases = 0.0, of_jumps = 0.0;
    for (std::size_t i = 0; i < steps_.size(); ++i) {
        of_bases = std::max(of_bases, std::exp(fine_[i].base.log_node_error(t, at[i].base.value, y)));
        if (has_jumps())
            of_jumps = std::max(of_jumps, std::exp(fine_[i].jump->log_node_error(t, at[i].jump.value, y)));
    }
    return std::expm1(number_ > 0.0 ? (count_ - number_) * of_bases + number_ * of_jumps
                                    : count_ * std::max(of_bases, of_jumps));
}

MeasureInversion::Bound MeasureInversion::certified(double t) const {
    const std::vector<StepMoments> at = moments(t);
    const LogMeasure m = log_measure(at, t);
    return {t, m.value + m.error + std::log1p(2.0 * node_error(at, t, 0.0)) + 1e-12};
}

double MeasureInversion::log_peak(double tilt) const noexcept {
    return shift_ == 0.0 ? log_excess_peak(tilt) : log_kernel_peak(tilt);
}

double MeasureInversion::log_chernoff(double epsilon) const noexcept {
    return at_.value - tilt_ * epsilon + log_peak(tilt_);
}

// Finds the saddle point of log M(t) - t eps - log t - log(t + shift), a convex function, by Newton's method in log t
// within a bracket.
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
        if ((t == farthest && slope < 0.0) || high < low * (1.0 + kTight)) break;
        const double move = -slope / (t * curvature_);
        const bool is_near = std::fabs(move) < kSaddle;
        if (is_near && slope * slope < kDecrement * curvature_) break;
        // Where the slope grows exponentially Newton's steps are short, so the bracket is halved.
        const double middle = low > 0.0 ? std::sqrt(low * high) : 0.5 * t;
        double next = is_near ? middle : t * std::exp(std::clamp(move, -kLongest, kLongest));
        if (!(next < high)) next = high == farthest ? farthest : middle;
        t = next > low ? next : middle;
    }
    log_estimate_ = at_.value - t * epsilon - std::log(t) - std::log(t + shift_) -
                    0.5 * std::log(2.0 * std::numbers::pi * curvature_);
    lift_tilt(epsilon, farthest);
    most_spent_ = at_.value - tilt_ * epsilon + kMostSpent;
}

// Spends a few nats on a larger tilt. Inside the bulk of the sum the saddle point is so near 0 that aliases from below
// eps decay slowly. The tilt stays as it is where the law has a peak of its own farther out.
void MeasureInversion::lift_tilt(double epsilon, double farthest) {
    double t = std::min(kLeastTilt / std::sqrt(at_.curvature), farthest);
    if (!(t > tilt_ * kWorthLifting)) return;
    std::vector<StepMoments> moments = rough_moments(t);
    LogMeasure at = log_measure(moments, t);
    const auto spent = [&] { return at.value - t * epsilon - (at_.value - tilt_ * epsilon); };
    // In `add` the sums are mostly beyond eps: try half of that tilt, and half again.
    for (int turn = 0; turn < 4 && pair() == SampledPair::add && !(spent() < kMostSpent); ++turn) {
        t *= 0.5;
        if (!(t > tilt_ * kWorthLifting)) return;
        moments = rough_moments(t);
        at = log_measure(moments, t);
    }
    if (spent() < kMostSpent) set_tilt(t, std::move(moments));
}

void MeasureInversion::set_tilt(double t, std::vector<StepMoments> moments) {
    tilt_ = t;
    moments_ = std::move(moments);
    at_ = log_measure(moments_, t);
    curvature_ = std::max(at_.curvature, 0.0) + 1.0 / (t * t) + 1.0 / ((t + shift_) * (t + shift_));
}

// Whether the line is short and the tilted sum near normal. A sum of few large losses is far from normal, which its
// fourth cumulant shows.
bool MeasureInversion::is_smooth(double epsilon, double log_scale, double depth, double few_nodes) {
    double variance = gaussian_, fourth = 0.0;
    for (std::size_t i = 0; i < steps_.size(); ++i) {
        variance += steps_[i].count * moments_[i].base.variance;
        fourth += steps_[i].count * rough_[i].base.nodes().fourth_cumulant(tilt_, moments_[i].base);
    }
    return fourth < kMostKurtosis * variance * variance && is_short(epsilon, log_scale, depth, few_nodes);
}

bool MeasureInversion::is_short(double epsilon, double log_scale, double depth, double few_nodes) {
    plan_ = plan(epsilon, log_scale, depth);
    return plan_->end < few_nodes * plan_->step;
}

// Keeps only Chernoff's bound at the tilt. The moments of the jumps come from cells and are a few nats too large.
bool MeasureInversion::bound_only(bool failed) {
    placed_ = false;
    bounded_ = true;
    failed_ = failed;
    double log_base = 0.5 * gaussian_ * tilt_ * (tilt_ + 1.0) * raised(6), grown = 0.0;
    for (std::size_t i = 0; i < steps_.size(); ++i) {
        WindowedLaw& base = rough_[i].base;
        WindowedMoment b{base.log_moment_bound(tilt_), 0.0, 0.0, 0.0, 0.0};
        double above = b.value;
        if (base.discretise(tilt_, 0.0, kBoundTarget + std::log(count_), tilt_)) {
            b = base.moment(tilt_, steps_[i].has_masses ? &steps_[i].left_out : nullptr);
            above = std::min(above, b.value + b.error + std::log1p(std::exp(base.log_node_error(tilt_, b.value))));
        }
        log_base += (steps_[i].count - number_) * (above + 1e-15);
        if (number_ > 0.0) {
            log_base += number_ * rough_[i].jump->log_moment_bound(tilt_) + log_ways_ + 1e-9;
        } else if (has_jumps()) {  // 1 + f/b falls in b: where b is taken too large, so is f in proportion
            grown += steps_[i].count *
                     std::log1p(std::exp(rough_[i].jump->log_moment_bound(tilt_) - b.value + b.error + 1.0));
        }
    }
    chernoff_ = {tilt_, log_base + (has_jumps() && number_ == 0.0 ? log_expm1(std::max(grown, 1e-300)) : 0.0) + 1e-9};
    return false;
}

bool MeasureInversion::place(double epsilon, double log_scale, double depth, double most_work) {
    if (log_chernoff(epsilon) < log_scale - depth - 1.0) return bound_only(false);
    double goal = std::max(log_estimate_, log_scale);
    for (int turn = 0; turn < kMostPlacements; ++turn) {
        const Line line = plan_ && std::fabs(plan_->goal - goal) < kNearGoal ? *plan_ : plan(epsilon, goal, depth);
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

// Where the nodes of a measure's line lie, and how many there are.

namespace {

// Tuning: these affect width and time, not validity.
constexpr double kMostNodes = 16384.0;
constexpr double kEndSlack = 6.0;  // nats
constexpr double kUneven = 1.3, kLower = 0.75;  // of the periods; of the tilt
constexpr double kLong = 2000.0;                // nodes of a line
constexpr double kSteep = 0.25;    // relative distance of the tilts of a normal law
constexpr int kMostEnds = 12;

}  // namespace

// Returns the periods D at which aliasing from below and from above is e^-depth of the value, and sets the tilts of
// both bounds.
MeasureInversion::Periods MeasureInversion::find_periods(double epsilon, double log_value, double depth) {
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
    // Where log M bends steeply, as for tiny deltas that several large losses make, the tilts lie near.
    const double reach = std::sqrt(2.0 * depth / curvature_) / tilt_;
    if (reach < kSteep) {
        const double left = search({1.0 - 0.5 * reach, 1.0 - reach, 1.0 - 1.5 * reach}, 0.0, below_);
        return {left, search({1.0 + 0.25 * reach, 1.0 + 0.5 * reach, 1.0 + reach}, left, above_)};
    }
    Bound nearer{}, farther{};
    const double near = search({0.6, 0.75, 0.87}, 0.0, nearer), far = search({0.4, 0.2, 0.0}, 0.0, farther);
    below_ = near < far ? nearer : farther;
    const double left = std::min(near, far);
    return {left, search({1.06, 1.15, 1.3, 1.6, 2.0, 2.7, 4.0, 8.0}, left, above_)};
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
        if (number_ > 0.0)
            return log_value + (k - number_) * decay + number_ * parts[i].jump->log_decay_by_cells(tilt_, y, f);
        const double b = moments_[i].base.value + decay;
        log_value += k * b;
        grown += k * std::log1p(std::exp(f + parts[i].jump->log_decay_by_cells(tilt_, y, f) - b));
    }
    if (!has_jumps()) return log_value;
    return log_value + 0.5 * gaussian_ * tilt_ * (tilt_ + 1.0) + log_expm1(grown) - at_.value;
}

// Returns the ordinate beyond which the nodes sum to less than e^-depth of the value; infinite beyond kMostNodes.
double MeasureInversion::find_end(double step, double epsilon, double log_value, double depth) const {
    const double level = at_.value - tilt_ * epsilon - log_value + depth, farthest = kMostNodes * step;
    double y = std::min(std::sqrt(2.0 * std::max(level, 2.0) / curvature_), farthest), reached = 0.0;
    for (int turn = 0; turn < kMostEnds; ++turn) {
        const double tail = log_tail(rough_, y), lacking = tail + level - std::log(std::numbers::pi * y);
        if (lacking < 0.0) {
            if (lacking > -kEndSlack || y < 1.1 * reached) return y;
            const double closer = std::max(0.8 * y, 0.5 * (y + reached));
            if (log_tail(rough_, closer) + level - std::log(std::numbers::pi * closer) < 0.0) return closer;
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

// Of replaced records, which have no outer level that decides: where sums of many jumps make log M steep beyond the
// tilt and the line is long, a lower one serves better.
MeasureInversion::Line MeasureInversion::plan(double epsilon, double log_value, double depth) {
    Periods periods{};
    const auto line = [&] {
        periods = find_periods(epsilon, log_value, depth);
        start_decay(rough_);
        const double step = 2.0 * std::numbers::pi / periods.longest();
        return Line{log_value, step, find_end(step, epsilon, log_value, depth)};
    };
    Line best = line();
    while (pair() == SampledPair::replace_one && best.end > kLong * best.step &&
           periods.above > kUneven * periods.below) {
        const double tilt = tilt_;
        std::vector<StepMoments> moments = moments_;
        set_tilt(kLower * tilt, rough_moments(kLower * tilt));
        const Line lower = line();
        const bool is_better = lower.step > best.step && at_.value - tilt_ * epsilon < most_spent_;
        if (!is_better) set_tilt(tilt, std::move(moments));
        best = is_better ? lower : line();
        if (!is_better) break;
    }
    return best;
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

// The nodes of a measure's line, and the sum over them.

namespace {

double modulus(Complex z) noexcept { return std::sqrt(std::norm(z)); }
// At least the modulus, also where its square underflows.
double size_of(Complex z) noexcept { return std::fabs(z.real()) + std::fabs(z.imag()); }

Complex quotient(Complex a, Complex b) noexcept { return a * std::conj(b) / std::norm(b); }

}  // namespace

void MeasureInversion::sum_nodes(double end) {
    nodes_.begin(tilt_, step_, shift_);
    const auto blocks = static_cast<std::size_t>(std::ceil(end / step_ / kLanes));
    for (std::size_t block = 0; block < blocks; ++block) sum_block(block);
}

void MeasureInversion::sum_block(std::size_t block) {
    const double first = static_cast<double>(block * kLanes + 1);
    Complex log_base[kLanes] = {}, grown[kLanes] = {};
    double base_error[kLanes] = {}, grown_error[kLanes] = {};
    Complex jumps[kLanes] = {};  // each jump of a known number
    double jumps_error[kLanes] = {};
    centre_ = 0.5 * gaussian_ * (2.0 * tilt_ + 1.0);
    double log_base_at = 0.5 * gaussian_ * tilt_ * (tilt_ + 1.0), phase_error = 0.0;
    for (std::size_t i = 0; i < steps_.size(); ++i) {
        const double k = steps_[i].count - number_;
        const WindowedMoment &base_at = moments_[i].base, &jump_at = moments_[i].jump;
        centre_ += k * base_at.mean + number_ * jump_at.mean;
        log_base_at += k * base_at.value + number_ * jump_at.value + log_ways_;
        phase_error += k * base_at.mean_error;
        double re[kLanes], im[kLanes], fre[kLanes], fim[kLanes];
        base_[i].excess(first, re, im);
        if (has_jumps()) jump_[i].whole(first, fre, fim);
        const double full_ratio = std::exp(jump_at.value - base_at.value), apart = jump_at.mean - base_at.mean;
        for (int j = 0; j < kLanes; ++j) {
            const double y = (first + j) * step_;
            const Complex b = Complex{re[j], im[j]};
            const double size = modulus(1.0 + b), own = base_[i].excess_error(y);
            const Complex log_b = log1p_complex(b);
            log_base[j] += k * log_b;
            base_error[j] += k * (own / std::max(size, 1e-300) + kUnitRoundoff * (4.0 * modulus(log_b)));
            if (!has_jumps()) continue;
            if (number_ > 0.0) {
                jumps[j] = {fre[j], fim[j]};
                jumps_error[j] = jump_[i].whole_error(y) + 8.0 * kUnitRoundoff * modulus(jumps[j]);
                continue;
            }
            const double turn = y * apart;
            const Complex f = full_ratio * (std::polar(1.0, turn) * Complex{fre[j], fim[j]});
            const double f_error =
                full_ratio * (jump_[i].whole_error(y) + kUnitRoundoff * (8.0 + 2.0 * std::fabs(turn)) + jump_at.error +
                              base_at.error) +
                kUnderflow;
            const Complex r = quotient(f, 1.0 + b), whole = 1.0 + b + f;
            const double ratio = size_of(r);
            const Complex log_r = ratio < 0.5 ? log1p_complex(r) : std::log(whole) - log_b;
            grown[j] += k * log_r;
            grown_error[j] += k * ((f_error + ratio * own) / std::max(modulus(whole), 1e-300) +
                                   kUnitRoundoff * (8.0 * size_of(log_r) + (ratio < 0.5 ? 0.0 : 8.0)));
        }
    }
    const double scale = log_base_at - at_.value;
    for (int j = 0; j < kLanes; ++j) {
        const double y = (first + j) * step_;
        // The Gaussian steps: z (z+1)/2 at z = t + i y, whose phase is y (2t+1)/2.
        const Complex log_b = log_base[j] + scale - 0.5 * gaussian_ * y * y;
        const Complex whole = log_b + grown[j];
        Complex value;
        double of_jumps = 0.0;
        if (!has_jumps() || number_ > 0.0) {
            value = std::exp(log_b);
            for (double n = 0.0; n < number_; n += 1.0) {
                of_jumps = of_jumps * (modulus(jumps[j]) + jumps_error[j]) + modulus(value) * jumps_error[j];
                value *= jumps[j];
            }
        } else if (grown[j].real() < 30.0) {  // the first factor overflows where hardly any step jumps
            const Complex root = std::exp(0.5 * log_b);
            value = root * (root * expm1_complex(grown[j]));
        } else {
            value = std::exp(whole) - std::exp(log_b);
        }
        const double size = modulus(value), full = std::exp(whole.real());
        const double phases = kUnitRoundoff * (24.0 + 4.0 * std::fabs(whole.imag()) + 4.0 * std::fabs(log_b.imag()) +
                                               2.0 * std::fabs(scale)) +
                              y * phase_error;
        const double error = size * (base_error[j] + phases) + (has_jumps() ? full * grown_error[j] : 0.0) + of_jumps;
        nodes_.add(value.real(), value.imag(), error);
    }
}

Reading MeasureInversion::read(double epsilon, double log_factor) const noexcept {
    const auto chernoff = [&](const Bound& b) { return renyi::log_chernoff(b, epsilon, shift_, log_factor); };
    if (!placed_) return {0.0, 0.0, 0.0, std::exp(chernoff(chernoff_))};
    const double t = tilt_, log_value = at_.value - t * epsilon + log_factor;
    const double log_error = at_.error + kUnitRoundoff * (32.0 + 4.0 * std::fabs(log_value) +
                                                          4.0 * (t * std::fabs(epsilon) + std::fabs(log_factor)));
    const auto [value, slope, error] = nodes_.read(centre_, epsilon, log_value, log_error, quadrature_, log_tail_);
    const double aliases =
        nodes_.alias(below_.tilt, chernoff(below_)) + nodes_.alias(above_.tilt, chernoff(above_));
    return {value, slope, std::max(0.0, value - error - aliases), value + error};
}

}  // namespace renyi
