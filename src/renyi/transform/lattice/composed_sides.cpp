#include "renyi/transform/lattice/composed_sides.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "renyi/transform/lattice/lattice.hpp"
#include "renyi/transform/lattice/loss_layout.hpp"
#include "renyi/transform/lattice/tilted_law.hpp"

namespace renyi::lattice {

namespace {

constexpr double kFarthest = 1e200;  // beyond every loss

DoubleDouble exactly(std::int64_t n) noexcept {
    const double high = static_cast<double>(n);
    return {high, static_cast<double>(n - static_cast<std::int64_t>(high))};
}

// value e^exponent without overflow of the factor, to 8 u and u |exponent| relative.
double times_exp(double value, double exponent) noexcept {
    if (value == 0.0) return 0.0;
    const double root = std::exp(0.5 * std::min(exponent, 1400.0));
    return exponent > 1400.0 ? kInfinity : value * root * root;
}

}  // namespace

// The place is found in double-double arithmetic: an epsilon moved by 2^-95 of the largest term would have exactly this
// place.
ComposedLoss::Place ComposedLoss::place_of(double epsilon) const noexcept {
    const DoubleDouble target = DoubleDouble{epsilon, 0.0} - offset;
    const auto distance = [&](std::int64_t node) { return (exactly(node) * step - target).hi; };
    if (!(distance(window.end() - 1) > 0.0)) return {window.end(), distance(window.end())};
    if (distance(window.first) > 0.0) return {window.first, distance(window.first)};
    const double places = -distance(window.first) / step;  // below the window's size
    std::int64_t node = window.first + static_cast<std::int64_t>(places);
    while (distance(node) <= 0.0) ++node;
    while (distance(node - 1) > 0.0) --node;
    return {node, distance(node)};
}

double ComposedLoss::delta(double epsilon, Side end) const {
    if (epsilon == kInfinity) return infinite;
    const bool is_upper = end == Side::upper;
    const double rounding =
        0x1p-95 * (std::fabs(epsilon) + offset_terms +
                   step * (std::fabs(static_cast<double>(window.first)) + static_cast<double>(window.size)));
    const double moved = (drift + rounding) * (1.0 + 0x1p-40) + kUnitRoundoff * std::fabs(epsilon);
    epsilon += is_upper ? -moved : moved;
    if (epsilon < -kFarthest) return is_upper ? 1.0 : infinite;
    const Place place = place_of(std::min(epsilon, kFarthest));

    const double theta = tilt.theta(), slope = theta / step;
    const double exponent =
        std::ldexp(static_cast<double>(log_scale - static_cast<Int128>(tilt.numerator) * place.start), -tilt.bits);
    const WeightedSum sum =
        place.start < window.end() ? law->sum_from(place.start, place.distance) : WeightedSum{0.0, 0.0};
    // Weights are relative to the first node above epsilon, the bound of the mass outside to epsilon itself.
    const double lift = slope * place.distance;
    const double far = times_exp(outside * largest_weight(slope), exponent + lift);
    const double lost = (times_exp(sum.error, exponent) + far) *
                        (1.0 + 0x1p-40 + 8.0 * kUnitRoundoff * (std::fabs(exponent) + std::fabs(lift)));
    const double error = relative_error + kUnitRoundoff * (std::fabs(exponent) + 32.0);
    const double value = times_exp(sum.value, exponent);
    constexpr double kTiny = 4.0 * std::numeric_limits<double>::denorm_min();  // of products that underflow
    if (is_upper) {
        double bound = infinite + value * (1.0 + error) + lost;
        if (left_out)
            bound += std::exp(std::min(left_out->log_factor - left_out->slope * epsilon, 1.0)) * (1.0 + 0x1p-40);
        if (sum.value > 0.0 || lost > 0.0) bound += kTiny;
        bound *= 1.0 + 8.0 * kUnitRoundoff;
        return bound < 1.0 ? bound : 1.0;  // NaN, out of reach of this tilt, gives no bound
    }
    const double kept = value * (1.0 - error) - lost - kTiny;
    return std::min((infinite + (kept > 0.0 ? kept : 0.0)) * (1.0 - 8.0 * kUnitRoundoff), 1.0);
}

namespace {

// kHidden bounds what exponents cut at -708 hide at each node, kLost what tilted weights have lost.
constexpr double kHidden = 1e-300, kLost = 0x1p-950;

// Bounds the log of the sum of a[i] e^(slope (first + step i)) from above; -inf without mass.
double log_sum(const double* a, std::size_t n, double slope, double first, double step) {
    while (n > 0 && a[n - 1] == 0.0) --n;
    std::size_t begin = 0;
    while (begin < n && a[begin] == 0.0) ++begin;
    if (begin == n) return -kInfinity;
    const double low = first + step * static_cast<double>(begin), high = first + step * static_cast<double>(n - 1);
    const double top = std::max(slope * low, slope * high);
    const double sum = exponential_sum(a + begin, n - begin, slope, low, step, top) + kHidden * static_cast<double>(n);
    const double value = std::log(sum), farthest = std::max(std::fabs(low), std::fabs(high));
    // Losses to 3 u each, their exponents and the top to u, exponentials to 3 u, the sum to 24 u, logarithms to u.
    return value + top + 64.0 * kUnitRoundoff * (2.0 + std::fabs(slope) * farthest + std::fabs(value));
}

}  // namespace

double mass_beyond(const std::vector<TiltedPart>& parts, std::int64_t lowest, std::int64_t node, double s) {
    double log_whole = 0.0, log_bulk = 0.0, excess = 0.0, size = 0.0;
    for (const TiltedPart& part : parts) {
        const double* weights = part.weights.data();
        const double count = static_cast<double>(part.count);
        const double bulk = log_sum(weights, part.bulk, s, 0.0, 1.0);
        const double rest =
            log_sum(weights + part.bulk, part.weights.size() - part.bulk, s, static_cast<double>(part.bulk), 1.0);
        const double top = std::max(bulk, rest), sum = top + std::log1p(std::exp(std::min(bulk, rest) - top));
        if (top == -kInfinity) return kLost;
        log_whole += count * sum;
        log_bulk += count * bulk;
        excess += count * std::log1p(std::exp(std::min(rest - bulk, 700.0)));
        size += count * (std::fabs(sum) + std::fabs(top));
    }
    const double distance = s * static_cast<double>(node - lowest);
    // Outcomes all in the bulk are left out, where there are any: prod (b + r)^count - prod b^count grows with b and r.
    double exponent = log_whole - distance;
    if (excess < 1.0) exponent = log_bulk - distance + excess + std::log(-std::expm1(-excess));
    exponent += 16.0 * kUnitRoundoff * (std::fabs(distance) + size);
    return std::exp(std::min(exponent, 1.0)) * (1.0 + 1e-9) + kLost;
}

LeftOut bound_left_out(const LossLayout& layout, const std::vector<std::size_t>& bulks, double slope) {
    double value = std::log(largest_weight(slope)) + 8.0 * kUnitRoundoff * (1.0 + slope);
    for (std::size_t i = 0; i < bulks.size(); ++i) {
        const LatticePair& pair = layout.pairs()[i];
        // Losses of nodes are rounded relative to their offset.
        const double rounding = 8.0 * kUnitRoundoff * slope * std::fabs(pair.lattice.offset);
        value += static_cast<double>(layout.count(i)) *
                 (log_sum(pair.upper.data(), bulks[i], slope, pair.lattice.loss(0), pair.lattice.step) + rounding);
    }
    return {std::isfinite(value) ? value + 8.0 * kUnitRoundoff * std::fabs(value) : value, slope};
}

namespace {

constexpr std::int64_t kSmallestWindow = 1 << 13;  // below it a transform of all nodes is quick
constexpr std::int64_t kLargestWindow = std::int64_t{1} << 40;
constexpr double kSteepest = 50.0;  // largest exponent from node to node; more makes values between nodes overflow

// The data that both sides share.
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

// The tilt with so many bits that theta times any index, and the scales, are exact.
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

// The masses times e^(theta i - c), i = 0, 1, ..., with a c that makes the sum about 1, and hardly more.
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

constexpr double kAlike = 1e-10;  // relative difference of the sides below which one composition serves both

// Bounds the relative difference of a composition's masses from below and from above: where the ratio at a node is
// 1 - r, it is 1 - (1 - r)^count. Where a lattice holds all atoms it comes from the rounding of their masses.
double apart(const LossLayout& layout) {
    double log_share = 0.0;
    for (std::size_t i = 0; i < layout.pairs().size(); ++i) {
        const LatticePair& pair = layout.pairs()[i];
        double share = 1.0;
        for (std::size_t k = 0; k < pair.upper.size(); ++k)
            if (pair.upper[k] > 0.0) share = std::min(share, pair.lower[k] / pair.upper[k]);
        log_share += static_cast<double>(layout.count(i)) * std::log(share * (1.0 - 4.0 * kUnitRoundoff));
    }
    return -std::expm1(log_share) * (1.0 + 0x1p-40);
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
    return lower ? lower->delta(at) : upper.delta(at, Side::lower) * std::exp(-gap);
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
    const double less = goal.upper_only ? 0.0 : apart(layout);
    if (!(less < kAlike)) sides.push_back(tilted_side(s, layout.laws(Side::lower).laws, Side::lower));
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
            laws.push_back(compose(side.parts, window, s.lowest, layout.step(), theta, fourier));
        }
    }
    ComposedSides found{composed_side(s, Side::upper, sides[0], window, drift, choice, laws[0]), {}, 0.0, goal.epsilon};
    if (goal.upper_only) {
        found.gap = spread_gap(layout, choice);
    } else {
        found.lower = composed_side(s, Side::lower, sides.back(), window, drift, choice, laws.back());
        if (sides.size() == 1) found.lower->relative_error += less;
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
    const double value = -std::expm1(log_finite_), rounding = (16.0 + terms_) * kUnitRoundoff;
    return {log_finite_ == -kInfinity ? 1.0 : value * (1.0 - rounding),
            std::min(value * (1.0 + rounding) + 0x1p-1073, 1.0)};
}

}  // namespace renyi::lattice
