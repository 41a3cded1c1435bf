#include "renyi/transform/lattice/loss_composition.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "renyi/transform/lattice/layout_refinement.hpp"
#include "renyi/transform/lattice/log_crossing.hpp"
#include "renyi/transform/lattice/single_use.hpp"

namespace renyi::lattice {

namespace {

constexpr std::size_t kKept = 4;
constexpr int kTurns = 4;
constexpr std::int64_t kNodes = 2048, kFewNodes = 512;  // of the coarse lattice
constexpr double kRough = 1e-3;                         // relative width for which few do
constexpr double kPoor = 0.01;    // relative width beyond which lattices are made anew
constexpr double kClose = 1e-13;  // of the ends of epsilon, relative
constexpr double kSeen = 1e-3;    // of delta: likelier losses matter
constexpr double kRoom = 4.0 * kUnitRoundoff;

// The same number of nodes on the losses that are likely enough to be seen beside delta, about.
LossLayout seen_at(const LossLayout& layout, double delta) {
    const OwnedLaws laws = layout.laws(Side::upper);
    std::vector<LossRange> ranges;
    double widest = 0.0, before = 0.0;
    for (std::size_t i = 0; i < laws.laws.size(); ++i) {
        const NodeLaw& law = laws.laws[i];
        const LossRange old = layout.ranges()[i];
        const double least = kSeen * delta / law.count;
        const auto above = std::ranges::partition_point(law.above, [&](double mass) { return mass > least; });
        const auto end = std::max<std::size_t>(static_cast<std::size_t>(above - law.above.begin()), 1);
        const double high = end < law.losses.size() ? law.losses[end] : old.high;
        ranges.push_back({std::max(old.low, -std::fabs(high)), std::min(old.high, high)});
        widest = std::max(widest, ranges.back().high - ranges.back().low);
        before = std::max(before, old.high - old.low);
    }
    const bool shorter = 0.0 < widest && widest < 0.125 * before && !layout.exact();
    return shorter ? layout.with_step(layout.step() * (widest / before), ranges) : layout;
}

// Estimated lower ends may lie above an upper one.
Bracket in_order(Bracket b) noexcept { return {std::min(b.lower, b.upper), b.upper}; }

bool is_found(Bracket b) noexcept { return b.upper - b.lower < kInfinity; }

// Encloses epsilon(delta), from both sides of one composition.
Bracket epsilon_of(const ComposedSides& sides, double delta) {
    const auto above = [&sides](double epsilon) { return sides.upper.delta(epsilon); };
    const auto below = [&sides](double epsilon) { return sides.lower_delta(epsilon); };
    const double stride = sides.upper.step * static_cast<double>(sides.upper.window.size) / 1024.0;
    // delta(epsilon) >= 1 - e^epsilon gives the first where the lattice gives nothing.
    const double floor = std::log1p(-delta) - kRoom;
    const double low = log_crossing(below, delta, sides.epsilon, stride, kClose).low;
    return {std::max(low, floor), log_crossing(above, delta, sides.epsilon, stride, kClose).high};
}

}  // namespace

LossComposition::LossComposition(const std::vector<LossPart>& parts, double rtol, std::int64_t max_points,
                                 bool upper_only)
    : merged_(merged_parts(parts)),
      rtol_(rtol),
      max_points_(max_points),
      upper_only_(upper_only),
      largest_(merged_.drift),
      reached_(-merged_.drift) {
    if (std::ranges::any_of(parts, [](const LossPart& part) { return part.pair->two_sided(); })) {
        compose_apart(parts);
        return;
    }
    InfiniteMass least, most;
    for (const LossPart& part : merged_.parts) {
        outlines_.push_back(outline_of(*part.pair));
        const LossOutline& outline = outlines_.back();
        const double count = static_cast<double>(part.count);
        least.add(outline.infinite.lower, part.count);
        most.add(outline.infinite.upper, part.count);
        largest_ += count * outline.largest + 1e-12 * count * std::fabs(outline.largest);
        reached_ += count * outline.surely_reached - 1e-12 * count * std::fabs(outline.surely_reached);
    }
    infinite_ = {least.bounds().lower, most.bounds().upper};
}

Bracket LossComposition::known_delta(double epsilon) {
    const std::scoped_lock lock(mutex_);
    Bracket found{0.0, 1.0};
    for (const ComposedSides& sides : solved_) found = common(found, sides.delta(epsilon));
    return found;
}

Bracket LossComposition::delta(double epsilon, FourierTransform& fourier, double known) {
    if (known > 0.0 && scout() != nullptr) {
        const double rough = scout()->delta(epsilon, fourier).upper;
        if (rough <= known) return {0.0, rough};
    }
    if (rough_) return two_sided_delta(epsilon, fourier, known);
    if (epsilon == -kInfinity) return {1.0, 1.0};
    const double floor = epsilon < 0.0 ? -std::expm1(epsilon) : 0.0;
    if (merged_.parts.empty()) return {floor * (1.0 - kRoom), std::min(floor * (1.0 + kRoom), 1.0)};
    Bracket found =
        alone() ? single_delta(*merged_.parts[0].pair, epsilon, merged_.drift) : composed_delta(epsilon, fourier);
    if (found.upper == 0.0 && epsilon < largest_) found.upper = std::numeric_limits<double>::denorm_min();
    found.lower = std::min(std::max(found.lower, floor * (1.0 - kRoom)), found.upper);
    return found;
}

Bracket LossComposition::composed_delta(double epsilon, FourierTransform& fourier) {
    if (infinite_.upper == 1.0 || epsilon > largest_) {
        // Beyond every finite loss nothing but the infinite mass counts; without finite losses nothing can be composed.
        return epsilon > largest_ ? infinite_ : Bracket{infinite_.lower, 1.0};
    }
    const std::scoped_lock lock(mutex_);
    Bracket found{0.0, 1.0};
    for (const ComposedSides& sides : solved_) {
        found = common(found, sides.delta(epsilon));
        if (found.upper - found.lower <= rtol_ * found.upper) return found;
    }
    return common(found, solve(epsilon, fourier).delta(epsilon));
}

Bracket LossComposition::epsilon(double delta, FourierTransform& fourier, double known) {
    if (known > 0.0 && delta < 1.0 && !alone() && !rough_) {  // delta there tells whether it is enough
        LossComposition& first = scout() != nullptr ? *scout() : *this;
        if (first.delta(known, fourier).upper <= delta) return {-kInfinity, known};
    }
    if (rough_) return two_sided_epsilon(delta, fourier, known);
    if (delta == 1.0) return {-kInfinity, -kInfinity};
    if (merged_.parts.empty()) {
        const double value = std::log1p(-delta);
        return {value * (1.0 + kRoom), value * (1.0 - kRoom)};
    }
    if (delta < infinite_.lower) return {kInfinity, kInfinity};
    const double top = delta >= infinite_.upper ? largest_ : kInfinity;  // there delta is the infinite mass
    if (delta == 0.0) return {reached_, top};
    if (alone()) return common(single_epsilon(*merged_.parts[0].pair, delta, merged_.drift), {-kInfinity, top});
    if (infinite_.upper == 1.0) return {std::log1p(-delta) - kRoom, kInfinity};
    const std::scoped_lock lock(mutex_);
    Bracket best{-kInfinity, top};
    for (const ComposedSides& sides : solved_) best = in_order(common(best, epsilon_of(sides, delta)));
    return composed_epsilon(delta, best, fourier);
}

Bracket LossComposition::composed_epsilon(double delta, Bracket best, FourierTransform& fourier) {
    for (int turn = 0; turn < kTurns; ++turn) {
        if (is_found(best) && is_tight(best, delta)) break;
        if (turn > 0 && finest_width_ > rtol_ && is_near(best)) break;  // at the cap another tilt tells no more
        const double middle = 0.5 * (best.lower + best.upper);
        double at = middle;
        if (turn == 0 && !is_near(best)) {
            at = std::clamp(guess(delta), best.lower, best.upper);
        } else if (!is_found(best)) {
            at = best.lower > -kInfinity ? best.lower + 1.0 : best.upper - 1.0;
        }
        const Bracket before = best;
        best = in_order(common(best, epsilon_of(solve(at, fourier), delta)));
        if (turn > 0 && before.upper - before.lower <= 1.5 * (best.upper - best.lower)) break;
    }
    return best;
}

// Whether the last tilt serves all of it.
bool LossComposition::is_near(Bracket epsilons) const {
    if (solved_.empty()) return false;
    const ComposedLoss& side = solved_.front().upper;
    return side.tilt.theta() / side.step * (epsilons.upper - epsilons.lower) < 1.0;
}

bool LossComposition::is_tight(Bracket epsilons, double delta) const {
    // Between the ends delta falls by the gap of both sides, and as much again.
    return std::ranges::any_of(solved_, [&](const ComposedSides& sides) {
        return sides.upper.delta(epsilons.lower) - sides.lower_delta(epsilons.upper) <= 2.0 * rtol_ * delta;
    });
}

const ComposedSides& LossComposition::solve(double epsilon, FourierTransform& fourier) {
    const CompositionGoal goal{epsilon, rtol_, max_points_, upper_only_};
    std::optional<ComposedSides> sides = solve_again(goal, fourier);
    if (!sides) sides = solve_anew(goal, fourier);
    solved_.insert(solved_.begin(), std::move(*sides));
    if (solved_.size() > kKept) solved_.pop_back();
    return solved_.front();
}

// On the lattices of the last epsilon, which mostly do for another one nearby.
std::optional<ComposedSides> LossComposition::solve_again(const CompositionGoal& goal, FourierTransform& fourier) {
    if (!finest_) return {};
    const OwnedLaws laws = finest_->laws(Side::upper);
    const TiltChoice choice = choose_tilt(laws.laws, goal.epsilon, goal.rtol);
    ComposedSides sides = compose_sides(*finest_, choice, goal, merged_.drift, fourier);
    const double width = sides.relative_width(goal.epsilon);
    const double poor = finest_->final() ? 1.0 : kPoor;
    const bool enough = width <= goal.rtol || width <= std::min(1.5 * finest_width_, poor);
    return enough ? std::optional(std::move(sides)) : std::nullopt;
}

ComposedSides LossComposition::solve_anew(const CompositionGoal& goal, FourierTransform& fourier) {
    auto [choice, layout] = refined(coarse_layout(), goal);
    ComposedSides sides = compose_sides(layout, choice, goal, merged_.drift, fourier);
    double width = sides.relative_width(goal.epsilon);
    // The moment functions agree; where that says too little of delta, go on from the result.
    for (int turn = 0; turn < 2; ++turn) {
        if (width <= rtol_ || layout.exact() || layout.final() || sides.nodes() > max_points_ / 4) break;
        const double used = static_cast<double>(layout.longest()) / static_cast<double>(max_points_);
        const double shrink = std::max({std::sqrt(0.5 * rtol_ / width), 1.1 * used, 0.02});
        if (shrink > 0.9) break;
        LossLayout finer = layout.with_step(layout.step() * shrink, layout.ranges());
        ComposedSides better = compose_sides(finer, choice, goal, merged_.drift, fourier);
        const double reached = better.relative_width(goal.epsilon);
        if (!(reached <= 0.7 * width)) break;
        layout = std::move(finer);
        sides = std::move(better);
        width = reached;
    }
    finest_ = std::move(layout);
    finest_width_ = width;
    return sides;
}

const LossLayout& LossComposition::coarse_layout() {
    if (!coarse_) coarse_.emplace(merged_.parts, outlines_, max_points_, rtol_ < kRough ? kNodes : kFewNodes);
    return *coarse_;
}

// About epsilon(delta), from the coarse lattices: Newton's method, as the tilt is -d log delta/d epsilon, about.
double LossComposition::guess(double delta) {
    const OwnedLaws laws = seen_at(coarse_layout(), delta).laws(Side::upper);
    double high = 0.0;
    for (const NodeLaw& law : laws.laws) high += law.count * (law.size() > 0 ? law.losses.back() : 0.0);
    double low = std::min(std::log1p(-delta), high);
    const double target = std::log(delta > infinite_.lower ? delta - infinite_.lower : delta);
    double at = 0.5 * (low + high);
    for (int turn = 0; turn < 60 && high - low > 1e-6 * (std::fabs(low) + std::fabs(high)); ++turn) {
        const TiltChoice choice = choose_tilt(laws.laws, at, 1.0);
        const double excess = choice.log_delta - target;
        if (std::fabs(excess) < 0.1) break;
        (excess > 0.0 ? low : high) = at;
        const double next = at + excess / choice.slope;
        at = low < next && next < high ? next : 0.5 * (low + high);
    }
    return at;
}

}  // namespace renyi::lattice
