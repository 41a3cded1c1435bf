#include "renyi/transform/lattice/tilt_placement.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "renyi/transform/lattice/lattice.hpp"
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

// Ends of about n blocks of a law; one of them is at the bulk's.
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

// Exponents stay below 2000.
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
    while (high > 1.02 * low) {
        const double middle = std::sqrt(low) * std::sqrt(high);  // the product may overflow
        (too_large(middle) ? high : low) = middle;
    }
    return std::sqrt(low) * std::sqrt(high);
}

double log_delta_at(const NodeLaws& laws, double t, double epsilon) {
    const LogMoment k = log_moment(laws, t);
    const double curvature = k.variance + 1.0 / (t * t) + 1.0 / ((1.0 + t) * (1.0 + t));
    const double height = k.value - t * epsilon - std::log(t) - std::log1p(t);
    return std::min(height - 0.5 * std::log(2.0 * std::numbers::pi * std::max(curvature, 1e-300)), 0.0);
}

namespace {

// How many losses beyond the bulk a composition has in the mean.
double others_in(const NodeLaws& laws) {
    double found = 0.0;
    for (const NodeLaw& law : laws) found += law.count * law.above[law.bulk];
    return found;
}

// They affect width and time, not validity.
constexpr double kManyOthers = 100.0;  // so many and hardly one has none: leaving the bulk out gains nothing

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
        // Tilted, delta is this small; the mass outside is tolerated relative to it.
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

}  // namespace renyi::lattice
