#include "renyi/transform/split_sum.hpp"

#include <algorithm>
#include <cmath>

#include "renyi/loss/sampled_gaussian.hpp"
#include "renyi/transform/hockey_stick_kernel.hpp"

namespace renyi {

namespace {

constexpr double kDepth = 34.0;                            // e^-34 of delta
constexpr double kInnerDepth = 52.0, kOuterDepth = 124.0;  // log of delta against the skirts of the windows
constexpr double kNothing = 40.0;                          // e^-40 of delta
constexpr double kMany = 64.0;                             // whose moments are worth E[e^{t L}] - 1
constexpr double kMostWork = 3e6;
constexpr double kRatio = 3.0;
constexpr int kMostParts = 12;

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
    for (const SampledStep& s : steps_) least -= s.count * std::log1p(-s.q);
    if (pair_ == SampledPair::replace_one) return unseen_levels();
    const double reach = is_few() ? 2.0 * (pair_ == SampledPair::add ? least - epsilon : epsilon + least)
                                  : 2.0 * (epsilon + 10.0 * spread());
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
        result.push_back(v[0] * 1.5);
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

bool SplitSum::place_parts(double epsilon, double log_delta) {
    parts_.clear();
    log_delta_ = log_delta;
    // A skirt at no loss is e^{-steep^2/2} of all mass: small against delta, from which the law rises steeply towards
    // it.
    const double inner_steep = std::sqrt(2.0 * (kInnerDepth - log_delta)),
                 outer_steep = std::sqrt(2.0 * (kOuterDepth - log_delta));
    std::vector<double> outer = levels(epsilon);
    if (std::any_of(outer.begin(), outer.end(), [](double level) { return !(level > 0.0); })) return false;
    std::vector<SplitStep> steps;
    for (std::size_t i = 0; i < steps_.size(); ++i) {
        const SampledLoss law{steps_[i].q, steps_[i].sigma, pair_};
        SplitStep s{steps_[i].count, law, {}, {}, {}, false};
        const double level = origin(s) + outer[i];
        s.jump = LossWindow{}.with(rising(level, outer[i] / outer_steep));
        s.base = LossWindow{}.with(falling(level, outer[i] / outer_steep));
        steps.push_back(s);
    }
    const bool add = pair_ == SampledPair::add;
    if (!add && !weigh(steps, epsilon)) return false;
    double scale = add ? -kInfinity : std::log(std::max(sure(epsilon).value, 1e-320));
    // Down through the levels, until the base is next to nothing or serves by itself.
    bool has_base = false;
    const double lowest = is_few() ? 0.3 / count_ : 1e-3;
    const double largest = *std::max_element(outer.begin(), outer.end());
    const double first = pair_ == SampledPair::replace_one ? largest / epsilon : 2.0;
    for (double part = first; part > lowest && static_cast<int>(parts_.size()) < kMostParts; part /= kRatio) {
        if (!add) {
            MeasureInversion base(Measure::base, steps, gaussian_);
            base.approach(epsilon);
            const bool nothing = base.log_chernoff(epsilon) < scale - kDepth - 1.0;
            const double goal = std::max(scale, base.log_estimate());
            if (nothing || base.is_smooth(epsilon, goal, kDepth)) {
                base.place(epsilon, goal, kDepth, kMostWork);
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
            outer[i] /= kRatio;
            const double level = origin(s) + outer[i], width = outer[i] / inner_steep;
            s.jump = s.base.with(rising(level, width));
            s.base = s.base.with(falling(level, width));
            WindowedLaw piece(s.law, s.jump);
            if (!add && count_ > kMany && piece.discretise(0.0, 0.0, 44.0 + std::log(count_), 0.0)) {
                const WindowedLaw::Masses m = piece.masses();
                s.left_out.mass += m.mass;
                s.left_out.fall += m.fall;
                s.left_out.error = std::max(s.left_out.error, m.error);
            }
        }
        parts_.emplace_back(Measure::jumps, steps, gaussian_);
        parts_.back().approach(epsilon);
        const double found = parts_.back().log_estimate();
        scale = std::max(scale, found) + std::log1p(std::exp(-std::fabs(scale - found)));
    }
    if (!add && !has_base) {
        parts_.emplace_back(Measure::base, steps, gaussian_);
        parts_.back().approach(epsilon);
        parts_.back().place(epsilon, scale, kDepth, kMostWork);
    }
    for (MeasureInversion& part : parts_)
        if (!part.placed()) part.place(epsilon, scale, kDepth, kMostWork);
    return !add || weigh(steps, epsilon);
}

// What needs no transform: the steps whose window `jump` (remove) or `base` (add) decides alone.
bool SplitSum::weigh(std::vector<SplitStep>& steps, double epsilon) {
    const double target = 44.0 + std::log(count_);
    const bool add = pair_ == SampledPair::add;
    sure_ = {};
    std::vector<WindowedLaw> decisive, lost;
    std::vector<double> decisive_counts, lost_counts;
    double margin = 0.0;
    for (SplitStep& s : steps) {
        WindowedLaw chosen(s.law, add ? s.base : s.jump);
        const double log_mass = chosen.log_moment_bound(0.0);
        if (!add && log_mass + std::log(s.count) < log_delta_ - kNothing) {
            sure_.ignored += s.count * std::exp(log_mass) * (1.0 + 1e-9);
            s.left_out = {std::exp(log_mass), std::exp(log_mass), 1.0};
            s.is_weighed = count_ > kMany;
            continue;
        }
        // With replaced records the gap has no bound here: the outer level was to leave nothing beyond.
        if (pair_ == SampledPair::replace_one || !chosen.discretise(0.0, 0.0, target, 0.0)) return false;
        const WindowedLaw::Masses m = chosen.masses();
        sure_.error = std::max(sure_.error, m.error + std::exp(-target));
        if (add) {
            sure_.log_kept += s.count * std::log(m.mass);
            sure_.grown += s.count * std::log1p(-m.fall / m.mass);
            const LossStep& top = *s.base.begin();
            WindowedLaw beyond(s.law, LossWindow{}.with(rising(top.level, top.width)));
            const double log_lost = beyond.log_moment_bound(0.0);
            if (log_lost + std::log(s.count) < log_delta_ - kNothing) {
                sure_.ignored += s.count * std::exp(log_lost) * (1.0 + 1e-9);
            } else {
                if (!beyond.discretise(0.0, 0.0, target, 0.0)) return false;
                lost.push_back(beyond);
                lost_counts.push_back(s.count);
            }
            margin = std::max(margin, top.level - origin(s));
        } else {
            sure_.log_kept += s.count * std::log1p(-m.mass);
            sure_.grown += s.count * std::log1p(m.fall / (1.0 - m.mass));
            sure_.reverse += s.count * std::log1p(-m.reverse);
            s.left_out = {m.mass, m.fall, m.error};
            s.is_weighed = count_ > kMany;
            margin = std::max(margin, s.jump.begin()->level - epsilon);
        }
        decisive.push_back(chosen);
        decisive_counts.push_back(s.count);
    }
    if (!decisive.empty()) bound_gap(steps, decisive, decisive_counts, margin, epsilon);
    if (!lost.empty()) bound_lost(steps, lost, lost_counts, margin, epsilon);
    return true;
}

namespace {

constexpr double kGapTilts[] = {3.0, 6.0, 12.0, 25.0, 50.0, 100.0, 200.0, 500.0, 1500.0};

// log E[W e^{tilt loss}], rounded up.
double log_moment_above(const WindowedLaw& law, double tilt) {
    const WindowedMoment m = law.moment(tilt, nullptr);
    return m.value + m.error + std::log1p(std::exp(law.log_node_error(tilt, m.value))) + 1e-12;
}

// The same for one step of the kind and others of any, whose expectations are at least 1.
double log_one_above(const std::vector<double>& counts, const std::vector<WindowedLaw>& laws, double tilt) {
    double sum = 0.0;
    for (std::size_t i = 0; i < laws.size(); ++i) sum += counts[i] * std::exp(log_moment_above(laws[i], tilt));
    return std::log(sum) + 1e-12;
}

}  // namespace

// log E_Q[e^{-s S}] (remove) or log E_P[e^{s S}] (add) of the whole sum, rounded up: log A at order -s.
double SplitSum::log_whole_moment(std::span<const SplitStep> steps, double s) const {
    double k = 0.5 * gaussian_ * s * (s + 1.0) * (1.0 + 0x1p-50);
    for (const SplitStep& step : steps) {
        const Certified a = log_a(step.law.q, 1.0 / step.law.c, -s);
        k += step.count * a.value * (1.0 + a.relative_error + 0x1p-50);
    }
    return k;
}

// E[(e^{eps - S} - 1)_+] over the decisive steps <= e^eps Q(decisive, S < eps) <= e^{(1+s) eps} E_P[e^{-(1+s) S}], s >=
// 0.
void SplitSum::bound_gap(std::span<const SplitStep> steps, const std::vector<WindowedLaw>& decisive,
                         const std::vector<double>& counts, double margin, double epsilon) {
    const bool add = pair_ == SampledPair::add;
    sure_.gap_tilt = 1.0;
    sure_.log_gap = add ? sure_.log_kept + sure_.grown : std::log(-std::expm1(sure_.reverse));
    sure_.log_gap += 1e-9;
    const double known = std::log(std::max(sure(epsilon).value, 0.0));
    for (const double factor : kGapTilts) {
        if (sure_.log_gap + sure_.gap_tilt * epsilon < known - kDepth) break;
        const double s = factor / margin;
        double gap = 0.5 * gaussian_ * s * (s + 1.0) * (1.0 + 0x1p-50);
        if (add) {
            for (std::size_t i = 0; i < decisive.size(); ++i)
                gap += counts[i] * log_moment_above(decisive[i], -1.0 - s);
        } else {
            gap = log_whole_moment(steps, s) + log_one_above(counts, decisive, -1.0 - s);
        }
        if (gap + (1.0 + s) * epsilon < sure_.log_gap + sure_.gap_tilt * epsilon) {
            sure_.gap_tilt = 1.0 + s;
            sure_.log_gap = gap;
        }
    }
}

// add: E[(1 - e^{eps - S})_+] over sums with a step beyond the outer level, by Chernoff's bound.
void SplitSum::bound_lost(std::span<const SplitStep> steps, const std::vector<WindowedLaw>& lost,
                          const std::vector<double>& counts, double margin, double epsilon) {
    sure_.log_lost = log_one_above(counts, lost, 0.0);
    for (const double factor : kGapTilts) {
        const double s = factor / margin;
        const double here = log_whole_moment(steps, s) + log_one_above(counts, lost, s) + log_kernel_peak(s) + 1e-12;
        if (here - s * epsilon < sure_.log_lost - sure_.lost_tilt * epsilon) {
            sure_.lost_tilt = s;
            sure_.log_lost = here;
        }
    }
}

SplitSum::Value SplitSum::sure(double epsilon) const noexcept {
    const double grown = std::expm1(epsilon);
    double value, positive, slope;
    if (pair_ == SampledPair::add) {
        const double exponent = epsilon + sure_.grown;
        value = -std::exp(sure_.log_kept) * std::expm1(exponent);
        positive =
            std::exp(sure_.log_kept) * (std::fabs(std::expm1(exponent)) + std::exp(exponent) * (epsilon - sure_.grown));
        slope = -std::exp(sure_.log_kept + exponent);
    } else {
        const double gained = std::exp(sure_.log_kept) * std::expm1(sure_.grown);
        const double reverse = -std::expm1(sure_.reverse);
        value = gained - grown * reverse;
        positive = std::fabs(gained) + std::fabs(grown) * reverse;
        slope = -(grown + 1.0) * reverse;
    }
    const double error = positive * (2.0 * sure_.error + 16.0 * kUnitRoundoff);
    const double gap = std::exp(sure_.log_gap + sure_.gap_tilt * epsilon);
    const double lost = std::exp(sure_.log_lost - sure_.lost_tilt * epsilon);
    return {value, slope, value - error, value + error + gap + lost + sure_.ignored};
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
    if (!placed_) return {0.0, 1.0};
    const Value v = value(epsilon);
    const double upper = v.upper * (1.0 + 8.0 * kUnitRoundoff), lower = v.lower * (1.0 - 8.0 * kUnitRoundoff);
    return {lower > 0.0 ? lower : 0.0, std::isnan(upper) ? 1.0 : std::min(std::max(upper, 5e-324), 1.0)};
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
