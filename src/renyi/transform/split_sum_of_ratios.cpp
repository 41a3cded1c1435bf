// Split sums of ratios: the part that needs no transform, and sums with a light tail, for which a single line serves.
#include <algorithm>
#include <cmath>

#include "renyi/transform/measure_inversion.hpp"
#include "renyi/transform/split_sum.hpp"

namespace renyi {

// The part of a split sum of t ratios less 1 that needs no transform, and bounds of what it misses. Let loss = X - 1
// (ratio) or 1 - X (reversed_ratio), E[X] = 1. A window has mass p under the law of x and p' under the law weighted
// by X:
//
//     ratio           a step in the outermost window carries the sum beyond x:
//                     E[(S - x); any] = t (p' - p) (1-p)^(t-1) - x (1 - (1-p)^t),  since E[S] = 0
//     reversed_ratio  the sum is beyond x where all steps are in the innermost window, unless that has a line:
//                     E[(S - x); all] = p^(t-1) (t (p - p') - x p)
//
// Both are below E[(S - x)_+; same], by the gap E[(x - S)_+; same] <= E[e^{s (x - S)}; same]/(e s) for every s > 0.

namespace {

// Tuning: these affect width and time, not validity, since every tilt gives a bound.
constexpr double kLostTilts[] = {0.5, 1.0, 1.5, 3.0, 10.0, 30.0, 100.0, 400.0, 1500.0};
constexpr double kFarTilt = 46.0;  // e^-46 of the mass at the level
constexpr double kMostSmoothWork = 3e6;

// The law of the same window weighted by X, whose mass is p'.
WindowedLaw weighted(const WindowedLaw& law) {
    SampledLoss other = law.law();
    other.pair = SampledPair::weighted_ratio;
    return {other, law.window()};
}

}  // namespace

bool SplitSum::leave_out_ratio(const WindowedLaw& law, const WindowedNodes::Masses& m, LeftOut& to) {
    WindowedLaw other = weighted(law);
    if (!other.discretise(0.0, 0.0, kMassDepth, 0.0)) return false;
    const WindowedNodes::Masses w = other.nodes().masses();
    to.mass += m.mass;
    to.fall += law.law().sign() * (w.mass - m.mass);
    to.error += 2.0 * (m.error * m.mass + w.error * w.mass) + law.missed() + std::exp(other.log_node_error(0.0, 0.0));
    return true;
}

bool SplitSum::find_closed_part_of_ratios(std::vector<SplitStep>& steps, double x) {
    SplitStep& step = steps.front();
    const double t = step.count, target = kMassDepth + std::log(t);
    const bool reversed = is_reversed();
    closed_ = {};
    WindowedLaw decisive(step.law, reversed ? step.base : step.jump);
    WindowedLaw other = weighted(decisive);
    if (!reversed) {
        // With much noise this part is negligible: E[(S - x)_+; any] <= E[X_1 + ... + X_t; any] <= t (p' + (t-1) p).
        closed_.log_lost = std::log(t) + 1e-9 +
                           log_add(other.log_moment_bound(0.0), std::log(t) + decisive.log_moment_bound(0.0));
        if (closed_.log_lost < log_delta_ - kNothing) return true;
        closed_ = {};
    }
    if (!decisive.discretise(0.0, 0.0, target, 0.0) || !other.discretise(0.0, 0.0, target, 0.0)) return false;
    const WindowedNodes::Masses m = decisive.nodes().masses(), w = other.nodes().masses();
    // Relative errors: of the rounding, and of what the nodes miss.
    const double error = m.error + w.error + std::exp(decisive.log_node_error(0.0, std::log(m.mass))) +
                         std::exp(other.log_node_error(0.0, std::log(w.mass)));
    closed_.ratios = {m.mass, w.mass, error};
    closed_.is_decided = true;
    const LossStep& level = reversed ? *step.base.begin() : *step.jump.begin();
    const double margin = reversed ? level.level + 1.0 : level.level - x;
    if (!reversed) {
        step.has_masses = t > kMany && leave_out(decisive, m, step.left_out);
        WindowedLaw whole({1.0, 1.0 / step.law.c, SampledPair::reversed_ratio}, {});
        const double farthest = kGapTilts[std::size(kGapTilts) - 1] / margin;
        if (!whole.discretise(kGapTilts[0] / margin, 0.0, target, farthest)) return false;
        closed_.log_gap = kInfinity;
        const double known = std::log(std::max(closed_part(x).value, 0.0));
        for (const double factor : kGapTilts) {
            const double s = factor / margin;
            const double gap = log_excess_peak(s) + std::log(t) + decisive.log_moment_above(-s) +
                               (t - 1.0) * std::max(whole.log_moment_above(s), 0.0) + 1e-9;
            if (!(gap + s * x < closed_.log_gap + closed_.gap_tilt * x)) continue;
            closed_.gap_tilt = s;
            closed_.log_gap = gap;
            if (gap + s * x < known - kDepth) break;
        }
        return true;
    }
    // Steps below the innermost level sum up to less than t - x, so the tilts are multiples of 1/(t - x).
    const double threshold = t - x;
    closed_.log_gap = kInfinity;
    for (const double factor : kGapTilts) {
        const double s = factor / threshold;
        const double gap = log_excess_peak(s) + t * decisive.log_moment_above(-s) + 1e-9;
        if (!(gap + s * x < closed_.log_gap + closed_.gap_tilt * x)) continue;
        closed_.gap_tilt = s;
        closed_.log_gap = gap;
    }
    bound_lost_ratios(step, x, 1.0 / margin);
    return true;
}

// Bounds E[(S - x)_+; any step beyond the outermost level] of reversed ratios by Chernoff's bound.
void SplitSum::bound_lost_ratios(const SplitStep& step, double x, double scale) {
    const LossStep& top = *step.base.begin();
    const double t = step.count;
    const LossWindow beyond = LossWindow{}.with(LossStep{top.level, top.width, 1.0});
    WindowedLaw lost(step.law, beyond), whole(step.law, {});
    closed_.log_lost = kInfinity;
    const double target = kMassDepth + std::log(t), farthest = kLostTilts[std::size(kLostTilts) - 1] * scale;
    if (!whole.discretise(scale, 0.0, target, farthest)) return;
    for (const double factor : kLostTilts) {
        const double s = factor * scale;
        const double here =
            std::log(t) + lost.log_moment_bound(s) + (t - 1.0) * whole.log_moment_above(s) + log_excess_peak(s) + 1e-9;
        if (!(here - s * x < closed_.log_lost - closed_.lost_tilt * x)) continue;
        closed_.lost_tilt = s;
        closed_.log_lost = here;
    }
}

// Many reversed ratios have a light tail. One line serves, with a window beyond which the rest of the value is
// negligible.
bool SplitSum::place_single_line(double x) {
    const SampledStep& s = steps_.front();
    const double t = s.count, c = 1.0 / s.sigma, outer_steep = std::sqrt(2.0 * (124.0 - log_delta_));
    const double deviations = std::sqrt(2.0 * (kNothing + 4.0 - log_delta_ + std::log(t)));
    const double variance = t * std::expm1(std::min(c * c, 600.0)),
                 tilt = std::max(x / variance, 1.0 / std::sqrt(variance));
    const double level = std::min(std::expm1(std::min(c * deviations - 0.5 * c * c, 200.0)), 2.0 * kFarTilt / tilt);
    SplitStep step{t, {1.0, s.sigma, pair_}, {}, {}, {}, false};
    step.base = LossWindow{}.with(LossStep{level, (level + 1.0) / outer_steep, -1.0});
    MeasureInversion base(Measure::base, {step}, 0.0);
    base.approach(x);
    const double goal = base.log_estimate();
    const WindowedLaw beyond(step.law, LossWindow{}.with(LossStep{level, (level + 1.0) / outer_steep, 1.0}));
    if (t > kMany) {
        WindowedLaw left = beyond;
        step.has_masses = left.discretise(0.0, 0.0, kMassDepth + std::log(t), 0.0) &&
                          leave_out(left, left.nodes().masses(), step.left_out);
        base = MeasureInversion(Measure::base, {step}, 0.0);
        base.approach(x);
    }
    bound_lost_ratios(step, x, base.tilt());
    base.place(x, goal, kDepth, kMostSmoothWork);
    if (base.failed() || !(closed_.log_lost - closed_.lost_tilt * x < goal - kDepth + 6.0)) return false;
    parts_.push_back(std::move(base));
    return true;
}

SplitSum::Value SplitSum::closed_part_of_ratios(double x) const noexcept {
    const double lost = closed_.log_lost > -kInfinity ? std::exp(closed_.log_lost - closed_.lost_tilt * x) : 0.0;
    if (!closed_.is_decided) return {0.0, 0.0, 0.0, lost};
    const double t = count_, gap = std::exp(closed_.log_gap + closed_.gap_tilt * x);
    const auto [p, w, e] = closed_.ratios;
    double value, positive, slope;
    if (is_reversed()) {
        const double others = std::exp((t - 1.0) * std::log(std::min(p, 1.0)));
        value = others * (t * (p - w) - x * p);
        positive = others * (t * (p + w) + std::fabs(x) * p) * t;
        slope = -others * p;
    } else {
        const double log_none = std::log1p(-p), others = std::exp((t - 1.0) * log_none),
                     any = -std::expm1(t * log_none);
        value = t * (w - p) * others - x * any;
        positive = t * (w + p) * others * (1.0 + t * p / (1.0 - p)) + std::fabs(x) * any;
        slope = -any;
    }
    const double error = positive * (e + 16.0 * kUnitRoundoff);
    return {value, slope, value - error, value + error + gap + lost};
}

}  // namespace renyi
