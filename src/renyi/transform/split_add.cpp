// Direction add of a split sum without cancellation. With G = V - least >= 0 and X = (the largest loss) - eps, which
// Gaussian steps raise,
//     delta(eps) = E[(1 - e^{sum G - X})_+],
// so that a step with G > X contributes nothing. Below a level beyond X, all steps B,
//     E_B[(1 - e^{sum G - X})_+] = E_B[1 - e^{sum G - X}] + E_B[(e^{sum G - X} - 1)_+],
// the first in closed form, the second e^eps times what the same steps make of `remove` at -eps: little, where sums are
// mostly below X. Where they are not, one line for all of B serves, or the steps between two levels are taken off by a
// line of their own.
#include <algorithm>
#include <cmath>

#include "renyi/transform/split_sum.hpp"

namespace renyi {

namespace {

constexpr double kClear = 0.5;  // of what the second part is taken from, at least left
constexpr std::size_t kMostTakenOff = 2;
constexpr int kMostTurns = 40;
constexpr double kRatioTakenOff = 6.0;
constexpr double kMostWorkOfAdd = 1.5e7, kMostNodesOfWhole = 16384.0;

}  // namespace

// What a step may lose beside its largest loss, for the sum to be above eps.
double SplitSum::reach_of_add(double epsilon) const noexcept {
    return -least_sum() - epsilon + 0.5 * gaussian_ + unseen_ * std::sqrt(gaussian_);
}

void SplitSum::turn(std::vector<SplitStep>& steps) noexcept {
    for (SplitStep& s : steps) s.law.pair = SampledPair::remove;
}

SplitSum::Below SplitSum::place_add(std::vector<SplitStep>& steps, std::vector<double>& outer, double epsilon) {
    for (SplitStep& s : steps)
        if (!leave_out_mass(s, LossWindow{}.with({s.base.begin()->level, s.base.begin()->width, 1.0})))
            return Below::failed;
    while (true) {
        if (!weigh_add(steps)) return Below::failed;
        const double most = std::exp(sure_.log_kept) * -std::expm1(-reach_of_add(epsilon));
        if (sure_of_add(epsilon).value > kClear * most || parts_.size() == kMostTakenOff) return Below::unplaced;
        if ((parts_.empty() && place_frequent(steps, epsilon)) || place_whole(steps, epsilon)) {
            sure_.log_kept = -kInfinity;
            return Below::nothing;
        }
        std::vector<SplitStep> lower = steps;
        std::vector<double> levels = outer;
        lower_levels(lower, levels, kRatioTakenOff);
        for (SplitStep& s : lower)
            if (!leave_out_mass(s, s.jump)) return Below::failed;
        std::vector<SplitStep> turned = lower;
        turn(turned);
        MeasureInversion forward(Measure::jumps, lower, gaussian_), backward(Measure::jumps, turned, gaussian_);
        forward.approach(epsilon);
        backward.approach(-epsilon);
        if (backward.tilt() > forward.tilt()) return Below::unplaced;  // the better line
        forward.place(epsilon, std::max(forward.log_estimate(), log_delta_), kDepth, kMostWorkOfAdd);
        parts_.push_back(std::move(forward));
        steps = std::move(lower);
        outer = std::move(levels);
    }
}

// All steps below the level on one line.
bool SplitSum::place_whole(const std::vector<SplitStep>& steps, double epsilon) {
    MeasureInversion whole(Measure::base, steps, gaussian_);
    whole.approach(epsilon);
    const double goal = std::max(whole.log_estimate(), log_delta_);
    if (!whole.is_smooth(epsilon, goal, kDepth, kMostNodesOfWhole)) return false;
    whole.place(epsilon, goal, kDepth, kMostWorkOfAdd);
    if (whole.failed()) return false;
    parts_.push_back(std::move(whole));
    return true;
}

// The same with a level between that hardly any sum is below of. Its line ends sooner: only what jumps has to decay, not
// all that hardly differs from the largest loss.
bool SplitSum::place_frequent(std::vector<SplitStep> steps, double epsilon) {
    const double frequent = kMassDepth - log_delta_, most = reach_of_add(epsilon);
    const auto jumps = [&](double level) {
        double sum = 0.0;
        for (const SplitStep& s : steps)
            sum += 0.5 * s.count * std::erfc(output_at(s.law, s.law.least() + level) * 0x1.6a09e667f3bcdp-1);
        return sum;
    };
    double level = most;
    for (int turn = 0; turn < kMostTurns && jumps(level) < frequent; ++turn) level *= 0.7;
    if (level == most || jumps(level) < frequent) return false;
    std::vector<double> outer(steps.size(), level);
    lower_levels(steps, outer, 1.0);
    for (SplitStep& s : steps)
        if (!leave_out_mass(s, s.jump)) return false;
    MeasureInversion above(Measure::jumps, steps, gaussian_), below(Measure::base, steps, gaussian_);
    above.approach(epsilon);
    below.approach(epsilon);
    const double goal = std::max(above.log_estimate(), log_delta_);
    above.place(epsilon, goal, kDepth, kMostWorkOfAdd);
    if (above.failed()) return false;
    below.place(epsilon, goal, kDepth, kMostWorkOfAdd);
    if (below.failed()) return false;
    parts_.push_back(std::move(above));
    parts_.push_back(std::move(below));
    return true;
}

// What the window lets through is left out of the base.
bool SplitSum::leave_out_mass(SplitStep& step, const LossWindow& window) const {
    step.is_weighed = step.left_out.from_least = true;
    SampledLoss without = step.law;
    without.pair = SampledPair::add;
    WindowedLaw law(without, window);
    const double log_mass = law.log_moment_bound(0.0);
    if (log_mass + std::log(step.count) < log_delta_ - kNothing) {
        step.left_out.error += std::exp(log_mass) * (1.0 + 1e-9);
        return true;
    }
    if (!law.discretise(0.0, 0.0, kMassDepth + std::log(count_), 0.0)) return false;
    const WindowedNodes::Masses m = law.nodes().masses();
    step.left_out.mass += m.mass;
    step.left_out.error += m.mass * m.error + std::exp(law.log_node_error(0.0, 0.0));
    return true;
}

// All steps in the base window, by what is left out of it:
//     P(all) = prod (1 - E[1 - W])^k,     Q(all)/P(all) = prod (e^least (1 + E[W (e^G - 1)]/E[W]))^k.
bool SplitSum::weigh_add(const std::vector<SplitStep>& steps) {
    sure_ = {};
    for (const SplitStep& s : steps) {
        WindowedLaw below(s.law, s.base);
        const double lost = s.left_out.mass, kept = 1.0 - lost, off = s.left_out.error;
        if (!(kept > 2.0 * off) || !below.discretise(0.0, 0.0, kMassDepth + std::log(count_), 0.0)) return false;
        const WindowedNodes::Rise rise = below.nodes().rise();
        const double least = s.law.least(), risen = rise.value / kept;
        const double rise_error = rise.error + below.missed() / s.law.one_minus_q;
        sure_.log_kept += s.count * std::log1p(-lost);
        sure_.kept_error += s.count * (2.0 * off / kept + 4.0 * kUnitRoundoff * lost);
        sure_.grown += s.count * (least + std::log1p(risen));
        sure_.grown_error +=
            s.count * ((rise_error + 2.0 * risen * off) / kept + 4.0 * kUnitRoundoff * (std::fabs(least) + risen));
    }
    return true;
}

// E[(1 - e^{eps - S})_+] over sums with a step beyond the outer level. Such sums are above eps only where the step is
// not beyond what all others can gain, that is, in the skirt of its window, or where the Gaussian steps gain more than
// they do but in e^{-z^2/2}/2 of all runs.
double SplitSum::lost(double epsilon) const noexcept {
    const double rounding = 16.0 * kUnitRoundoff * (std::fabs(least_sum()) + std::fabs(epsilon));
    const double beyond = outer_.level - reach_of_add(epsilon) - rounding;
    if (!(beyond > 0.0)) return 1.0;
    const double u = beyond / outer_.width * (1.0 - 0x1p-40);
    const double gaussian = gaussian_ > 0.0 ? std::exp(-0.5 * unseen_ * unseen_) : 0.0;
    return 0.5 * (count_ * std::exp(-0.5 * u * u) + gaussian) * (1.0 + 0x1p-30);
}

SplitSum::Value SplitSum::sure_of_add(double epsilon) const noexcept {
    if (sure_.log_kept == -kInfinity) return {0.0, 0.0, 0.0, lost(epsilon)};
    const double kept = std::exp(sure_.log_kept), exponent = epsilon + sure_.grown, slope = -kept * std::exp(exponent);
    const double value = -kept * std::expm1(exponent);
    const double error =
        std::fabs(slope) * (sure_.grown_error + 4.0 * kUnitRoundoff * (std::fabs(epsilon) - sure_.grown)) +
        std::fabs(value) * (sure_.kept_error + 16.0 * kUnitRoundoff);
    return {value, slope, value - error, value + error + lost(epsilon)};
}

}  // namespace renyi
