#include "renyi/curve/placed_splits.hpp"

#include <algorithm>
#include <cmath>

#include "renyi/curve/curve_root.hpp"

namespace renyi {

namespace {

// Tuning: these affect width and time, not validity.
constexpr double kServes = 1e-10;  // relative width at which a sum placed for another question still serves
constexpr double kUseful = 1e-9;   // relative width at which no new sum is placed
constexpr double kEnough = 1e-8;   // relative width at which the search ends if the last sum was not better
constexpr double kBetter = 0.5;    // ratio of widths at which a sum is better
constexpr double kNear = 0.1;      // relative distance of an epsilon from the one a sum was placed for
constexpr double kReach = 0.4;     // relative distance at which a sum serves about as well as a line
constexpr double kMove = 0.94, kStep = 0.6;  // factors of the size
constexpr double kInside = 0.02;             // least distance from the ends of an interval, relative to its length
constexpr int kMostPlacements = 10, kMostMoves = 2;
constexpr std::size_t kMostKept = 64;  // sums of about a megabyte each

}  // namespace

// The distance that the search scales: epsilon, or the largest loss less epsilon where the loss is bounded.
double PlacedSplits::size(double epsilon) const noexcept { return is_bounded() ? c_.largest_loss - epsilon : epsilon; }

double PlacedSplits::at_size(double size) const noexcept { return is_bounded() ? c_.largest_loss - size : size; }

// The distance of two sizes relative to their sum; between 0 and 1 where they have the same sign.
double PlacedSplits::relative_distance(double a, double b) const noexcept {
    return a == b ? 0.0 : std::fabs(a - b) / (std::fabs(size(a)) + std::fabs(size(b)));
}

const PlacedSplits::Placed* PlacedSplits::nearest(double epsilon) const noexcept {
    const auto nearest = std::min_element(splits_.begin(), splits_.end(), [&](const Placed& a, const Placed& b) {
        return relative_distance(a.epsilon, epsilon) < relative_distance(b.epsilon, epsilon);
    });
    return nearest == splits_.end() ? nullptr : &*nearest;
}

bool PlacedSplits::reach(double epsilon) const noexcept {
    const Placed* placed = nearest(epsilon);
    return placed && relative_distance(placed->epsilon, epsilon) <= kReach;
}

const SplitSum& PlacedSplits::place(double epsilon, double log_delta) {
    if (splits_.size() == kMostKept) splits_.erase(splits_.begin());
    splits_.push_back({epsilon, SplitSum(c_.steps, pair_)});
    splits_.back().sum.place(epsilon, log_delta);
    return splits_.back().sum;
}

Bracket PlacedSplits::placed_delta(double epsilon) const noexcept {
    const Placed* placed = nearest(epsilon);
    return placed ? placed->sum.delta(epsilon) : kNoBracket;
}

// The bracket of delta at the answer must be narrow: that of an epsilon next to 0 is not, relatively.
Bracket PlacedSplits::placed_epsilon(double delta, double start) const noexcept {
    const Placed* placed = start > 0.0 ? nearest(start) : nullptr;
    if (!placed) return kNoBracket;
    const Bracket found = placed->sum.epsilon(delta, start);
    return is_narrow(placed->sum.delta(found.upper), kServes) ? found : kNoBracket;
}

Bracket PlacedSplits::delta(double epsilon) {
    const Bracket placed = placed_delta(epsilon);
    if (is_narrow(placed, kUseful)) return placed;
    const Bracket found = place(epsilon, guess_log_delta(c_, pair_, epsilon)).delta(epsilon);
    if (is_narrow(found, kUseful) || !(found.lower > 0.0)) return found;
    // The windows were placed for another delta and failed: they are placed for the delta found.
    return common(found, place(epsilon, std::log(found.lower)).delta(epsilon));
}

Bracket PlacedSplits::epsilon(double delta, double start) {
    const double least = is_bounded() ? -kInfinity : 0.0;
    double low = least, high = kInfinity, epsilon = start > 0.0 ? start : guess_epsilon(c_, pair_, delta);
    double at_low = 0.0, at_high = 0.0;  // log(delta at that end / delta sought)
    Bracket best{-kInfinity, kInfinity};
    int moves = 0;  // away from an epsilon at which the windows give a wide bracket
    for (int turn = 0; turn < kMostPlacements && size(epsilon) > 0.0; ++turn) {
        const SplitSum& split = place(epsilon, std::log(delta));
        const Bracket found = split.epsilon(delta, epsilon);
        if (!std::isnan(found.lower)) {
            const double before = best.upper - best.lower;
            best = common(best, found);
            // A part that failed has an upper end far away; the lower end then tells about where the answer is.
            const bool one_sided = found.lower > least && found.upper - found.lower > size(found.lower);
            const double middle = one_sided ? found.lower : 0.5 * (found.lower + found.upper);
            const bool near = std::fabs(middle - epsilon) < kNear * size(epsilon);
            const bool is_vain = is_narrow(best, kEnough) && best.upper - best.lower > kBetter * before;
            if (is_narrow(best, near ? kUseful : kServes) || (near && (is_vain || ++moves > kMostMoves))) break;
            epsilon = near ? at_size(kMove * size(epsilon)) : middle;
            continue;
        }
        const Bracket here = split.delta(epsilon);
        if (here.lower > delta) low = epsilon, at_low = std::log(here.lower / delta);
        double down = kStep;  // factor of a step towards 0, by a line through the last two points
        if (here.upper < delta) {
            const double at = std::log(here.upper / delta);
            if (high < kInfinity)
                down =
                    std::clamp(epsilon - at * (high - epsilon) / (at_high - at), kInside * epsilon, kStep * epsilon) /
                    epsilon;
            high = epsilon, at_high = at;
        }
        if (low != epsilon && high != epsilon) {
            if (++moves > kMostMoves) break;
            epsilon = at_size(kMove * size(epsilon));
            continue;
        }
        const double part = std::clamp(at_low / (at_low - at_high), kInside, 1.0 - kInside);
        if (is_bounded()) {
            const double from = low == least ? 1.6 : size(low), to = high == kInfinity ? 0.6 : size(high);
            epsilon = at_size(low == least || high == kInfinity ? from * to : from * std::pow(to / from, part));
        } else {
            epsilon = low == least ? down * high : high == kInfinity ? 1.6 * low : low + part * (high - low);
        }
        best = common(best, {low > least ? low : -kInfinity, high});
    }
    return best;
}

}  // namespace renyi
