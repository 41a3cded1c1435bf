// The part of a split sum that takes no transform, and bounds of what it misses.
#include <algorithm>
#include <cmath>

#include "renyi/loss/sampled_gaussian.hpp"
#include "renyi/transform/hockey_stick_kernel.hpp"
#include "renyi/transform/split_sum.hpp"

namespace renyi {

bool SplitSum::leave_out(const WindowedLaw& law, const WindowedNodes::Masses& m, LeftOut& to) {
    if (law.law().is_ratio()) return leave_out_ratio(law, m, to);
    to.mass += m.mass;
    to.fall += m.fall;
    to.error += m.error * (m.mass + m.size) + law.missed();
    return true;
}

// What needs no transform: the steps whose window `jump` (remove) or `base` (add) decides alone.
bool SplitSum::weigh(std::vector<SplitStep>& steps, double epsilon) {
    if (are_ratios()) return weigh_ratios(steps, epsilon);
    const double target = kMassDepth + std::log(count_);
    sure_ = {};
    std::vector<WindowedLaw> decisive;
    std::vector<double> decisive_counts;
    double margin = 0.0;
    for (SplitStep& s : steps) {
        WindowedLaw chosen(s.law, s.jump);
        const double log_mass = chosen.log_moment_bound(0.0);
        if (log_mass + std::log(s.count) < log_delta_ - kNothing) {
            sure_.ignored += s.count * std::exp(log_mass) * (1.0 + 1e-9);
            // |1 - e^-loss| <= max(1, q/(1 - q)), since e^-loss <= 1/(1 - q).
            s.left_out.error = std::exp(log_mass) * std::max(1.0, s.law.q / s.law.one_minus_q) * (1.0 + 1e-9);
            s.is_weighed = count_ > kMany;
            continue;
        }
        // With replaced records the gap has no bound here: the outer level was to leave nothing beyond.
        if (pair_ == SampledPair::replace_one || !chosen.discretise(0.0, 0.0, target, 0.0)) return false;
        const WindowedNodes::Masses m = chosen.nodes().masses();
        // Of E[W (1 - e^-loss)], the smallest of them.
        sure_.error = std::max(sure_.error, (m.error * m.size + chosen.missed()) / std::fabs(m.fall));
        sure_.log_kept += s.count * std::log1p(-m.mass);
        sure_.grown += s.count * std::log1p(m.fall / (1.0 - m.mass));
        sure_.reverse += s.count * std::log1p(-m.reverse);
        s.is_weighed = count_ > kMany;
        leave_out(chosen, m, s.left_out);
        margin = std::max(margin, s.jump.begin()->level - epsilon);
        decisive.push_back(chosen);
        decisive_counts.push_back(s.count);
    }
    if (!decisive.empty()) bound_gap(steps, decisive, decisive_counts, margin, epsilon);
    return true;
}

namespace {

constexpr double kGapTilts[] = {3.0, 6.0, 12.0, 25.0, 50.0, 100.0, 200.0, 500.0, 1500.0};

// The same for one step of the kind and others of any, whose expectations are at least 1.
double log_one_above(const std::vector<double>& counts, const std::vector<WindowedLaw>& laws, double tilt) {
    double result = -kInfinity;  // the moments may be below the range of doubles
    for (std::size_t i = 0; i < laws.size(); ++i) {
        const double here = std::log(counts[i]) + laws[i].log_moment_above(tilt), top = std::max(result, here);
        if (top > -kInfinity) result = top + std::log1p(std::exp(std::min(result, here) - top));
    }
    return result > -kInfinity ? result + 1e-12 * (1.0 + std::fabs(result)) : result;
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

// remove: E[(e^{eps - S} - 1)_+] over the decisive steps <= e^eps Q(decisive, S < eps) <= e^{(1+s) eps} E_P[e^{-(1+s)
// S}], s >= 0.
void SplitSum::bound_gap(std::span<const SplitStep> steps, const std::vector<WindowedLaw>& decisive,
                         const std::vector<double>& counts, double margin, double epsilon) {
    sure_.gap_tilt = 1.0;
    sure_.log_gap = std::log(-std::expm1(sure_.reverse)) + 1e-9;
    const double known = std::log(std::max(sure(epsilon).value, 0.0));
    for (const double factor : kGapTilts) {
        if (sure_.log_gap + sure_.gap_tilt * epsilon < known - kDepth) break;
        const double s = factor / margin;
        const double gap = log_whole_moment(steps, s) + log_one_above(counts, decisive, -1.0 - s);
        if (gap + (1.0 + s) * epsilon < sure_.log_gap + sure_.gap_tilt * epsilon) {
            sure_.gap_tilt = 1.0 + s;
            sure_.log_gap = gap;
        }
    }
}

namespace {

constexpr double kLargestExponent = 700.0;

}  // namespace

SplitSum::Value SplitSum::sure(double epsilon) const noexcept {
    if (are_ratios()) return sure_of_ratios(epsilon);
    if (pair_ == SampledPair::add) return sure_of_add(epsilon);
    const double grown = std::expm1(epsilon);
    const double gained = std::exp(sure_.log_kept) * std::expm1(sure_.grown);
    const double reverse = -std::expm1(sure_.reverse);
    // e^eps may be beyond the range of doubles where the product is not.
    const bool far = epsilon > kLargestExponent && reverse > 0.0;
    const double taken = far ? std::exp(epsilon + std::log(reverse)) : reverse > 0.0 ? grown * reverse : 0.0;
    const double value = gained - taken, slope = -(taken + reverse);
    const double positive = std::fabs(gained) + std::fabs(taken) * (far ? epsilon : 1.0);
    const double error = positive * (2.0 * sure_.error + 16.0 * kUnitRoundoff);
    const double gap = std::exp(sure_.log_gap + sure_.gap_tilt * epsilon);
    return {value, slope, value - error, value + error + gap + sure_.ignored};
}

}  // namespace renyi
