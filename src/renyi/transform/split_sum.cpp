#include "renyi/transform/split_sum.hpp"

#include <algorithm>
#include <cmath>

#include "renyi/loss/sampled_gaussian.hpp"

namespace renyi {

namespace {

constexpr double kDepth = 34.0;      // e^-34 of delta
constexpr double kInnerSteep = 12.0, kOuterSteep = 17.0;  // level/width: skirts of 1e-33 and 1e-65 at no loss
constexpr double kFew = 8.0;         // steps
constexpr double kMany = 64.0;       // whose moments are worth E[e^{t L}] - 1
constexpr double kMostWork = 3e6;
constexpr double kRatio = 3.0;
constexpr int kMostParts = 8;

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
    const double reach = is_few() ? 2.0 * (pair_ == SampledPair::add ? least - epsilon : epsilon + least)
                                  : 2.0 * (epsilon + 10.0 * spread());
    return std::vector<double>(steps_.size(), reach);
}

// The loss that counts as none: the least one where the steps are few, since then all that is lost above it adds up.
double SplitSum::origin(const SplitStep& step) const noexcept { return is_few() ? step.law.least() : 0.0; }

bool SplitSum::place(double epsilon) {
    parts_.clear();
    std::vector<double> outer = levels(epsilon);
    std::vector<SplitStep> steps;
    for (std::size_t i = 0; i < steps_.size(); ++i) {
        const SampledLoss law{steps_[i].q, steps_[i].sigma, pair_};
        SplitStep s{steps_[i].count, law, {}, {}, {}, false};
        const double level = origin(s) + outer[i];
        s.jump = LossWindow{}.with(rising(level, outer[i] / kOuterSteep));
        s.base = LossWindow{}.with(falling(level, outer[i] / kOuterSteep));
        steps.push_back(s);
    }
    const bool add = pair_ == SampledPair::add;
    if (!add && !weigh(steps, epsilon)) return false;
    double scale = add ? -kInfinity : std::log(std::max(sure(epsilon).value, 1e-320));
    // Down through the levels, until the base is next to nothing or serves by itself.
    bool has_base = false;
    const double lowest = is_few() ? 0.3 / count_ : 1e-3;
    for (double part = 2.0; part > lowest && static_cast<int>(parts_.size()) < kMostParts; part /= kRatio) {
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
            const double level = origin(s) + outer[i], width = outer[i] / kInnerSteep;
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
    double margin = 0.0;
    for (SplitStep& s : steps) {
        WindowedLaw chosen(s.law, add ? s.base : s.jump);
        WindowedLaw::Masses m{};
        if (chosen.discretise(0.0, 0.0, target, 0.0)) m = chosen.masses();
        sure_.error = std::max(sure_.error, m.error + std::exp(-target));
        if (add) {
            sure_.log_kept += s.count * std::log(m.mass);
            sure_.grown += s.count * std::log1p(-m.fall / m.mass);
            const LossStep& top = *s.base.begin();
            WindowedLaw beyond(s.law, LossWindow{}.with(rising(top.level, top.width)));
            if (!beyond.discretise(0.0, 0.0, target, 0.0)) return false;
            lost.push_back(beyond);
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
    }
    // Chernoff: e^eps Q(decisive, S < eps) <= e^{(1+s) eps} E_P[decisive e^{-(1+s) S}].
    const auto log_moment = [&](double s) {  // log E_Q[e^{-s L}] (remove) or E_P[e^{s L}] (add)
        double k = 0.5 * gaussian_ * s * (s + 1.0);
        for (const SplitStep& step : steps) {
            const Certified a = log_a(step.law.q, 1.0 / step.law.c, -s);
            k += step.count * a.value * (1.0 + a.relative_error);
        }
        return k;
    };
    const auto bound_of = [](const WindowedLaw& law, double tilt) {
        const double m = law.moment(tilt, nullptr).value + 1e-12;
        return m + std::log1p(std::exp(law.log_node_error(tilt, m)));
    };
    // One step of the kind and others of any: E of the others is at least 1.
    const auto log_one = [&](const std::vector<WindowedLaw>& laws, double tilt) {
        double sum = 0.0;
        for (std::size_t i = 0; i < laws.size(); ++i) sum += steps[i].count * std::exp(bound_of(laws[i], tilt));
        return std::log(sum);
    };
    double best_gap = kInfinity, best_lost = kInfinity;
    for (const double factor : {3.0, 6.0, 12.0, 25.0, 50.0, 100.0, 200.0, 500.0, 1500.0}) {
        const double s = factor / margin;
        double gap = 0.0;
        if (add) {
            for (std::size_t i = 0; i < decisive.size(); ++i) gap += steps[i].count * bound_of(decisive[i], -1.0 - s);
            const double l = log_moment(s) + log_one(lost, s) - s * std::log1p(1.0 / s) - std::log1p(s);
            if (l - s * epsilon < best_lost) {
                best_lost = l - s * epsilon;
                sure_.lost_tilt = s;
                sure_.log_lost = l + 1e-9;
            }
        } else {
            gap = log_moment(s) + log_one(decisive, -1.0 - s);
        }
        if (gap + (1.0 + s) * epsilon < best_gap) {
            best_gap = gap + (1.0 + s) * epsilon;
            sure_.gap_tilt = 1.0 + s;
            sure_.log_gap = gap + 1e-9;
        }
    }
    return true;
}

SplitSum::Value SplitSum::sure(double epsilon) const noexcept {
    const double grown = std::expm1(epsilon);
    double value, positive, slope;
    if (pair_ == SampledPair::add) {
        const double exponent = epsilon + sure_.grown;
        value = -std::exp(sure_.log_kept) * std::expm1(exponent);
        positive = std::exp(sure_.log_kept) * (std::fabs(std::expm1(exponent)) + std::exp(exponent) * (epsilon - sure_.grown));
        slope = -std::exp(sure_.log_kept + exponent);
    } else {
        const double gained = std::exp(sure_.log_kept) * std::expm1(sure_.grown);
        const double reverse = -std::expm1(sure_.reverse);
        value = gained - grown * reverse;
        positive = std::fabs(gained) + std::fabs(grown) * reverse;
        slope = -(grown + 1.0) * reverse;
    }
    const double error = positive * (2.0 * sure_.error + 16.0 * kUnitRoundoff) * (1.0 + count_ * 0.0);
    const double gap = std::exp(sure_.log_gap + sure_.gap_tilt * epsilon);
    const double lost = std::exp(sure_.log_lost - sure_.lost_tilt * epsilon);
    return {value, slope, value - error, value + error + gap + lost};
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
    const Value v = value(epsilon);
    const double upper = v.upper * (1.0 + 8.0 * kUnitRoundoff), lower = v.lower * (1.0 - 8.0 * kUnitRoundoff);
    return {std::max(lower, 0.0), std::isnan(upper) ? 1.0 : std::min(std::max(upper, 5e-324), 1.0)};
}

Bracket SplitSum::epsilon(double delta, double start) const noexcept {
    double epsilon = start;
    for (int turn = 0; turn < 30; ++turn) {
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

#include <cstdio>
void SplitSum::debug(double e) const {
    const Value s = sure(e), v = value(e);
    std::printf("sure %.3g -%.2g +%.2g  total %.15g\n", s.value, s.value - s.lower, s.upper - s.value, v.value);
    for (const auto& p : parts_) {
        const auto* part = &p;
        const Reading r = part->read(e);
        std::printf("part %.15g -%.2g +%.2g nodes %zu points %zu tilt %g fail %d\n", r.value, r.value-r.lower, r.upper-r.value, part->nodes(), part->points(), part->tilt(), part->failed());
        for (double d : part->dbg) std::printf(" %.2g", d / v.value);
        std::printf("\n");
    }
}
}  // namespace renyi
