#include "renyi/transform/split_sum.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "renyi/loss/sampled_gaussian.hpp"
#include "renyi/special/normal.hpp"
#include "renyi/transform/measure_inversion.hpp"

namespace renyi {

namespace {

// Tuning: these affect width and time, not validity, since what windows, lines and levels miss is bounded where they
// lie. The unit of work is one quadrature node at one node of a line.
constexpr double kInnerDepth = 52.0, kOuterDepth = 124.0;  // nats from delta down to the tails of the windows
constexpr double kSteepness = 1.4;
constexpr double kMostWork = 2e8, kMostWorkOfRatios = 2e7;
constexpr double kLittleWork = 3e6;                // allowed for a base that more levels would make unnecessary
constexpr double kRatio = 6.0, kRatioOfFew = 3.0;  // of one level to the next
constexpr double kSlow = 0.5, kSlowest = 0.1;      // range of c, the growth of losses far out, for nearer levels
constexpr double kMostSag = 4.0;                   // nats by which a tilted law may sag between two levels
constexpr int kMostParts = 24;
constexpr double kTiny = -80.0;  // log delta below which one large loss or several may make delta
constexpr double kNearestNumber = 4.0, kMostNumbers = 8.0, kRatioOfNumbers = 12.0;
constexpr double kCertain = 0.55;
constexpr double kMostError = 0.1;  // relative error of a mass above which only a bound of it is used
constexpr double kMostWidth = 0.1;  // relative width allowed for a base that ends the levels
constexpr double kBoundTarget = 25.0;  // nats of accuracy of the nodes of a bound, beyond log of the number of steps
constexpr double kLeastAbove = 0.15, kMostGrown = 3.0;  // part of the loss; nats
constexpr double kTailWidths = 7.8;                          // from the reach to the outermost level, in window widths
constexpr double kAddSteep = 1.2;   // steepness of the outer window of `add`, in units of deviations_
constexpr double kAddDepth = 6.0;   // nats of additional depth of the inner windows of `add`
constexpr double kMostAbove = 2.0;  // of `add`, from the reach to its level; farther out e^G grows beyond what is left

LossStep rising(double level, double width) noexcept { return {level, width, 1.0}; }
LossStep falling(double level, double width) noexcept { return {level, width, -1.0}; }

// Returns how far above a loss the outermost level lies, as a part of the loss. Far out, at an output x, losses have a
// tail like v^{-x sigma}, and a law whose tilt makes it level at one loss has its peak at twice that loss.
double part_above(const SampledLoss& law, double loss) noexcept {
    const double x = output_at(law, loss), tilt = x / (law.c * (law.q - law.one_minus_q * std::expm1(-loss)));
    double part = 1.0;
    const auto grown = [&] {
        const double y = output_at(law, loss * (1.0 + part));
        return tilt * loss * part - 0.5 * (y - x) * (y + x);
    };
    while (part > kLeastAbove && grown() > kMostGrown) part *= 0.8;
    return part;
}

}  // namespace

SplitSum::SplitSum(std::span<const SampledStep> steps, SampledPair pair) : pair_(pair) {
    for (const SampledStep& s : steps) {
        if (s.q == 1.0) {
            gaussian_ += s.count / (s.sigma * s.sigma);
        } else {
            steps_.push_back(s);
            laws_.emplace_back(s, pair);
            count_ += s.count;
        }
    }
}

SplitSum::SplitSum(SampledPair pair, double count, double sigma)
    : pair_(pair), steps_{{1.0, sigma, count}}, laws_{{1.0, sigma, pair}}, count_(count) {}

SplitSum SplitSum::of_ratios(double count, double sigma, SampledPair pair) { return {pair, count, sigma}; }

// The standard deviation of the sum, without events that happen in less than one of e^5 runs.
double SplitSum::spread() const {
    double variance = gaussian_;
    for (std::size_t k = 0; k < steps_.size(); ++k) {
        const SampledStep& s = steps_[k];
        const SampledLoss& law = laws_[k];
        const double far = std::sqrt(2.0 * (5.0 + std::log(s.count)));
        const double number = law.group ? law.group->rise(far).number : 1.0;
        const double end = std::min(far, 5.0) + (number - 1.0) * law.c;
        double sum = 0.0;
        constexpr int kPoints = 64;
        double x[kPoints], v[kPoints], density[kPoints];
        const double h = (end + 6.0) / kPoints;
        for (int i = 0; i < kPoints; ++i) x[i] = -6.0 + (i + 0.5) * h;
        evaluate(law, x, v, density);
        for (int i = 0; i < kPoints; ++i) sum += std::exp(density[i]) * v[i] * v[i];
        variance += s.count * sum * h * kInverseRoot2Pi;
    }
    return std::sqrt(variance);
}

// The least sum of V over all steps, where V is bounded below.
double SplitSum::least_sum() const noexcept {
    double sum = 0.0;
    for (std::size_t i = 0; i < steps_.size(); ++i) sum += steps_[i].count * laws_[i].least();
    return sum;
}

// The largest loss of one step, measured from origin(), with which the sum can be at eps.
double SplitSum::reach(double epsilon) const {
    if (is_reversed()) return reach_of_add(epsilon);
    return is_few() ? epsilon - least_sum() : std::max(epsilon, 0.0) + 10.0 * spread();
}

// The outermost level of every step, measured from origin().
std::vector<double> SplitSum::levels(double reach) const {
    if (pair_ == SampledPair::replace_one) return negligible_levels();
    double above = pair_ == SampledPair::add ? std::min(reach, kMostAbove) : reach;
    if (pair_ == SampledPair::remove)
        for (const SampledStep& s : steps_) above = std::min(above, reach * part_above({s.q, s.sigma, pair_}, reach));
    return std::vector<double>(steps_.size(), reach + above);
}

// The levels of replace_one: a large loss of one step may offset a large gain of another, so the outer level lies where
// the rest of delta is negligible.
std::vector<double> SplitSum::negligible_levels() const {
    std::vector<double> result;
    for (std::size_t i = 0; i < steps_.size(); ++i) {
        const SampledStep& s = steps_[i];
        const SampledLoss& law = laws_[i];
        const double depth = kNothing + 4.0 - log_delta_ + std::log(s.count * static_cast<double>(steps_.size()));
        const double single =
            std::max(std::sqrt(2.0 * depth), 1.0 / s.sigma + std::sqrt(2.0 * std::max(depth + std::log(s.q), 1.0)));
        const double x = law.group ? law.group->reach(depth) : single;
        const double outputs[kLanes] = {x};
        double v[kLanes], density[kLanes];
        evaluate(law, outputs, v, density);
        result.push_back(v[0] * 2.0);
    }
    return result;
}

// The loss that counts as none. It is the least loss where the steps are few, since then all losses above it add up. It
// is the least loss in `add` too, where a step beyond all that the others together can gain decides.
double SplitSum::origin(const SplitStep& step) const noexcept {
    return is_few() || is_reversed() ? step.law.least() : 0.0;
}

bool SplitSum::place(double epsilon, double log_delta) {
    placed_ = place_parts(epsilon, log_delta);
    for (MeasureInversion& part : parts_) part.release();
    return placed_;
}

// Lowers every level once. The tail of a window at no loss is e^{-steep^2/2} of all mass: small against delta, from
// where the law rises steeply towards no loss. In `add` the tail is small against the mass of one jump, so that nodes
// need not reach there. Of ratios log_delta_ is that of an excess, a mass times about the level.
void SplitSum::lower_levels(std::vector<SplitStep>& steps, std::vector<double>& outer, double ratio) const {
    const double jumps = pair_ == SampledPair::add ? kAddDepth + 2.0 * std::log(count_) : 0.0;
    const double unit = pair_ == SampledPair::ratio ? std::max(std::log(outer.front()), 0.0) : 0.0;
    const double steep = std::sqrt(2.0 * (kInnerDepth + jumps + unit - log_delta_));
    for (std::size_t i = 0; i < steps.size(); ++i) {
        SplitStep& s = steps[i];
        outer[i] /= ratio;
        const double level = origin(s) + outer[i], width = outer[i] / steep;
        s.jump = s.base.with(rising(level, width));
        s.base = s.base.with(falling(level, width));
    }
}

// Lowers every level and records what the window between the levels leaves out of the base.
void SplitSum::lower(std::vector<SplitStep>& steps, std::vector<double>& outer, double ratio) const {
    lower_levels(steps, outer, ratio);
    for (SplitStep& s : steps) {
        if (pair_ == SampledPair::add) {
            s.has_masses = s.has_masses && leave_out_mass(s, s.jump);
            continue;
        }
        WindowedLaw piece(s.law, s.jump);
        s.has_masses = s.has_masses && piece.discretise(0.0, 0.0, kMassDepth + std::log(count_), 0.0);
        if (s.has_masses) s.has_masses = leave_out(piece, piece.nodes().masses(), s.left_out);
    }
}

// Places the jumps by their number, each number on a line of its own. Where sums of one large loss and of several are
// equally likely, their tilts are so far apart that a common line serves none of them.
bool SplitSum::place_numbers(const SplitStep& above, const SplitStep& below, double epsilon, double& scale) {
    std::vector<MeasureInversion> parts;
    SplitStep any = above;  // with any other jumps
    any.jump = below.jump;
    double sum = scale;
    for (double number = 1.0; number <= std::min(kMostNumbers, count_); number += 1.0) {
        if (number > 1.0) {
            parts.emplace_back(Measure::jumps, std::vector{any}, gaussian_, number);
            parts.back().approach(epsilon);
            if (parts.back().log_chernoff(epsilon) < sum - kDepth - 1.0) break;
            if (number == kMostNumbers) return false;
            parts.pop_back();
        }
        parts.emplace_back(Measure::jumps, std::vector{below}, gaussian_, number);
        parts.back().approach(epsilon);
        sum = log_add(sum, parts.back().log_estimate());
        if (!parts.back().is_short(epsilon, sum, kDepth)) return false;
    }
    scale = sum;
    for (MeasureInversion& part : parts) parts_.push_back(std::move(part));
    return true;
}

bool SplitSum::place_parts(double epsilon, double log_delta) {
    parts_.clear();
    closed_ = {};
    deviations_ = std::sqrt(2.0 * (kMassDepth - log_delta + std::log(count_)));
    log_delta_ = log_delta;
    if (pair_ == SampledPair::reversed_ratio && place_single_line(epsilon)) return true;
    parts_.clear();
    // replace_one: of the mass beyond an output at depth D, a level at twice the loss there and a window of depth b
    // leave at least e^{-4 D b/(4 D + b)}, so b must be 4 D/3.
    const double steepness = pair_ == SampledPair::replace_one ? kSteepness : 1.0;
    const double outer_steep = std::sqrt(2.0 * (kOuterDepth - steepness * log_delta));
    const double reach = pair_ == SampledPair::replace_one ? 0.0 : this->reach(epsilon);
    std::vector<double> outer = levels(reach);
    if (std::any_of(outer.begin(), outer.end(), [](double level) { return !(level > 0.0); })) return false;
    const double outermost = outer.front();
    outer_ = falling(outermost, (outermost - reach) / (kAddSteep * deviations_));
    std::vector<SplitStep> steps;
    for (std::size_t i = 0; i < steps_.size(); ++i) {
        SplitStep s{steps_[i].count, laws_[i], {}, {}, {}, false};
        const double level = origin(s) + outer[i];
        const double usual = std::min(outer[i] / outer_steep, (outer[i] - reach) / kTailWidths);
        const double width = pair_ == SampledPair::add ? outer_.width : usual;
        s.jump = LossWindow{}.with(rising(level, width));
        s.base = LossWindow{}.with(falling(level, width));
        steps.push_back(s);
    }
    if (pair_ == SampledPair::add) {
        const Below below = place_add(steps, outer, epsilon);
        if (below != Below::unplaced) return below == Below::nothing;
        turn(steps);
    }
    const bool add = pair_ == SampledPair::reversed_ratio;
    if (pair_ != SampledPair::add && !add && !find_closed_part(steps, epsilon)) return false;
    double scale = add ? -kInfinity : std::log(std::max(closed_part(epsilon).value, 1e-320));
    if (pair_ == SampledPair::add) {
        scale = std::max(scale, log_delta) - epsilon;
        epsilon = -epsilon;
    }
    // Go down through the levels until the base is negligible or can be inverted by itself.
    // n large losses are x^2/2 = n (eps/n + a)^2/(2 c^2) nats away, a = c^2/2 - log q, and nearest where eps = n a.
    const SampledLoss law = steps.front().law;
    const auto nearest_number = [&] {
        return epsilon / (0.5 * law.c * law.c - std::log(law.q));
    };
    const bool has_numbers = pair_ == SampledPair::remove && steps.size() == 1 && !steps.front().law.group &&
                             log_delta < kTiny && nearest_number() < kNearestNumber;
    bool has_base = false;
    double lowest = is_few() ? 0.3 / count_ : 1e-3, ratio = is_few() ? kRatioOfFew : kRatio;
    // Far out losses grow like e^{c x}. Between two levels x^2/2 is up to (x/c) log^2(ratio)/8 above its chord, and for
    // a law with peaks at both levels no line serves the losses between them.
    if (!add && pair_ != SampledPair::add && log_delta < kTiny && law.c < kSlow && law.c > kSlowest)
        ratio = std::min(ratio, std::exp(std::sqrt(8.0 * kMostSag * law.c / output_at(law, epsilon))));
    if (pair_ == SampledPair::reversed_ratio) {  // from 2 (t - x) to kCertain (t - x)/t, below which all are certain
        const double parts = std::ceil(std::log(2.0 * count_ / kCertain) / std::log(kRatioOfFew));
        ratio = std::pow(2.0 * count_ / kCertain, 1.0 / parts);
        lowest = 1.01 * kCertain / count_;
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
                const Reading found = base.read(epsilon, -goal);
                const double enough = kMostWidth * std::max(found.lower, std::exp(scale - goal));
                if (!base.failed() && found.upper - found.lower <= enough) {
                    parts_.push_back(std::move(base));
                    scale = goal;
                    has_base = true;
                    break;
                }
            }
        }
        std::vector<SplitStep> above = steps;
        std::vector<double> outer_above = outer;
        lower(steps, outer, ratio);
        MeasureInversion jumps(Measure::jumps, steps, gaussian_);
        jumps.approach(epsilon);
        const double found = log_add(scale, jumps.log_estimate());
        if (has_numbers && !jumps.is_short(epsilon, found, kDepth)) {
            std::vector<SplitStep> below = above;
            lower(below, outer_above, kRatioOfNumbers);
            if (place_numbers(above.front(), below.front(), epsilon, scale)) {
                steps = std::move(below);
                outer = std::move(outer_above);
                continue;
            }
        }
        parts_.push_back(std::move(jumps));
        scale = found;
    }
    if (!add && !has_base) {
        parts_.emplace_back(Measure::base, steps, gaussian_);
        parts_.back().approach(epsilon);
        parts_.back().place(epsilon, scale, kDepth, kMostWork);
    }
    for (MeasureInversion& part : parts_)
        if (!part.placed()) part.place(epsilon, scale, kDepth, are_ratios() ? kMostWorkOfRatios : kMostWork);
    if (add && has_base) {
        bound_lost_ratios(steps.front(), epsilon, 1.0 / outermost);
        return true;
    }
    return !add || find_closed_part(steps, epsilon);
}

SplitSum::Value SplitSum::value(double epsilon) const noexcept {
    Value v = closed_part(epsilon);
    for (const MeasureInversion& part : parts_) {
        const bool is_turned = pair_ == SampledPair::add && part.pair() == SampledPair::remove;
        const Reading r = is_turned ? part.read(-epsilon, epsilon) : part.read(epsilon);
        v.value += r.value;
        v.slope += is_turned ? r.value * (1.0 - r.slope) : r.value * r.slope;
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
        const double most =
            0.5 * (pair_ == SampledPair::add && gaussian_ == 0.0 ? -least_sum() - epsilon : std::fabs(epsilon));
        epsilon += std::clamp(move, -most, most + 1e-300);
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

// Direction add of a split sum, without cancellation. Let G = V - least >= 0 and X = (the largest loss) - eps, which
// Gaussian steps raise. Then
//     delta(eps) = E[(1 - e^{sum G - X})_+],
// so that a step with G > X contributes nothing. Below a level beyond X, all steps B,
//     E_B[(1 - e^{sum G - X})_+] = E_B[1 - e^{sum G - X}] + E_B[(e^{sum G - X} - 1)_+].
// The first part has a closed form. The second is e^eps times what the same steps make of `remove` at -eps, which is
// little where sums are mostly below X. Elsewhere one line serves all of B, or the steps between two levels are taken
// off on a line of their own.

namespace {

// Tuning: these affect width and time, not validity.
constexpr double kLeastKept = 0.9;  // least ratio of the closed form to its largest value, for the second part
constexpr std::size_t kMostTakenOff = 4;
constexpr int kMostTurns = 40;
constexpr double kRatioTakenOff = 6.0;
constexpr double kMostWorkOfAdd = 1.5e7, kMostNodesOfWhole = 16384.0;

}  // namespace

// The largest G of one step, its distance from its largest loss, with which the sum can be above eps.
double SplitSum::reach_of_add(double epsilon) const noexcept {
    return -least_sum() - epsilon + 0.5 * gaussian_ + deviations_ * std::sqrt(gaussian_);
}

void SplitSum::turn(std::vector<SplitStep>& steps) noexcept {
    for (SplitStep& s : steps) s.law.pair = SampledPair::remove;
}

SplitSum::Below SplitSum::place_add(std::vector<SplitStep>& steps, std::vector<double>& outer, double epsilon) {
    for (SplitStep& s : steps)
        if (!leave_out_mass(s, LossWindow{}.with({s.base.begin()->level, s.base.begin()->width, 1.0})))
            return Below::failed;
    while (true) {
        if (!find_closed_part_of_add(steps)) return Below::failed;
        const double most = std::exp(closed_.log_kept) * -std::expm1(-reach_of_add(epsilon));
        if (closed_part_of_add(epsilon).value > kLeastKept * most || parts_.size() == kMostTakenOff)
            return Below::unplaced;
        if ((parts_.empty() && place_frequent(steps, epsilon)) || place_whole(steps, epsilon)) {
            closed_.log_kept = -kInfinity;
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

// Places all steps below the level on one line.
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

// Places these steps with a level in between that hardly any sum stays below. The line of the jumps ends sooner: only
// the jumps must decay, not all steps that hardly differ from the largest loss.
bool SplitSum::place_frequent(std::vector<SplitStep> steps, double epsilon) {
    const double frequent = kMassDepth - log_delta_, most = reach_of_add(epsilon);
    const auto jumps = [&](double level) {
        double sum = 0.0;
        for (const SplitStep& s : steps) sum += s.count * upper_tail(output_at(s.law, s.law.least() + level)).value;
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

// Records that the base leaves out what the window lets through.
bool SplitSum::leave_out_mass(SplitStep& step, const LossWindow& window) const {
    step.has_masses = step.left_out.from_least = true;
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

// Finds the closed part of all steps in the base window, from what the window leaves out:
//     P(all) = prod (1 - E[1 - W])^k,     Q(all)/P(all) = prod (e^least (1 + E[W (e^G - 1)]/E[W]))^k.
bool SplitSum::find_closed_part_of_add(const std::vector<SplitStep>& steps) {
    closed_ = {};
    for (const SplitStep& s : steps) {
        WindowedLaw below(s.law, s.base);
        const double lost = s.left_out.mass, kept = 1.0 - lost, off = s.left_out.error;
        if (!(kept > 2.0 * off) || !below.discretise(0.0, 0.0, kMassDepth + std::log(count_), 0.0)) return false;
        const WindowedNodes::Rise rise = below.nodes().rise();
        const double least = s.law.least(), risen = rise.value / kept;
        const double rise_error = rise.error + below.missed() * std::exp(-s.law.least_factor());
        closed_.log_kept += s.count * std::log1p(-lost);
        closed_.kept_error += s.count * (2.0 * off / kept + 4.0 * kUnitRoundoff * lost);
        closed_.grown += s.count * (least + std::log1p(risen));
        closed_.grown_error +=
            s.count * ((rise_error + 2.0 * risen * off) / kept + 4.0 * kUnitRoundoff * (std::fabs(least) + risen));
    }
    return true;
}

// Bounds E[(1 - e^{eps - S})_+] over sums with a step beyond the outer level. Such a sum is above eps in two cases
// only: the step is in the tail of its window, not beyond what all others can gain, or the Gaussian steps gain so much
// as happens in no more than e^{-z^2/2}/2 of all runs, z = deviations_.
double SplitSum::lost(double epsilon) const noexcept {
    const double rounding = 16.0 * kUnitRoundoff * (std::fabs(least_sum()) + std::fabs(epsilon));
    const double beyond = outer_.level - reach_of_add(epsilon) - rounding;
    if (!(beyond > 0.0)) return 1.0;
    const double u = beyond / outer_.width * (1.0 - 0x1p-40);
    const double gaussian = gaussian_ > 0.0 ? std::exp(-0.5 * deviations_ * deviations_) : 0.0;
    return 0.5 * (count_ * std::exp(-0.5 * u * u) + gaussian) * (1.0 + 0x1p-30);
}

SplitSum::Value SplitSum::closed_part_of_add(double epsilon) const noexcept {
    if (closed_.log_kept == -kInfinity) return {0.0, 0.0, 0.0, lost(epsilon)};
    const double kept = std::exp(closed_.log_kept), exponent = epsilon + closed_.grown;
    const double slope = -kept * std::exp(exponent);
    const double value = -kept * std::expm1(exponent);
    const double error =
        std::fabs(slope) * (closed_.grown_error + 4.0 * kUnitRoundoff * (std::fabs(epsilon) - closed_.grown)) +
        std::fabs(value) * (closed_.kept_error + 16.0 * kUnitRoundoff);
    return {value, slope, value - error, value + error + lost(epsilon)};
}

// The part of a split sum that needs no transform, and bounds of what it misses.

bool SplitSum::leave_out(const WindowedLaw& law, const WindowedNodes::Masses& m, LeftOut& to) {
    if (law.law().is_ratio()) return leave_out_ratio(law, m, to);
    to.mass += m.mass;
    to.fall += m.fall;
    to.error += m.error * (m.mass + m.size) + law.missed();
    return true;
}

// Finds the part that needs no transform: steps for which the window `jump` (remove) or `base` (add) alone decides.
bool SplitSum::find_closed_part(std::vector<SplitStep>& steps, double epsilon) {
    if (are_ratios()) return find_closed_part_of_ratios(steps, epsilon);
    const double target = kMassDepth + std::log(count_);
    closed_ = {};
    std::vector<WindowedLaw> decisive;
    std::vector<double> decisive_counts;
    double margin = 0.0;
    for (SplitStep& s : steps) {
        WindowedLaw chosen(s.law, s.jump);
        const double log_mass = chosen.log_moment_bound(0.0);
        WindowedNodes::Masses m{};
        double error = kInfinity;  // relative, of E[W (1 - e^-loss)], the smallest of the masses
        if (!(log_mass + std::log(s.count) < log_delta_ - kNothing)) {
            // With replaced records the gap has no bound here, so the outer level must leave nothing beyond.
            if (pair_ == SampledPair::replace_one || !chosen.discretise(0.0, 0.0, target, 0.0)) return false;
            m = chosen.nodes().masses();
            error = (m.error * m.size + chosen.missed()) / std::fabs(m.fall);
        }
        if (!(error < kMostError)) {  // negligible against delta, or below the normal numbers
            const double mass = std::exp(log_mass) * (1.0 + 1e-9) + 2.0 * std::numeric_limits<double>::denorm_min();
            closed_.ignored += s.count * mass;
            // |1 - e^-loss| <= max(1, e^-least - 1).
            s.left_out.error = mass * std::max(1.0, std::expm1(-s.law.least_factor()));
            s.has_masses = count_ > kMany;
            continue;
        }
        closed_.error = std::max(closed_.error, error);
        closed_.log_kept += s.count * std::log1p(-m.mass);
        closed_.grown += s.count * std::log1p(m.fall / (1.0 - m.mass));
        closed_.reverse += s.count * std::log1p(-m.reverse);
        s.has_masses = count_ > kMany;
        leave_out(chosen, m, s.left_out);
        margin = std::max(margin, s.jump.begin()->level - epsilon);
        decisive.push_back(chosen);
        decisive_counts.push_back(s.count);
    }
    if (!decisive.empty()) bound_gap(steps, decisive, decisive_counts, margin, epsilon);
    return true;
}

namespace {

// log of sum_i count_i E[W_i e^{tilt loss_i}], rounded up: one step is in its window W_i. The other steps may be
// anywhere, and their expectations are at least 1.
double log_one_above(const std::vector<double>& counts, const std::vector<WindowedLaw>& laws, double tilt) {
    double result = -kInfinity;  // the moments may be below the range of doubles
    for (std::size_t i = 0; i < laws.size(); ++i) {
        const double here = std::log(counts[i]) + laws[i].log_moment_above(tilt), top = std::max(result, here);
        if (top > -kInfinity) result = top + std::log1p(std::exp(std::min(result, here) - top));
    }
    return result > -kInfinity ? result + 1e-12 * (1.0 + std::fabs(result)) : result;
}

}  // namespace

// log E_Q[e^{-s S}] of the whole sum, rounded up: log A at order -s. For groups `whole` holds the nodes.
double SplitSum::log_whole_moment(std::span<const SplitStep> steps,
                                  const std::vector<std::optional<WindowedLaw>>& whole, double s) const {
    double k = 0.5 * gaussian_ * s * (s + 1.0) * raised(6);
    for (std::size_t i = 0; i < steps.size(); ++i) {
        const SampledLoss& law = steps[i].law;
        if (whole[i]) {
            k += steps[i].count * whole[i]->log_moment_above(s);
        } else {
            const Certified a = log_a(law.q, 1.0 / law.c, -s);
            k += steps[i].count * (a.value * (1.0 + a.relative_error + 0x1p-50));
        }
    }
    return k;
}

// Bounds the gap of `remove` over the decisive steps, for s >= 0:
//     E[(e^{eps - S} - 1)_+] <= e^eps Q(decisive, S < eps) <= e^{(1+s) eps} E_P[e^{-(1+s) S}].
void SplitSum::bound_gap(std::span<const SplitStep> steps, const std::vector<WindowedLaw>& decisive,
                         const std::vector<double>& counts, double margin, double epsilon) {
    closed_.gap_tilt = 1.0;
    closed_.log_gap = std::log(-std::expm1(closed_.reverse)) + 1e-9;
    const double known = std::log(std::max(closed_part(epsilon).value, 0.0));
    if (closed_.log_gap + closed_.gap_tilt * epsilon < known - kDepth) return;
    const double farthest = kGapTilts[std::size(kGapTilts) - 1] / margin;
    std::vector<std::optional<WindowedLaw>> whole;
    for (const SplitStep& step : steps) {
        whole.emplace_back();
        if (!step.law.group) continue;
        SampledLoss without = step.law;
        without.pair = SampledPair::add;
        whole.back().emplace(without, LossWindow{});
        const double target = kBoundTarget + std::log(count_);
        if (!whole.back()->discretise(kGapTilts[0] / margin, 0.0, target, farthest)) return;
    }
    for (const double factor : kGapTilts) {
        if (closed_.log_gap + closed_.gap_tilt * epsilon < known - kDepth) break;
        const double s = factor / margin;
        const double gap = log_whole_moment(steps, whole, s) + log_one_above(counts, decisive, -1.0 - s);
        if (gap + (1.0 + s) * epsilon < closed_.log_gap + closed_.gap_tilt * epsilon) {
            closed_.gap_tilt = 1.0 + s;
            closed_.log_gap = gap;
        }
    }
}

namespace {

constexpr double kLargestExponent = 700.0;

}  // namespace

SplitSum::Value SplitSum::closed_part(double epsilon) const noexcept {
    if (are_ratios()) return closed_part_of_ratios(epsilon);
    if (pair_ == SampledPair::add) return closed_part_of_add(epsilon);
    const double grown = std::expm1(epsilon);
    const double gained = std::exp(closed_.log_kept) * std::expm1(closed_.grown);
    const double reverse = -std::expm1(closed_.reverse);
    // e^eps may exceed the range of doubles where the product does not.
    const bool far = epsilon > kLargestExponent && reverse > 0.0;
    const double taken = far ? std::exp(epsilon + std::log(reverse)) : reverse > 0.0 ? grown * reverse : 0.0;
    const double value = gained - taken, slope = -(taken + reverse);
    const double positive = std::fabs(gained) + std::fabs(taken) * (far ? epsilon : 1.0);
    const double exponents = std::fabs(closed_.log_kept) + std::fabs(closed_.grown);  // of the exponentials, rounded
    const double error = positive * (2.0 * closed_.error + kUnitRoundoff * (16.0 + 4.0 * exponents));
    const double gap = std::exp(closed_.log_gap + closed_.gap_tilt * epsilon);
    return {value, slope, value - error, value + error + gap + closed_.ignored};
}

}  // namespace renyi
