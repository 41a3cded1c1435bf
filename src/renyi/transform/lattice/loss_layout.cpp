#include "renyi/transform/lattice/loss_layout.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "renyi/fp/certified.hpp"
#include "renyi/fp/search.hpp"
#include "renyi/transform/lattice/tilted_law.hpp"

namespace renyi::lattice {

namespace {

constexpr std::size_t kBlocks = 2048;

struct Piece {
    double log_mass, mean, variance;
};

Piece piece_of(const NodeLaw& law, std::size_t begin, std::size_t end, double t) {
    if (begin == end) return {-kInfinity, 0.0, 0.0};
    const double *logs = law.logs.data() + begin, *losses = law.losses.data() + begin;
    const TiltedPeak peak = tilted_peak(logs, losses, end - begin, t);
    const TiltedSums sums = tilted_sums(logs, losses, end - begin, t, peak);
    const double apart = sums.first / sums.mass;
    return {peak.exponent + std::log(sums.mass), peak.loss + apart,
            std::max(sums.second / sums.mass - apart * apart, 0.0)};
}

LogMoment moment_of_all(const NodeLaws& laws, double t) {
    LogMoment k{0.0, 0.0, 0.0};
    for (const NodeLaw& law : laws) {
        const Piece piece = piece_of(law, 0, law.size(), t);
        k.value += law.count * piece.log_mass;
        k.mean += law.count * piece.mean;
        k.variance += law.count * piece.variance;
    }
    return k;
}

// Ends of about n blocks of a law; one of them is the end of the bulk.
std::vector<std::size_t> block_ends(const NodeLaw& law, std::size_t n) {
    const std::size_t length = std::max<std::size_t>(law.size() / n, 1);
    std::vector<std::size_t> ends;
    for (std::size_t start = 0; start < law.size(); start += length) {
        const std::size_t end = std::min(start + length, law.size());
        if (start < law.bulk && law.bulk < end) ends.push_back(law.bulk);
        ends.push_back(end);
    }
    return ends;
}

}  // namespace

NodeLaw NodeLaw::first(std::size_t n) const noexcept {
    return {logs.first(n), losses.first(n), above.first(n), count, std::min(bulk, n)};
}

void NodeLawArrays::reserve(std::size_t n) {
    logs_.reserve(n);
    losses_.reserve(n);
}

NodeLaw NodeLawArrays::law(double count) {
    if (above_.size() != logs_.size()) {
        above_.resize(logs_.size());
        double sum = 0.0;
        for (std::size_t i = logs_.size(); i-- > 0;) above_[i] = sum += std::exp(logs_[i]);
    }
    return {logs_, losses_, above_, count, 0};
}

NodeLawArrays NodeLawArrays::of(const Lattice& lattice, std::span<const double> masses) {
    NodeLawArrays found;
    found.reserve(masses.size());
    for (std::size_t i = 0; i < masses.size(); ++i) {
        if (masses[i] > 0.0) found.add(masses[i], lattice.loss(i));
    }
    found.above_ = found.logs_;
    for (std::size_t i = found.above_.size(); i-- > 1;) found.above_[i - 1] += found.above_[i];
    log_masses(found.logs_.data(), found.logs_.size(), found.logs_.data());
    return found;
}

NodeLawArrays NodeLawArrays::in_blocks(const NodeLaw& law) {
    NodeLawArrays found;
    std::size_t begin = 0;
    for (const std::size_t end : block_ends(law, kBlocks / 2)) {
        const Piece piece = piece_of(law, begin, end, 0.0);
        found.add(piece.log_mass, piece.mean);
        begin = end;
    }
    return found;
}

NodeLawArrays NodeLawArrays::tilted(const NodeLaw& law, double t, std::size_t& bulk) {
    NodeLawArrays found;
    bulk = 0;
    const double whole = piece_of(law, 0, law.size(), t).log_mass;
    const auto keep = [&](double log_mass, double loss, bool is_bulk) {
        if (log_mass - whole < -690.0) return;
        found.add(log_mass - whole, loss);
        bulk += is_bulk;
    };
    if (law.size() <= 2 * kBlocks) {
        for (std::size_t i = 0; i < law.size(); ++i) keep(law.logs[i] + t * law.losses[i], law.losses[i], i < law.bulk);
        return found;
    }
    std::size_t begin = 0;
    for (const std::size_t end : block_ends(law, kBlocks)) {
        const Piece piece = piece_of(law, begin, end, t);
        keep(piece.log_mass, piece.mean, end <= law.bulk);
        begin = end;
    }
    return found;
}

void OwnedLaws::add(NodeLawArrays of_one, double count, std::size_t bulk) {
    arrays.push_back(std::move(of_one));
    laws.push_back(arrays.back().law(count));
    laws.back().bulk = bulk;
}

void set_bulk(NodeLaws& laws, double limit) {
    for (NodeLaw& law : laws) {
        law.bulk = static_cast<std::size_t>(std::ranges::upper_bound(law.losses, limit) - law.losses.begin());
    }
}

bool bulk_splits_all(const NodeLaws& laws) {
    return std::ranges::all_of(laws, [](const NodeLaw& law) { return law.bulk > 0 && law.bulk < law.size(); });
}

NodeLaws bulk_alone(const NodeLaws& laws) {
    NodeLaws found;
    for (const NodeLaw& law : laws) {
        found.push_back(law.first(law.bulk));
        found.back().bulk = 0;
    }
    return found;
}

NodeLaws truncated(const NodeLaws& laws, double log_tail) {
    NodeLaws found;
    const double tail = std::exp(log_tail);
    for (const NodeLaw& law : laws) {
        const auto below =
            std::ranges::partition_point(law.above, [&](double mass) { return law.count * mass > tail; });
        const auto end = static_cast<std::size_t>(below - law.above.begin());
        found.push_back(law.first(std::max(end, std::min(law.bulk + 1, law.size()))));
    }
    return found;
}

OwnedLaws tilted_blocks(const NodeLaws& laws, double t) {
    OwnedLaws found;
    for (const NodeLaw& law : laws) {
        std::size_t bulk;
        NodeLawArrays blocks = NodeLawArrays::tilted(law, t, bulk);
        found.add(std::move(blocks), law.count, bulk);
    }
    return found;
}

LogMoment log_moment(const NodeLaws& laws, double t) {
    if (std::ranges::any_of(laws, [](const NodeLaw& law) { return law.bulk == 0; })) return moment_of_all(laws, t);
    LogMoment k{0.0, 0.0, 0.0};
    double excess = 0.0, shift = 0.0, widening = 0.0;
    for (const NodeLaw& law : laws) {
        const Piece bulk = piece_of(law, 0, law.bulk, t), rest = piece_of(law, law.bulk, law.size(), t);
        const double log_ratio = rest.log_mass - bulk.log_mass;
        if (log_ratio > 690.0) return moment_of_all(laws, t);
        const double ratio = std::exp(log_ratio), share = ratio / (1.0 + ratio), apart = rest.mean - bulk.mean;
        k.value += law.count * bulk.log_mass;
        k.mean += law.count * bulk.mean;
        k.variance += law.count * bulk.variance;
        excess += law.count * std::log1p(ratio);
        shift += law.count * share * apart;
        widening += law.count * share * (rest.variance - bulk.variance + (1.0 - share) * apart * apart);
    }
    if (excess <= 0.0) return {-kInfinity, k.mean, k.variance};
    // Moments of a difference: those of the whole less those of the bulk, over what is left.
    const double portion = -std::expm1(-excess), moved = shift / portion;
    const double second = (widening + shift * (2.0 * k.mean + shift)) / portion;
    return {k.value + excess + std::log(portion), k.mean + moved,
            std::max(k.variance + second - moved * (2.0 * k.mean + moved), 0.0)};
}

namespace {

// The largest slope for which exponents stay below 2000.
double largest_slope(const NodeLaws& laws) {
    double widest = 1e-300;
    for (const NodeLaw& law : laws) {
        if (law.size() == 0) continue;
        widest = std::max({widest, std::fabs(law.losses.front()), std::fabs(law.losses.back())});
    }
    return 2000.0 / widest;
}

// Cuts off as much of the tails as the delta that remains allows: the moment function of a long tail is dominated by
// losses that matter to no delta of interest.
TiltChoice choose_tail(const NodeLaws& laws, double epsilon, double rtol) {
    TiltChoice choice;
    for (const double log_tail : {-15.0, -25.0, -40.0, -65.0, -105.0, -160.0, -250.0, -400.0, -kInfinity}) {
        const NodeLaws cut = truncated(laws, log_tail);
        choice.slope = saddle(cut, epsilon);
        choice.log_delta = log_delta_at(cut, choice.slope, epsilon);
        choice.log_tail = log_tail;
        if (log_tail <= std::log(1e-3 * rtol) + choice.log_delta) break;
    }
    return choice;
}

}  // namespace

double saddle(const NodeLaws& laws, double epsilon, std::optional<double> near) {
    const OwnedLaws blocks = near ? tilted_blocks(laws, *near) : OwnedLaws{};
    const double shift = near.value_or(0.0);
    const auto too_large = [&](double t) {
        return log_moment(near ? blocks.laws : laws, t - shift).mean - epsilon > 1.0 / t + 1.0 / (1.0 + t);
    };
    const double largest = largest_slope(laws);
    double low = largest * 1e-16, high = largest;
    if (near) {
        low = std::max(low, *near / 1.3);
        high = std::min(high, *near * 1.3);
        if (too_large(low)) low = largest * 1e-16;
        if (!too_large(high)) high = largest;
    } else if (!too_large(high)) {
        return high;
    }
    const Interval around = bisect_ratio(low, high, 1.02, too_large);
    return std::sqrt(around.low) * std::sqrt(around.high);
}

double log_delta_at(const NodeLaws& laws, double t, double epsilon) {
    const LogMoment k = log_moment(laws, t);
    const double curvature = k.variance + 1.0 / (t * t) + 1.0 / ((1.0 + t) * (1.0 + t));
    const double height = k.value - t * epsilon - std::log(t) - std::log1p(t);
    return std::min(height - 0.5 * std::log(2.0 * std::numbers::pi * std::max(curvature, 1e-300)), 0.0);
}

namespace {

// The mean number of losses beyond the bulk in a composition.
double others_in(const NodeLaws& laws) {
    double found = 0.0;
    for (const NodeLaw& law : laws) found += law.count * law.above[law.bulk];
    return found;
}

// Tuning: these affect width and time, not validity.
constexpr double kManyOthers = 100.0;  // losses; with so many hardly any outcome is all bulk: nothing is gained

}  // namespace

TiltChoice choose_tilt(const NodeLaws& laws, double epsilon, double rtol) {
    OwnedLaws blocks;
    for (const NodeLaw& law : laws) blocks.add(NodeLawArrays::in_blocks(law), law.count);
    if (epsilon > 0.0) {
        for (const double share : {0.9, 0.7, 0.5, 0.3, 0.15}) {
            set_bulk(blocks.laws, share * epsilon);
            if (!bulk_splits_all(blocks.laws) || others_in(blocks.laws) > kManyOthers) continue;
            TiltChoice choice = choose_tail(blocks.laws, epsilon, rtol);
            const NodeLaws bulk = bulk_alone(blocks.laws);
            choice.limit = share * epsilon;
            choice.bulk_slope = saddle(bulk, epsilon);
            const double left_out = log_moment(bulk, choice.bulk_slope).value - choice.bulk_slope * epsilon;
            if (left_out < std::log(1e-3 * rtol) + choice.log_delta) return choice;
        }
    }
    set_bulk(blocks.laws, -kInfinity);
    return choose_tail(blocks.laws, epsilon, rtol);
}

namespace {

struct End {
    double distance, exponent;
};

// The loss beyond which, upwards (sign 1) or downwards (-1), the law tilted by `shift` has a mass of e^goal at most by
// E e^(s (L - x)), and the exponent s at which the bound reaches it.
End chernoff(const NodeLaws& blocks, double shift, double goal, double sign, double steepest) {
    constexpr int kTried = 24;
    const LogMoment k = log_moment(blocks, shift);
    const double guess = std::sqrt(-2.0 * goal / std::max(k.variance, 1e-300));
    End best{kInfinity, steepest};
    for (int i = 0; i < kTried; ++i) {
        const double s = std::min(guess * 0.01 * std::pow(300.0, i / (kTried - 1.0)), steepest);
        const double end = (log_moment(blocks, shift + sign * s).value - k.value - goal) / s;
        if (end < best.distance) best = {end, s};
    }
    return best;
}

}  // namespace

TiltWindow tilt_and_window(const NodeLaws& laws, const TiltChoice& choice, const CompositionGoal& goal,
                           double steepest) {
    const OwnedLaws blocks = tilted_blocks(laws, choice.slope);
    const double origin = log_moment(laws, choice.slope).value - log_moment(blocks.laws, 0.0).value;
    std::optional<TiltWindow> best;
    double first_size = 0.0;
    for (const double factor : {1.0, 0.85, 0.7, 0.55, 0.4}) {
        const double slope = factor * choice.slope, shift = slope - choice.slope;
        // Under the tilt delta is this small, and the mass outside is tolerated relative to it.
        const double tilted = origin + log_moment(blocks.laws, shift).value - slope * goal.epsilon;
        const double log_size = std::min(choice.log_delta - tilted, 0.0);
        if (!best) {
            first_size = log_size;
        } else if (log_size < first_size - 7.0) {
            break;
        }
        const double tolerated = std::max(std::log(1e-3 * goal.rtol / largest_weight(slope)) + log_size, -690.0);
        const End low = chernoff(blocks.laws, shift, tolerated, -1.0, steepest);
        const End high = chernoff(blocks.laws, shift, tolerated, 1.0, steepest);
        const TiltWindow found{slope, -low.distance, high.distance, low.exponent, high.exponent};
        if (!best || found.high - found.low < 0.8 * (best->high - best->low)) best = found;
    }
    return *best;
}

namespace {

constexpr double kMostSteps = 0x1p18;  // of a lattice that holds all atoms

struct Gap {
    double width, error;
};

std::vector<Gap> gaps_of(const std::vector<LossOutline>& parts) {
    std::vector<Gap> gaps;
    for (const LossOutline& part : parts) {
        for (std::size_t i = 1; i < part.atoms.size(); ++i) {
            const PointMass &first = part.atoms[0], &other = part.atoms[i];
            gaps.push_back({std::fabs(other.loss - first.loss), other.loss_error + first.loss_error});
        }
    }
    return gaps;
}

double rest_of(double width, double step) noexcept { return std::fabs(width - std::rint(width / step) * step); }

void merge_equal(std::vector<PointMass>& atoms) {
    std::ranges::sort(atoms, {}, &PointMass::loss);
    std::size_t kept = 0;
    for (std::size_t i = 1; i < atoms.size(); ++i) {
        if (atoms[i].loss == atoms[kept].loss) {
            atoms[kept].mass += atoms[i].mass;
            atoms[kept].loss_error = std::max(atoms[kept].loss_error, atoms[i].loss_error);
        } else {
            atoms[++kept] = atoms[i];
        }
    }
    if (!atoms.empty()) atoms.resize(kept + 1);
}

}  // namespace

LossOutline outline_of(const Pair& pair) {
    LossOutline found;
    found.low = kInfinity;
    found.high = found.largest = -kInfinity;
    const Spans spans = pair.spans(Side::upper, Coarse{});
    for (const Span& span : spans.spans) {
        if (!(span.p > 0.0)) continue;
        found.low = std::min(found.low, span.low);
        found.high = std::max(found.high, span.high);
        found.largest = std::max(found.largest, span.high + span.loss_error);
        if (span.low == span.high) found.atoms.push_back({span.mean, span.p, span.loss_error});
        found.only_atoms &= span.low == span.high;
        found.largest_reached = std::max(found.largest_reached, span.mean - span.loss_error);
    }
    found.infinite = spans.infinite;
    if (found.low > found.high) found.low = found.high = found.largest = 0.0;  // nothing finite
    merge_equal(found.atoms);
    std::ranges::stable_sort(found.atoms, std::ranges::greater{}, &PointMass::mass);
    return found;
}

std::optional<double> common_step(const std::vector<LossOutline>& parts) {
    std::vector<Gap> gaps = gaps_of(parts);
    double widest = 0.0;
    for (const Gap& gap : gaps) widest = std::max(widest, gap.width);
    const double tolerance = 1e-9 * widest;
    std::erase_if(gaps, [&](const Gap& gap) { return gap.width <= tolerance; });
    if (gaps.empty()) return {};
    double step = std::ranges::min(gaps, {}, &Gap::width).width;
    for (;;) {
        if (widest > kMostSteps * step) return {};
        double next = kInfinity;
        for (const Gap& gap : gaps) {
            const double rest = rest_of(gap.width, step);
            if (rest > tolerance) next = std::min(next, rest);
        }
        if (next == kInfinity) break;
        step = next;
    }
    // Estimate the step as the widest difference over its multiple, then check strictly.
    step = widest / std::rint(widest / step);
    const bool held = std::ranges::all_of(
        gaps, [&](const Gap& gap) { return rest_of(gap.width, step) <= 4.0 * gap.error + 0x1p-50 * gap.width; });
    return held ? std::optional(step) : std::nullopt;
}

namespace {

constexpr double kWidestStep = 100.0;  // e^step must not overflow

// Other atoms are remains of masses that underflow, or matter no more than continuous masses.
bool is_heavy(const LossOutline& outline, std::size_t atom) {
    constexpr double kHeavy = 1e-6;
    return atom < outline.atoms.size() && outline.atoms[atom].mass >= kHeavy;
}

// The part of a range that a lattice can hold. Losses above it count as infinite, losses below it as its lower end.
LossRange held(const LossOutline& outline, double widest) {
    if (outline.high - outline.low <= widest) return {outline.low, outline.high};
    const double low = std::clamp(-0.5 * widest, outline.low, outline.high - widest);
    return {low, low + widest};
}

}  // namespace

LossLayout::LossLayout(const std::vector<CountedPair>& parts, const std::vector<LossOutline>& outlines,
                       std::int64_t max_points, std::int64_t nodes) {
    const double most = kWidestStep * static_cast<double>(max_points - 8);
    double widest = 0.0, farthest = 0.0;
    for (std::size_t i = 0; i < parts.size(); ++i) {
        const LossOutline& outline = outlines[i];
        parts_.push_back(parts[i].pair);
        counts_.push_back(parts[i].count);
        ranges_.push_back(held(outline, most));
        anchors_.push_back(is_heavy(outline, 0) ? outline.atoms[0].loss : 0.0);
        if (!(ranges_.back().low <= anchors_.back() && anchors_.back() <= ranges_.back().high)) {
            anchors_.back() = ranges_.back().low;
        }
        widest = std::max(widest, ranges_.back().high - ranges_.back().low);
        farthest = std::max({farthest, std::fabs(ranges_.back().low), std::fabs(ranges_.back().high)});
    }
    exact_ = std::ranges::all_of(outlines, &LossOutline::only_atoms);
    std::optional<double> step;
    if (exact_) step = widest > 0.0 ? common_step(outlines) : std::max(farthest, 1.0);
    exact_ = step.has_value();
    if (exact_) {
        step_ = *step;
    } else {
        step_ = std::min(widest / static_cast<double>(std::min(nodes, max_points / 2)), kWidestStep);
        step_ = std::max({step_, 1e-13 * farthest, 1e-280});
        const auto paired = std::ranges::find_if(outlines, [](const LossOutline& o) { return is_heavy(o, 1); });
        if (paired != outlines.end()) quantum_ = std::fabs(paired->atoms[0].loss - paired->atoms[1].loss);
    }
    *this = with_step(step_, ranges_);
}

double LossLayout::uses() const noexcept {
    double uses = 0.0;
    for (const std::int64_t count : counts_) uses += static_cast<double>(count);
    return uses;
}

std::int64_t LossLayout::longest() const noexcept {
    std::size_t longest = 0;
    for (const LatticePair& pair : pairs_) longest = std::max(longest, pair.lattice.size());
    return static_cast<std::int64_t>(longest);
}

OwnedLaws LossLayout::laws(Side side) const {
    OwnedLaws found;
    for (std::size_t i = 0; i < pairs_.size(); ++i) {
        const LatticePair& pair = pairs_[i];
        found.add(NodeLawArrays::of(pair.lattice, side == Side::upper ? pair.upper : pair.lower),
                  static_cast<double>(counts_[i]));
    }
    return found;
}

OwnedLaws LossLayout::unspread_laws(double tilt) const {
    OwnedLaws found;
    const double growth = 0.5 * tilt * (tilt + 1.0);
    for (std::size_t i = 0; i < pairs_.size(); ++i) {
        std::vector<double> masses = pairs_[i].upper;
        for (std::size_t k = 0; k < masses.size(); ++k)
            masses[k] = std::max(masses[k] - growth * pairs_[i].spread[k], 0.0);
        found.add(NodeLawArrays::of(pairs_[i].lattice, masses), static_cast<double>(counts_[i]));
    }
    return found;
}

LossLayout LossLayout::with_step(double step, const std::vector<LossRange>& ranges) const {
    return made(step <= quantum_ ? quantum_ / std::ceil(quantum_ / step - 1e-9) : step, ranges);
}

LossLayout LossLayout::coarsened(double step) const {
    return made(step <= quantum_ ? quantum_ / std::floor(quantum_ / step) : step, ranges_);
}

LossLayout LossLayout::made(double step, const std::vector<LossRange>& ranges) const {
    LossLayout found = *this;
    found.step_ = step;
    found.ranges_ = ranges;
    found.discretise_all();
    return found;
}

LossLayout LossLayout::cropped(const std::vector<LossRange>& ranges) const {
    double before = 0.0, after = 0.0;
    for (std::size_t i = 0; i < ranges.size(); ++i) {
        before += ranges_[i].high - ranges_[i].low;
        after += ranges[i].high - ranges[i].low;
    }
    return after < 0.6 * before ? with_step(step_, ranges) : *this;
}

LossLayout LossLayout::as_final() const {
    LossLayout found = *this;
    found.final_ = true;
    return found;
}

void LossLayout::discretise_all() {
    pairs_.clear();
    for (std::size_t i = 0; i < parts_.size(); ++i) {
        const auto first = static_cast<std::int64_t>(std::floor((ranges_[i].low - anchors_[i]) / step_ - 1e-9));
        const auto last = static_cast<std::int64_t>(std::ceil((ranges_[i].high - anchors_[i]) / step_ + 1e-9));
        pairs_.push_back(discretise(*parts_[i], Lattice{step_, anchors_[i], first, std::max(last, first + 1)}));
    }
}

namespace {

// Tuning: these affect width and time, not validity.
constexpr double kHopeless = 0x1p15;          // nodes after which convergence is judged
constexpr std::int64_t kManyNodes = 1 << 16;  // nodes after which the tilt is not chosen anew
constexpr double kCutOff = 1e-3;              // part of the last node's mass
constexpr double kLong = 100.0;               // uses after which a few frequencies may be enough, whatever the window

// The gap of both sides' log moment functions at the tilt, and the variance of the upper side.
struct Comparison {
    double gap, variance;
};

// Whether much of the lower side's mass at the last node lies beyond the node, where the upper side is infinite.
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

// Other laws, cut to the same losses.
NodeLaws cut_like(const NodeLaws& cut, const NodeLaws& laws, double limit) {
    NodeLaws found;
    for (std::size_t i = 0; i < laws.size(); ++i) {
        const auto end = std::ranges::upper_bound(laws[i].losses, cut[i].losses.back());
        found.push_back(laws[i].first(static_cast<std::size_t>(end - laws[i].losses.begin())));
    }
    set_bulk(found, limit);
    return found;
}

// Compares the upper side with the lower one or, where only the upper one counts, with the upper side before spreading.
Comparison compare(const LossLayout& layout, NodeLaws& upper, const CompositionGoal& goal, TiltChoice& choice) {
    const double epsilon = goal.epsilon;
    const NodeLaws cut = cut_above(layout, upper, choice);
    choice.slope = saddle(cut, epsilon, choice.slope);
    const OwnedLaws other = goal.upper_only ? layout.unspread_laws(choice.slope) : layout.laws(Side::lower);
    const LogMoment above = log_moment(cut, choice.slope),
                    below = log_moment(cut_like(cut, other.laws, choice.limit), choice.slope);
    // The difference is negative where losses at a cut have all the weight.
    const double gap = std::fabs(above.value - below.value);
    // The delta of the lower side decides what may be cut off.
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
        // The mass cut off below goes to the new end, with all the weight of that end.
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
            return {*choice, layout.cropped(ranges).as_final()};  // the pair itself is not known better
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
