#include "renyi/transform/split_sum.hpp"

#include <algorithm>
#include <cmath>

namespace renyi {

namespace {

constexpr double kInnerDepth = 52.0, kOuterDepth = 124.0;  // log of delta against the skirts of the windows
constexpr double kMostWork = 1.5e7, kMostWorkOfRemove = 4e7, kMostWorkOfRatios = 2e7;
constexpr double kLittleWork = 3e6;  // of a base that more levels would spare
constexpr double kRatio = 6.0, kRatioOfFew = 3.0;  // of one level to the next
constexpr int kMostParts = 12;
constexpr double kSure = 0.55;

LossStep rising(double level, double width) noexcept { return {level, width, 1.0}; }
LossStep falling(double level, double width) noexcept { return {level, width, -1.0}; }

}  // namespace

SplitSum::SplitSum(std::span<const SampledStep> steps, SampledPair pair) : pair_(pair) {
    for (const SampledStep& s : steps) {
        if (s.q == 1.0) {
            gaussian_ += s.count / (s.sigma * s.sigma);
        } else {
            steps_.push_back(s);
            count_ += s.count;
        }
    }
}

SplitSum::SplitSum(SampledPair pair, double count, double sigma)
    : pair_(pair), steps_{{1.0, sigma, count}}, count_(count) {}

SplitSum SplitSum::of_ratios(double count, double sigma, SampledPair pair) { return {pair, count, sigma}; }

// Standard deviation of the sum, but for what happens in less than one of e^5 runs.
double SplitSum::spread() const {
    double variance = gaussian_;
    for (const SampledStep& s : steps_) {
        const SampledLoss law{s.q, s.sigma, pair_};
        const double far = std::sqrt(2.0 * (5.0 + std::log(s.count)));
        const double end = std::min(far, 5.0);
        double sum = 0.0;
        constexpr int kPoints = 64;
        double x[kPoints], v[kPoints], density[kPoints];
        const double h = (end + 6.0) / kPoints;
        for (int i = 0; i < kPoints; ++i) x[i] = -6.0 + (i + 0.5) * h;
        evaluate(law, x, v, density);
        for (int i = 0; i < kPoints; ++i) sum += std::exp(density[i]) * v[i] * v[i];
        variance += s.count * sum * h * 0.3989;
    }
    return std::sqrt(variance);
}

// The outermost level of every step, as a distance from where its loss counts as none.
std::vector<double> SplitSum::levels(double epsilon) const {
    double least = 0.0;
    for (const SampledStep& s : steps_) least -= s.count * SampledLoss(s.q, s.sigma, pair_).least();
    if (pair_ == SampledPair::replace_one) return unseen_levels();
    const double reach =
        is_few() ? 2.0 * (is_reversed() ? least - epsilon : epsilon + least) : 2.0 * (std::max(epsilon, 0.0) + 10.0 * spread());
    return std::vector<double>(steps_.size(), reach);
}

// replace_one: a large gain may be made good by a large loss of another step, so the outer level lies where nothing of
// delta is left.
std::vector<double> SplitSum::unseen_levels() const {
    std::vector<double> result;
    for (const SampledStep& s : steps_) {
        const double depth = kNothing + 4.0 - log_delta_ + std::log(s.count * static_cast<double>(steps_.size()));
        const double x =
            std::max(std::sqrt(2.0 * depth), 1.0 / s.sigma + std::sqrt(2.0 * std::max(depth + std::log(s.q), 1.0)));
        const SampledLoss law{s.q, s.sigma, pair_};
        const double outputs[kLanes] = {x};
        double v[kLanes], density[kLanes];
        evaluate(law, outputs, v, density);
        result.push_back(v[0] * 2.0);
    }
    return result;
}

// The loss that counts as none: the least one where the steps are few, since then all that is lost above it adds up.
double SplitSum::origin(const SplitStep& step) const noexcept { return is_few() ? step.law.least() : 0.0; }

bool SplitSum::place(double epsilon, double log_delta) {
    placed_ = place_parts(epsilon, log_delta);
    for (MeasureInversion& part : parts_) part.release();
    return placed_;
}

double SplitSum::most_work() const noexcept {
    if (are_ratios()) return kMostWorkOfRatios;
    return pair_ == SampledPair::remove ? kMostWorkOfRemove : kMostWork;
}

bool SplitSum::place_parts(double epsilon, double log_delta) {
    parts_.clear();
    sure_ = {};
    log_delta_ = log_delta;
    if (pair_ == SampledPair::reversed_ratio && place_plain(epsilon)) return true;
    parts_.clear();
    // A skirt at no loss is e^{-steep^2/2} of all mass: small against delta, from which the law rises steeply towards
    // it.
    const double inner_steep = std::sqrt(2.0 * (kInnerDepth - log_delta)),
                 outer_steep = std::sqrt(2.0 * (kOuterDepth - log_delta));
    std::vector<double> outer = levels(epsilon);
    if (std::any_of(outer.begin(), outer.end(), [](double level) { return !(level > 0.0); })) return false;
    const double outermost = outer.front();
    std::vector<SplitStep> steps;
    for (std::size_t i = 0; i < steps_.size(); ++i) {
        const SampledLoss law{steps_[i].q, steps_[i].sigma, pair_};
        SplitStep s{steps_[i].count, law, {}, {}, {}, false};
        const double level = origin(s) + outer[i];
        s.jump = LossWindow{}.with(rising(level, outer[i] / outer_steep));
        s.base = LossWindow{}.with(falling(level, outer[i] / outer_steep));
        steps.push_back(s);
    }
    const bool add = is_reversed();
    if (!add && !weigh(steps, epsilon)) return false;
    double scale = add ? -kInfinity : std::log(std::max(sure(epsilon).value, 1e-320));
    // Down through the levels, until the base is next to nothing or serves by itself.
    bool has_base = false;
    double lowest = is_few() ? 0.3 / count_ : 1e-3, ratio = is_few() ? kRatioOfFew : kRatio;
    if (pair_ == SampledPair::reversed_ratio) {  // from 2 (t - x) to kSure (t - x)/t, below which all are certain
        const double parts = std::ceil(std::log(2.0 * count_ / kSure) / std::log(kRatioOfFew));
        ratio = std::pow(2.0 * count_ / kSure, 1.0 / parts);
        lowest = 1.01 * kSure / count_;
    }
    const double largest = *std::max_element(outer.begin(), outer.end());
    const double first = pair_ == SampledPair::replace_one ? largest / epsilon : 2.0;
    for (double part = first; part > lowest && static_cast<int>(parts_.size()) < kMostParts; part /= ratio) {
        if (!add || (pair_ == SampledPair::reversed_ratio && !parts_.empty())) {
            MeasureInversion base(Measure::base, steps, gaussian_);
            base.approach(epsilon);
            const bool nothing = !add && base.log_chernoff(epsilon) < scale - kDepth - 1.0;
            const double goal = std::max(scale, base.log_estimate());
            if (nothing || base.is_smooth(epsilon, goal, kDepth)) {
                base.place(epsilon, goal, kDepth, are_ratios() ? kMostWorkOfRatios : kLittleWork);
                if (!base.failed()) {
                    parts_.push_back(std::move(base));
                    scale = goal;
                    has_base = true;
                    break;
                }
            }
        }
        for (std::size_t i = 0; i < steps.size(); ++i) {
            SplitStep& s = steps[i];
            outer[i] /= ratio;
            const double level = origin(s) + outer[i], width = outer[i] / inner_steep;
            s.jump = s.base.with(rising(level, width));
            s.base = s.base.with(falling(level, width));
            WindowedLaw piece(s.law, s.jump);
            s.is_weighed = s.is_weighed && piece.discretise(0.0, 0.0, kMassDepth + std::log(count_), 0.0);
            if (s.is_weighed) s.is_weighed = leave_out(piece, piece.nodes().masses(), s.left_out);
        }
        parts_.emplace_back(Measure::jumps, steps, gaussian_);
        parts_.back().approach(epsilon);
        const double found = parts_.back().log_estimate();
        scale = std::max(scale, found) + std::log1p(std::exp(-std::fabs(scale - found)));
    }
    if (!add && !has_base) {
        parts_.emplace_back(Measure::base, steps, gaussian_);
        parts_.back().approach(epsilon);
        parts_.back().place(epsilon, scale, kDepth, most_work());
    }
    for (MeasureInversion& part : parts_)
        if (!part.placed()) part.place(epsilon, scale, kDepth, most_work());
    if (add && has_base) {
        bound_lost_ratios(steps.front(), epsilon, 1.0 / outermost);
        return true;
    }
    return !add || weigh(steps, epsilon);
}

SplitSum::Value SplitSum::value(double epsilon) const noexcept {
    Value v = sure(epsilon);
    for (const MeasureInversion& part : parts_) {
        const Reading r = part.read(epsilon);
        v.value += r.value;
        v.slope += r.value * r.slope;
        v.lower += r.lower;
        v.upper += r.upper;
    }
    return v;
}

Bracket SplitSum::delta(double epsilon) const noexcept {
    const double largest = are_ratios() ? kInfinity : 1.0;
    if (!placed_) return {0.0, largest};
    const Value v = value(epsilon);
    const double upper = v.upper * (1.0 + 8.0 * kUnitRoundoff), lower = v.lower * (1.0 - 8.0 * kUnitRoundoff);
    return {lower > 0.0 ? lower : 0.0, std::isnan(upper) ? largest : std::min(std::max(upper, 5e-324), largest)};
}

Bracket SplitSum::epsilon(double delta, double start) const noexcept {
    double epsilon = start;
    for (int turn = 0; placed_ && turn < 30; ++turn) {
        const Value v = value(epsilon);
        const double residual = std::log(v.value / delta), slope = v.slope / v.value;
        if (!(slope < 0.0) || !std::isfinite(residual)) return kNoBracket;
        const double move = -residual / slope;
        epsilon += std::clamp(move, -0.5 * std::fabs(epsilon), 0.5 * std::fabs(epsilon) + 1e-300);
        if (std::fabs(residual) < 1e-14) break;
    }
    const Value v = value(epsilon);
    double up = 1.1 * std::max(v.upper - delta, 0.0) / -v.slope + 4.0 * kUnitRoundoff * std::fabs(epsilon);
    double down = 1.1 * std::max(delta - v.lower, 0.0) / -v.slope + 4.0 * kUnitRoundoff * std::fabs(epsilon);
    for (int turn = 0; turn < 30 && !(this->delta(epsilon + up).upper <= delta); ++turn) up *= 2.0;
    for (int turn = 0; turn < 30 && !(this->delta(epsilon - down).lower >= delta); ++turn) down *= 2.0;
    if (!(this->delta(epsilon + up).upper <= delta) || !(this->delta(epsilon - down).lower >= delta)) return kNoBracket;
    return {epsilon - down, epsilon + up};
}

}  // namespace renyi
