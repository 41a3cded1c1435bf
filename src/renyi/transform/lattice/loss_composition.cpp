#include "renyi/transform/lattice/loss_composition.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "renyi/fp/double_double.hpp"
#include "renyi/pair/noise/noises.hpp"
#include "renyi/transform/lattice/loss_layout.hpp"

namespace renyi::lattice {

namespace {

constexpr double kBeside = 0x1p-16;  // part of a span: a cut so near to an end is made only after other cuts
constexpr double kNextTo = 0x1p-12;  // relative to a loss; far more than a cut of a wide span may miss

// Cuts at equally spaced losses only, unless they are as good as an end.
auto cuts_at(double first, double last, int count) {
    const double step = last > first ? (last - first) / count : 1.0, most = last > first ? count : 0;
    const double least = 8.0 * kUnitRoundoff * std::max(std::fabs(first), std::fabs(last));
    return CutBy([=](double low, double high) {
        const double from = std::max(std::floor((low + least - first) / step) + 1.0, 0.0);
        const double to = std::min(std::ceil((high - least - first) / step) - 1.0, most);
        const double middle = first + step * std::floor(0.5 * (from + to));
        if (!(from <= to && low < middle && middle < high)) return kFine;
        return std::min(middle - low, high - middle) < kBeside * (high - low) ? kAnywhere : middle;
    });
}

// A span above epsilon contributes p (1 - e^(epsilon - mean)) on either side. A span around epsilon contributes at
// least the value at its mean. It contributes at most its value from its lower end, and at most the share of p at its
// higher end. Losses have an error e: the value lies between those at epsilon - e and epsilon + e, and lower ends and
// means are 2e closer.
double of_span(const Span& span, double epsilon, double error, Side side) noexcept {
    epsilon += side == Side::upper ? -error : error;
    if (epsilon >= span.high) return 0.0;
    const auto from = [&](double start) { return start < span.mean ? span.p * -std::expm1(start - span.mean) : 0.0; };
    if (epsilon <= span.low || side == Side::lower) return from(epsilon);
    const double low = span.low - 2.0 * error;
    const double share = std::min(std::expm1(low - span.mean) / std::expm1(low - span.high), 1.0);
    return std::min(span.p * share * -std::expm1(epsilon - span.high), from(low));
}

// The bounds that spans give.
class SpanBounds {
public:
    SpanBounds(const Pair& pair, const Fineness& fineness) : spans_(pair.spans(Side::upper, fineness)) {}

    double bound(double epsilon, double drift, Side side) const {
        const bool is_upper = side == Side::upper;
        const double sign = is_upper ? 1.0 : -1.0;
        DoubleDouble sum{is_upper ? spans_.infinite.upper : spans_.infinite.lower, 0.0};
        for (const Span& span : spans_.spans) {
            const double rounding = 2.0 * kUnitRoundoff * (std::fabs(epsilon) + std::fabs(span.mean));
            const double value = of_span(span, epsilon, span.loss_error + drift + rounding, side);
            if (value > 0.0) sum = sum + value * std::max(1.0 + sign * (span.mass_error + 16.0 * kUnitRoundoff), 0.0);
        }
        return std::clamp(sum.hi * (1.0 + sign * 4.0 * kUnitRoundoff), 0.0, 1.0);
    }

    Bracket epsilon(double delta, double drift, double start, double stride) const {
        const auto curve = [&](Side side) { return [=, this](double e) { return bound(e, drift, side); }; };
        return {log_crossing(curve(Side::lower), delta, start, stride, kClose).low,
                log_crossing(curve(Side::upper), delta, start, stride, kClose).high};
    }

private:
    static constexpr double kClose = 2.0 * kUnitRoundoff;

    Spans spans_;
};

}  // namespace

// Cuts and losses are only approximate: losses that are below epsilon and may be above it must not have much mass, so
// there is another cut next to epsilon.
Bracket single_delta(const Pair& pair, double epsilon, double drift) {
    const SpanBounds spans(pair, cuts_at(epsilon - kNextTo * std::fabs(epsilon), epsilon, 1));
    return {spans.bound(epsilon, drift, Side::lower), spans.bound(epsilon, drift, Side::upper)};
}

// Spans cut around a bracket narrow it by a factor, and in the end to the square of its width.
Bracket single_epsilon(const Pair& pair, double delta, double drift) {
    constexpr int kTurns = 40, kCuts = 12;
    Bracket found = SpanBounds(pair, Coarse{}).epsilon(delta, drift, 0.0, 1.0);
    for (int turn = 0; turn < kTurns && found.upper - found.lower < kInfinity; ++turn) {
        const double width = found.upper - found.lower, middle = found.lower + 0.5 * width;
        if (!(width > 0.0)) break;
        const double reach = 0.5 * width + std::max(0.5 * width, kNextTo * std::fabs(middle));
        const SpanBounds spans(pair, cuts_at(middle - reach, middle + reach, kCuts));
        const Bracket next = spans.epsilon(delta, drift, middle, 0.25 * width);
        found = {std::max(found.lower, next.lower), std::min(found.upper, next.upper)};
        if (!(found.upper - found.lower < 0.5 * width)) break;
    }
    return found;
}

namespace {

constexpr double kReach = 40.0;  // deviations beyond which a Gaussian has no mass

}  // namespace

GaussiansMerged merge_gaussians(const std::vector<CountedPair>& parts) {
    GaussiansMerged merged;
    DoubleDouble squares{0.0, 0.0};
    std::int64_t gaussians = 0;
    PairPointer last;
    for (const CountedPair& part : parts) {
        if (part.count == 0) continue;
        if (const double mu = part.pair->gaussian_shift(); mu > 0.0) {
            squares = squares + two_prod(mu, mu) * static_cast<double>(part.count);
            gaussians += part.count;
            last = part.pair;
            continue;
        }
        merged.parts.push_back(part);
    }
    if (gaussians == 1) {
        merged.parts.push_back({last, 1});
    } else if (gaussians > 1) {
        // The root has an error of 2 u; the loss mu v at v deviations from the middle moves with it.
        const double mu = std::sqrt(squares.hi);
        merged.parts.push_back({gaussian_noise(mu), 1});
        merged.drift = 2.0 * kUnitRoundoff * mu * (kReach + 2.0 * mu);
    }
    return merged;
}

namespace {

// Tuning: all but kRounding affect width and time, not validity.
constexpr std::size_t kKept = 4;
constexpr int kTurns = 4;
constexpr std::int64_t kNodes = 2048, kFewNodes = 512;  // of the coarse lattice
constexpr double kFewer = 1e-3;                         // relative width from which few nodes are enough
constexpr double kPoor = 0.01;                          // relative width beyond which lattices are made anew
constexpr double kExact = 1e-6;                         // relative width, at most, of lattices that hold all atoms
constexpr double kClose = 1e-13;                        // relative accuracy of the ends of epsilon
constexpr double kRelevant = 1e-3;                      // part of delta: losses likelier than this matter
constexpr double kRounding = kSystemError + 2.0 * kUnitRoundoff;

// The layout with about the same number of nodes on the losses that are likely enough to matter beside delta.
LossLayout relevant_at(const LossLayout& layout, double delta) {
    const OwnedLaws laws = layout.laws(Side::upper);
    std::vector<LossRange> ranges;
    double widest = 0.0, before = 0.0;
    for (std::size_t i = 0; i < laws.laws.size(); ++i) {
        const NodeLaw& law = laws.laws[i];
        const LossRange old = layout.ranges()[i];
        const double least = kRelevant * delta / law.count;
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
    // delta(epsilon) >= 1 - e^epsilon gives the lower end where the lattice gives none.
    const double floor = std::log1p(-delta) - kRounding;
    const double low = log_crossing(below, delta, sides.epsilon, stride, kClose).low;
    return {std::max(low, floor), log_crossing(above, delta, sides.epsilon, stride, kClose).high};
}

}  // namespace

LossComposition::LossComposition(const std::vector<CountedPair>& parts, double rtol, std::int64_t max_points,
                                 bool upper_only)
    : merged_(merge_gaussians(parts)),
      rtol_(rtol),
      max_points_(max_points),
      upper_only_(upper_only),
      largest_(merged_.drift),
      reached_(-merged_.drift) {
    if (std::ranges::any_of(parts, [](const CountedPair& part) { return part.pair->two_sided(); })) {
        compose_apart(parts);
        return;
    }
    InfiniteMass least, most;
    for (const CountedPair& part : merged_.parts) {
        outlines_.push_back(outline_of(*part.pair));
        const LossOutline& outline = outlines_.back();
        const double count = static_cast<double>(part.count);
        least.add(outline.infinite.lower, part.count);
        most.add(outline.infinite.upper, part.count);
        largest_ += count * outline.largest + 1e-12 * count * std::fabs(outline.largest);
        reached_ += count * outline.largest_reached - 1e-12 * count * std::fabs(outline.largest_reached);
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
    if (merged_.parts.empty()) return {floor * (1.0 - kRounding), std::min(floor * (1.0 + kRounding), 1.0)};
    Bracket found =
        alone() ? single_delta(*merged_.parts[0].pair, epsilon, merged_.drift) : composed_delta(epsilon, fourier);
    if (found.upper == 0.0 && epsilon < largest_) found.upper = std::numeric_limits<double>::denorm_min();
    found.lower = std::min(std::max(found.lower, floor * (1.0 - kRounding)), found.upper);
    return found;
}

Bracket LossComposition::composed_delta(double epsilon, FourierTransform& fourier) {
    if (infinite_.upper == 1.0 || epsilon >= largest_) {
        // From the largest finite loss on only the infinite mass counts; without finite losses nothing can be composed.
        return epsilon >= largest_ ? infinite_ : Bracket{infinite_.lower, 1.0};
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
    if (known > 0.0 && delta < 1.0 && !alone() && !rough_) {  // delta at `known` tells whether it is enough
        LossComposition& first = scout() != nullptr ? *scout() : *this;
        if (first.delta(known, fourier).upper <= delta) return {-kInfinity, known};
    }
    if (rough_) return two_sided_epsilon(delta, fourier, known);
    if (delta == 1.0) return {-kInfinity, -kInfinity};
    if (merged_.parts.empty()) {
        const double value = std::log1p(-delta);
        return {value * (1.0 + kRounding), value * (1.0 - kRounding)};
    }
    if (delta < infinite_.lower) return {kInfinity, kInfinity};
    const double top = delta >= infinite_.upper ? largest_ : kInfinity;  // there delta is the infinite mass
    if (delta == 0.0) return {reached_, top};
    if (alone()) return common(single_epsilon(*merged_.parts[0].pair, delta, merged_.drift), {-kInfinity, top});
    if (infinite_.upper == 1.0) return {std::log1p(-delta) - kRounding, kInfinity};
    const std::scoped_lock lock(mutex_);
    Bracket best{-kInfinity, top};
    for (const ComposedSides& sides : solved_) best = in_order(common(best, epsilon_of(sides, delta)));
    return composed_epsilon(delta, best, fourier);
}

Bracket LossComposition::composed_epsilon(double delta, Bracket best, FourierTransform& fourier) {
    for (int turn = 0; turn < kTurns; ++turn) {
        if (is_found(best) && is_tight(best, delta)) break;
        if (turn > 0 && finest_width_ > rtol_ && is_near(best)) break;  // at the cap another tilt is no better
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

// Whether the last tilt serves the whole bracket.
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
    // Where a lattice holds all atoms, a small width costs nothing, and a cut made for a larger one may suit one
    // epsilon alone.
    const double rtol = coarse_layout().exact() ? std::min(rtol_, kExact) : rtol_;
    const CompositionGoal goal{epsilon, rtol, max_points_, upper_only_};
    std::optional<ComposedSides> sides = solve_again(goal, fourier);
    if (!sides) sides = solve_anew(goal, fourier);
    solved_.insert(solved_.begin(), std::move(*sides));
    if (solved_.size() > kKept) solved_.pop_back();
    return solved_.front();
}

// Composes on the lattices of the last epsilon, which mostly serve an epsilon nearby as well.
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
    // The moment functions agree. Where delta is still too wide, refine the step from the width found.
    for (int turn = 0; turn < 2; ++turn) {
        const bool coarsened = sides.upper.step > layout.step();  // a finer step does not fit a window
        if (width <= rtol_ || layout.exact() || layout.final() || coarsened || sides.nodes() > max_points_ / 4) break;
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
    if (!coarse_) coarse_.emplace(merged_.parts, outlines_, max_points_, rtol_ < kFewer ? kNodes : kFewNodes);
    return *coarse_;
}

// Estimates epsilon(delta) from the coarse lattices by Newton's method: the tilt is about -d log delta/d epsilon.
double LossComposition::guess(double delta) {
    const OwnedLaws laws = relevant_at(coarse_layout(), delta).laws(Side::upper);
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

// Pairs that are known by one pair above and one below take two compositions. These are rough at first, as the two
// sides are mostly far apart, and fine where the width from the lattices is not little beside the distance of the
// sides.

namespace {

// Tuning: these affect width and time, not validity.
constexpr double kScout = 0.01;  // relative width of a first look where something is known to be enough
constexpr std::int64_t kScoutPoints = 1 << 15;
constexpr double kRough = 1e-3;       // relative width above, which is the answer where the other side is far off
constexpr double kRoughBelow = 1e-2;  // relative width below
constexpr double kMiddle = 3e-4;      // relative width above, of the second look
constexpr double kFineBelow = 1e-4;   // relative width below, of the second and third look
constexpr double kMostBelow = 0.5;    // part of the bracket from the lattices below, up to which no finer ones are made
constexpr double kMoreApart = 3.0;    // times kMiddle: distance of the sides beside which kMiddle is little
constexpr double kApart = 0.05;       // relative distance from which the sides are far apart

bool is_within(Bracket b, double rtol) noexcept { return b.upper - b.lower <= rtol * b.upper; }
bool is_part(Bracket below, Bracket all) noexcept {
    return below.upper - below.lower <= kMostBelow * (all.upper - all.lower);
}
bool is_apart(Bracket b) noexcept { return b.upper - b.lower > kApart * b.upper; }

std::vector<CountedPair> one_side_of(const std::vector<CountedPair>& parts, Side side) {
    Composer composer;
    for (const CountedPair& part : parts) composer.add(part.pair->side(side), part.count);
    return composer.composition().pairs;
}

}  // namespace

void LossComposition::compose_apart(const std::vector<CountedPair>& parts) {
    rough_ = sides_of(parts, std::max(rtol_, kRough), std::max(rtol_, kRoughBelow), max_points_);
    fine_ = sides_of(parts, rtol_, std::max(rtol_, kFineBelow), max_points_);
    if (rtol_ < kMiddle)
        middle_ = {std::make_shared<LossComposition>(one_side_of(parts, Side::upper), kMiddle, max_points_, true),
                   fine_->below};
    if (rtol_ < kFineBelow)
        finest_below_ = std::make_unique<LossComposition>(one_side_of(parts, Side::lower), rtol_, max_points_);
}

// A rough composition of the upper sides, or null where it saves nothing.
LossComposition* LossComposition::scout() {
    std::call_once(scouted_, [this] {
        if (rtol_ >= 0.1 * kScout || upper_only_ || merged_.parts.empty() || alone()) return;
        const std::int64_t points = std::min(max_points_, kScoutPoints);
        scout_ = std::make_unique<LossComposition>(one_side_of(merged_.parts, Side::upper), kScout, points, true);
    });
    return scout_.get();
}

LossComposition::Sides LossComposition::sides_of(const std::vector<CountedPair>& parts, double rtol_above,
                                                 double rtol_below, std::int64_t max_points) {
    return {std::make_shared<LossComposition>(one_side_of(parts, Side::upper), rtol_above, max_points, true),
            std::make_shared<LossComposition>(one_side_of(parts, Side::lower), rtol_below, max_points)};
}

Bracket LossComposition::Sides::delta(double epsilon, FourierTransform& fourier) const {
    const double most = above->delta(epsilon, fourier).upper;
    return {std::min(below->delta(epsilon, fourier).lower, most), most};
}

Bracket LossComposition::Sides::epsilon(double delta, FourierTransform& fourier) const {
    const double most = above->epsilon(delta, fourier).upper;
    return {std::min(below->epsilon(delta, fourier).lower, most), most};
}

// Compositions at tilts that are far off often show the distance, which saves composing delta anew.
bool LossComposition::Sides::are_apart(double epsilon, FourierTransform& fourier) const {
    const double most = above->delta(epsilon, fourier).upper;
    return below->known_delta(epsilon).upper < (1.0 - kApart) * most || is_apart(delta(epsilon, fourier));
}

Bracket LossComposition::two_sided_delta(double epsilon, FourierTransform& fourier, double known) const {
    Bracket found = rough_->delta(epsilon, fourier);
    if (found.upper <= known || is_apart(found) || is_within(found, rtol_)) return found;
    if (middle_) found = common(found, middle_->delta(epsilon, fourier));
    if (middle_ && (is_within(found, rtol_) || !is_within(found, kMoreApart * kMiddle))) return found;
    found = common(found, fine_->delta(epsilon, fourier));
    if (!finest_below_ || is_part(fine_->below->delta(epsilon, fourier), found)) return found;
    return {std::clamp(finest_below_->delta(epsilon, fourier).lower, found.lower, found.upper), found.upper};
}

Bracket LossComposition::two_sided_epsilon(double delta, FourierTransform& fourier, double known) const {
    if (known > 0.0 && rough_->above->delta(known, fourier).upper <= delta) return {-kInfinity, known};
    const Bracket rough = rough_->epsilon(delta, fourier);
    const bool apart = !is_found(rough) || rough_->are_apart(rough.upper, fourier);
    // Atoms on one lattice are composed exactly at once.
    if (apart || is_within(rough_->delta(rough.upper, fourier), rtol_)) return rough;
    if (!middle_) return common(rough, fine_->epsilon(delta, fourier));
    const Bracket better = common(rough, middle_->epsilon(delta, fourier));
    const Bracket there = middle_->delta(better.upper, fourier);
    if (is_within(there, rtol_) || !is_within(there, kMoreApart * kMiddle)) return better;
    const Bracket found = common(better, fine_->epsilon(delta, fourier));
    if (!finest_below_ || is_part(fine_->below->epsilon(delta, fourier), found)) return found;
    return {std::clamp(finest_below_->epsilon(delta, fourier).lower, found.lower, found.upper), found.upper};
}

}  // namespace renyi::lattice
