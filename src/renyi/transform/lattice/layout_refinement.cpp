#include "renyi/transform/lattice/layout_refinement.hpp"

#include <algorithm>
#include <cmath>

namespace renyi::lattice {

namespace {

constexpr double kHopeless = 0x1p15;          // nodes after which convergence is judged
constexpr std::int64_t kManyNodes = 1 << 16;  // nodes after which the tilt is not chosen anew
constexpr double kCutOff = 1e-3;              // of the last node's mass
constexpr double kLong = 100.0;               // uses after which a few frequencies may do, whatever the window

// Both sides' log moment functions at the tilt.
struct Comparison {
    double gap, variance;
};

// Whether much of the last node's mass from below lies beyond it, where it is infinite from above.
bool is_cut_off(const LatticePair& pair) { return pair.beyond > kCutOff * pair.lower.back(); }

NodeLaws cut_above(const LossLayout& layout, NodeLaws& upper, const TiltChoice& choice) {
    set_bulk(upper, choice.limit);
    NodeLaws cut = truncated(upper, choice.log_tail);
    for (std::size_t i = 0; i < cut.size(); ++i) {
        const std::size_t size = cut[i].size();
        if (is_cut_off(layout.pairs()[i]) && size > cut[i].bulk + 1) cut[i] = cut[i].first(size - 1);
    }
    return cut;
}

// The same losses of other laws.
NodeLaws cut_like(const NodeLaws& cut, const NodeLaws& laws, double limit) {
    NodeLaws found;
    for (std::size_t i = 0; i < laws.size(); ++i) {
        const auto end = std::ranges::upper_bound(laws[i].losses, cut[i].losses.back());
        found.push_back(laws[i].first(static_cast<std::size_t>(end - laws[i].losses.begin())));
    }
    set_bulk(found, limit);
    return found;
}

// With the other side, or where only the upper one counts, with what it would be if it were not spread.
Comparison compare(const LossLayout& layout, NodeLaws& upper, const CompositionGoal& goal, TiltChoice& choice) {
    const double epsilon = goal.epsilon;
    const NodeLaws cut = cut_above(layout, upper, choice);
    choice.slope = saddle(cut, epsilon, choice.slope);
    const OwnedLaws other = goal.upper_only ? layout.unspread_laws(choice.slope) : layout.laws(Side::lower);
    const LogMoment above = log_moment(cut, choice.slope),
                    below = log_moment(cut_like(cut, other.laws, choice.limit), choice.slope);
    // Negative where losses at a cut have all the weight.
    const double gap = std::fabs(above.value - below.value);
    // The lower side's delta: what it allows to cut off may be cut off.
    choice.log_delta = log_delta_at(cut, choice.slope, epsilon) - gap;
    return {gap, above.variance};
}

// Cuts losses that contribute less than about rtol/1000 to delta.
std::vector<LossRange> trimmed(const LossLayout& layout, const NodeLaws& laws, const TiltChoice& choice, double rtol) {
    std::vector<LossRange> ranges;
    for (std::size_t i = 0; i < laws.size(); ++i) {
        const NodeLaw& law = laws[i];
        const LossRange old = layout.ranges()[i];
        const double step = layout.step(), limit = std::log(1e-3 * rtol / law.count);
        const double tail = std::exp(limit + choice.log_delta);
        const auto above = std::ranges::partition_point(law.above, [&](double mass) { return mass > tail; });
        const std::size_t end = std::max<std::size_t>(static_cast<std::size_t>(above - law.above.begin()), 1);
        NodeLaw kept = law.first(end);
        kept.bulk = 0;
        const double total = log_moment({kept}, choice.slope).value / law.count;
        // What is cut off below goes to the new end, with all the weight that this has.
        double below = 0.0, low = law.losses[0];
        for (std::size_t k = 0; k + 1 < end; ++k) {
            below += std::exp(law.logs[k]);
            const double highest = (limit + total - std::log(below)) / choice.slope;
            low = std::clamp(highest, law.losses[k], law.losses[k + 1]);
            if (highest < law.losses[k + 1]) break;
        }
        ranges.push_back({std::max(old.low, low - step), std::min(old.high, law.losses[end - 1] + step)});
    }
    return ranges;
}

double half_width(double spread, double rtol) { return spread * (std::sqrt(-2.0 * std::log(1e-6 * rtol)) + 1.0); }

}  // namespace

double spread_gap(const LossLayout& layout, const TiltChoice& choice) {
    OwnedLaws upper = layout.laws(Side::upper);
    const OwnedLaws before = layout.unspread_laws(choice.slope);
    const NodeLaws cut = cut_above(layout, upper.laws, choice);
    const double below = log_moment(cut_like(cut, before.laws, choice.limit), choice.slope).value;
    return std::fabs(log_moment(cut, choice.slope).value - below);
}

Refined refined(LossLayout layout, const CompositionGoal& goal) {
    const double rtol = goal.rtol, most = static_cast<double>(goal.max_points);
    std::optional<TiltChoice> choice;
    double last_step = 0.0, last_gap = 0.0;
    for (;;) {
        OwnedLaws upper = layout.laws(Side::upper);
        if (!choice || layout.longest() < kManyNodes) choice = choose_tilt(upper.laws, goal.epsilon, rtol);
        if (layout.exact()) return {*choice, std::move(layout)};
        const auto [gap, variance] = compare(layout, upper.laws, goal, *choice);
        const std::vector<LossRange> ranges = trimmed(layout, upper.laws, *choice, rtol);
        if (gap <= 0.7 * rtol) return {*choice, layout.cropped(ranges)};
        const double nodes = static_cast<double>(layout.longest());
        const bool hopeless = nodes >= kHopeless;
        double order = 2.0;  // on coarse lattices, whatever their gaps are
        if (last_step > 0.0 && gap < last_gap && last_gap < 1.0 && hopeless) {
            order = std::log(last_gap / gap) / std::log(last_step / layout.step());
        } else if (last_step > 0.0 && hopeless && gap > 0.7 * last_gap) {
            return {*choice, layout.cropped(ranges).as_final()};  // the pair itself is known no better
        }
        order = std::clamp(order, 0.8, 2.2);
        const double shrink = std::clamp(std::pow(0.5 * rtol / gap, 1.0 / order), 1.0 / 64.0, 0.8);
        last_step = layout.step();
        last_gap = gap;
        // Point masses off the nodes hold the lower side back: is the width in reach at this order of convergence?
        const bool too_many = std::pow(gap / rtol, 1.0 / order) > most / nodes;
        if (order < 1.4 && hopeless && too_many) return {*choice, layout.cropped(ranges).as_final()};
        double finest = 0.0;
        for (const LossRange& range : ranges) finest = std::max(finest, (range.high - range.low) / (most - 4.0));
        if (gap < 1.0 && !(choice->limit == -kInfinity && layout.uses() >= kLong)) {
            finest = std::max(finest, 2.0 * half_width(std::sqrt(variance), rtol) / most);
        }
        const double step = std::max(layout.step() * shrink, finest);
        if (step > 0.95 * layout.step()) return {*choice, layout.cropped(ranges)};
        layout = layout.with_step(step, ranges);
    }
}

}  // namespace renyi::lattice
