#include "renyi/transform/lattice/composed_sides.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "renyi/transform/lattice/lattice_kernels.hpp"
#include "renyi/transform/lattice/layout_refinement.hpp"
#include "renyi/transform/lattice/low_frequencies.hpp"
#include "renyi/transform/lattice/node_masses.hpp"
#include "renyi/transform/lattice/outside_mass.hpp"
#include "renyi/transform/lattice/tilt_window.hpp"

namespace renyi::lattice {

namespace {

constexpr std::int64_t kSmallestWindow = 1 << 13;  // below it a transform of all nodes is quick
constexpr std::int64_t kLargestWindow = std::int64_t{1} << 40;
constexpr double kSteepest = 50.0;  // exponent from node to node; more makes what lies between them overflow

// What both sides have in common.
struct Setting {
    const LossLayout& layout;
    Tilt tilt;
    TiltWindow reach;
    std::int64_t lowest, highest;  // nodes of the composition
    DoubleDouble offset;
    double offset_terms;
    std::vector<std::size_t> bulks;
};

struct TiltedSide {
    std::vector<TiltedPart> parts;
    Int128 log_scale = 0;
};

// So many bits that theta times any index, and the scales, are exact.
Tilt tilt_for(double theta, std::int64_t longest) {
    const double biggest = std::max(2000.0, theta * static_cast<double>(longest));
    const int bits = 51 - static_cast<int>(std::ceil(std::log2(4.0 * biggest)));
    return {std::max<std::int64_t>(std::llround(std::ldexp(theta, bits)), 1), bits};
}

Setting setting_of(const LossLayout& layout, const TiltWindow& reach, double limit) {
    Setting s{layout, tilt_for(reach.slope * layout.step(), layout.longest()), reach, 0, 0, {0.0, 0.0}, 0.0, {}};
    for (std::size_t i = 0; i < layout.pairs().size(); ++i) {
        const Lattice& lattice = layout.pairs()[i].lattice;
        const std::int64_t count = layout.count(i);
        s.lowest += count * lattice.first;
        s.highest += count * lattice.last;
        s.offset = s.offset + two_prod(lattice.offset, static_cast<double>(count));
        s.offset_terms += std::fabs(lattice.offset) * static_cast<double>(count);
        const double place = limit > -kInfinity ? std::floor((limit - lattice.offset) / lattice.step) + 1.0 -
                                                      static_cast<double>(lattice.first)
                                                : 0.0;
        s.bulks.push_back(static_cast<std::size_t>(std::clamp(place, 0.0, static_cast<double>(lattice.size()))));
    }
    return s;
}

// Masses e^(theta i - c), i = 0, 1, ... with a c that makes the sum about 1, and hardly more.
TiltedSide tilted_side(const Setting& s, const NodeLaws& laws, Side side) {
    TiltedSide found;
    const double theta = s.tilt.theta(), slope = theta / s.layout.step();
    for (std::size_t i = 0; i < laws.size(); ++i) {
        const LatticePair& pair = s.layout.pairs()[i];
        const std::vector<double>& masses = side == Side::upper ? pair.upper : pair.lower;
        std::int64_t centre = 0;
        if (laws[i].size() > 0) {
            NodeLaw one = laws[i];
            one.bulk = 0;
            one.count = 1.0;
            const double total = log_moment({one}, slope).value - slope * pair.lattice.loss(0);
            centre = static_cast<std::int64_t>(std::ceil(std::ldexp(total, s.tilt.bits)));
        }
        TiltedPart part{std::vector<double>(masses.size()), s.layout.count(i), s.bulks[i]};
        tilted_weights(masses.data(), masses.size(), theta, std::ldexp(static_cast<double>(centre), -s.tilt.bits),
                       part.weights.data());
        // The index counts from the first node: e^(theta first) belongs to the scale.
        const Int128 scale = centre + static_cast<Int128>(s.tilt.numerator) * pair.lattice.first;
        found.log_scale += scale * part.count;
        found.parts.push_back(std::move(part));
    }
    return found;
}

ComposedLoss composed_side(const Setting& s, Side side, const TiltedSide& tilted, Window window, double drift,
                           const TiltChoice& choice, std::shared_ptr<const TailSums> law) {
    double outside = 0.0, moved = drift;
    if (window.first > s.lowest) {
        outside += mass_beyond(tilted.parts, s.lowest, window.first - 1, -s.reach.low_shift * s.layout.step());
    }
    if (window.end() <= s.highest) {
        outside += mass_beyond(tilted.parts, s.lowest, window.end(), s.reach.high_shift * s.layout.step());
    }
    InfiniteMass infinite;
    for (std::size_t i = 0; i < s.bulks.size(); ++i) {
        const LatticePair& pair = s.layout.pairs()[i];
        infinite.add(side == Side::upper ? pair.upper_infinite : pair.lower_infinite, s.layout.count(i));
        moved += pair.drift * static_cast<double>(s.layout.count(i));
    }
    const bool split = std::ranges::all_of(s.bulks, [](std::size_t n) { return n > 0; });
    const bool is_upper = side == Side::upper;
    return {side,
            s.layout.step(),
            s.offset,
            s.offset_terms,
            s.tilt,
            window,
            std::move(law),
            tilted.log_scale,
            std::min(outside, 4.0),
            std::expm1(12.0 * kUnitRoundoff * s.layout.uses()),
            is_upper ? infinite.bounds().upper : infinite.bounds().lower,
            moved * (1.0 + 0x1p-40),
            split && is_upper ? std::optional(bound_left_out(s.layout, s.bulks, choice.bulk_slope)) : std::nullopt};
}

}  // namespace

double ComposedSides::lower_delta(double at) const {
    return lower ? lower->delta(at) : upper.delta(at) * std::exp(-gap);
}

double ComposedSides::relative_width(double at) const {
    const Bracket found = delta(at);
    return found.upper > 0.0 ? (found.upper - found.lower) / found.upper : 0.0;
}

ComposedSides compose_sides(const LossLayout& layout, TiltChoice choice, const CompositionGoal& goal, double drift,
                            FourierTransform& fourier) {
    OwnedLaws upper = layout.laws(Side::upper);
    set_bulk(upper.laws, choice.limit);
    if (!bulk_splits_all(upper.laws)) set_bulk(upper.laws, choice.limit = -kInfinity);
    choice.slope = std::min(choice.slope, kSteepest / layout.step());
    CompositionGoal sharp = goal;
    if (layout.exact()) sharp.rtol = std::min(goal.rtol, 1e-10);
    const Setting s =
        setting_of(layout, tilt_and_window(upper.laws, choice, sharp, kSteepest / layout.step()), choice.limit);

    std::int64_t first = s.lowest, last = s.highest;
    if (std::isfinite(s.reach.low) && std::isfinite(s.reach.high)) {
        const auto node = [&](double loss) {
            const double place = (loss - s.offset.hi) / layout.step();
            return static_cast<std::int64_t>(
                std::clamp(place, static_cast<double>(s.lowest), static_cast<double>(s.highest)));
        };
        first = std::max(node(s.reach.low) - 1, s.lowest);
        last = std::max(std::min(node(s.reach.high) + 1, s.highest), first + 1);
    }
    const auto size = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(last - first + 1)));
    Window window{first, size};
    const double theta = s.tilt.theta();
    std::vector<TiltedSide> sides;
    sides.push_back(tilted_side(s, upper.laws, Side::upper));
    if (!goal.upper_only) sides.push_back(tilted_side(s, layout.laws(Side::lower).laws, Side::lower));
    std::vector<std::shared_ptr<const TailSums>> laws;
    for (const TiltedSide& side : sides) {
        if (!(kSmallestWindow <= size && size <= kLargestWindow)) break;
        auto law = low_frequencies(side.parts, window, s.lowest, layout.step(), theta, fourier);
        if (!law) break;
        laws.push_back(std::move(law));
    }
    if (laws.size() < sides.size()) {
        const auto cap = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(goal.max_points)));
        if (last - first >= cap && !layout.exact()) {
            const double coarser =
                layout.step() * 1.02 * static_cast<double>(last - first + 1) / static_cast<double>(cap);
            return compose_sides(layout.coarsened(coarser), choice, goal, drift, fourier);
        }
        window.size = std::min(size, cap);
        laws.clear();
        for (const TiltedSide& side : sides) {
            laws.push_back(
                std::make_shared<NodeMasses>(compose(side.parts, window, s.lowest, layout.step(), theta, fourier)));
        }
    }
    ComposedSides found{composed_side(s, Side::upper, sides[0], window, drift, choice, laws[0]), {}, 0.0, goal.epsilon};
    if (goal.upper_only) {
        found.gap = spread_gap(layout, choice);
    } else {
        found.lower = composed_side(s, Side::lower, sides[1], window, drift, choice, laws[1]);
    }
    return found;
}

void InfiniteMass::add(double mass, std::int64_t count) noexcept {
    if (count == 0 || mass == 0.0) return;
    log_finite_ += mass < 1.0 ? static_cast<double>(count) * std::log1p(-mass) : -kInfinity;
    terms_ += 1.0;
}

// Terms of one sign: each to 3 u, the sum to one u for each, the last step to 2 u more.
Bracket InfiniteMass::bounds() const noexcept {
    if (log_finite_ == 0.0) return {0.0, 0.0};
    const double value = -std::expm1(log_finite_), room = (16.0 + terms_) * kUnitRoundoff;
    return {log_finite_ == -kInfinity ? 1.0 : value * (1.0 - room), std::min(value * (1.0 + room) + 0x1p-1073, 1.0)};
}

}  // namespace renyi::lattice
