// One epoch of random allocation of any pair (A, B): sums of likelihood ratios.
#include "renyi/pair/operations/operations.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "renyi/fp/certified.hpp"
#include "renyi/pair/atoms.hpp"
#include "renyi/special/elementary.hpp"

namespace renyi {

namespace {

// Sums of likelihood ratios, in cells that are narrow around the median and of constant relative width far from it.
struct RatioPoint {
    double sum, mass;  // a sum of ratios, and its mass under Q
};

constexpr double kSameSum = 1e-13;  // relative difference up to which sums count as equal

// The content of a cell: its mass, the total of mass times sum, and the least and largest sum.
struct RatioCell {
    double mass = 0.0, moment = 0.0, low = kInfinity, high = 0.0;

    void add(const RatioCell& other) noexcept {
        mass += other.mass;
        moment += other.moment;
        low = std::min(low, other.low);
        high = std::max(high, other.high);
    }
    void add(double sum, double at) noexcept { add({at, at * sum, sum, sum}); }
};

// Tuning: these affect width and time, not validity.
constexpr double kCell = 0.004;       // width of central cells, in distances from the median to a decile
constexpr double kFar = 0.004;        // least width of far cells, relative to the distance from the median
constexpr double kLeast = 1e-3;       // least distance to a decile, in mean distances from the median
constexpr double kCells = 2500.0;     // most far cells on either side: with more, far cells get wider
constexpr double kShare = 0.01;       // largest width of a cell, relative to the sum
constexpr double kShares = 2000.0;    // most cells of that largest width: with more, they get wider
constexpr double kLeastSum = 1e-20;   // times median + cell: below this sum the largest width stays constant
constexpr std::size_t kOutline = 48;  // points of an outline

double quantile(const std::vector<RatioPoint>& points, double share) noexcept {
    double total = 0.0, sum = 0.0;
    for (const RatioPoint& point : points) total += point.mass;
    for (const RatioPoint& point : points)
        if ((sum += point.mass) >= share * total) return point.sum;
    return points.back().sum;
}

// Cells around the median of the given points, for sums from low to high.
class RatioCells {
public:
    RatioCells(const std::vector<RatioPoint>& points, double low, double high)
        : low_(low), high_(high), middle_(quantile(points, 0.5)) {
        double mass = 0.0, deviation = 0.0;
        for (const RatioPoint& point : points) {
            mass += point.mass;
            deviation += point.mass * std::fabs(point.sum - middle_);
        }
        const double least = std::max(kLeast * deviation / mass, kSameSum * middle_);
        below_ = kCell * std::max(middle_ - quantile(points, 0.1), least);
        above_ = kCell * std::max(quantile(points, 0.9) - middle_, least);
        const double reach = std::max({(middle_ - low) / below_, (high - middle_) / above_, 1.0});
        far_ = std::max(kFar, lane_log(reach) / kCells);
        least_sum_ = std::max(low, kLeastSum * (middle_ + above_));
        const double wide = std::max(middle_, above_ / kShare);
        share_ = least_sum_ < wide ? std::max(kShare, lane_log(wide / least_sum_) / kShares) : kShare;
    }

    double width(double sum) const noexcept {
        const double usual =
            sum < middle_ ? std::max(below_, 0.5 * far_ * (middle_ - sum)) : std::max(above_, far_ * (sum - middle_));
        const double most = std::max(share_, far_) * std::max(sum, least_sum_);
        return std::max(std::min(usual, most), kSameSum * sum);
    }

    // Returns the edges of the cells, from the lowest sum to the highest.
    std::vector<double> edges() const {
        std::vector<double> left{std::clamp(middle_, low_, high_)}, right;
        if (high_ > low_) {
            while (left.back() > low_) left.push_back(std::max(left.back() - width(left.back()), low_));
            for (double at = left.front(); at < high_;) right.push_back(at = std::min(at + width(at), high_));
        }
        std::ranges::reverse(left);
        left.insert(left.end(), right.begin(), right.end());
        return left;
    }

private:
    double low_, high_, middle_, below_, above_, far_, share_, least_sum_;
};

// Puts the sums of every point of `a` with every point of `b`, both sorted, into the cells between the edges.
std::vector<RatioCell> sums_of(const std::vector<RatioPoint>& a, const std::vector<RatioPoint>& b,
                               const std::vector<double>& edges) {
    std::vector<RatioCell> cells(std::max<std::size_t>(edges.size(), 2) - 1);
    const std::size_t last = cells.size() - 1;
    std::size_t first = 0;
    const bool twice = &a == &b;  // then each unordered pair of points is visited once
    for (std::size_t i = 0; i < a.size(); ++i) {
        const RatioPoint& one = a[i];
        while (first < last && one.sum + b[twice ? i : 0].sum >= edges[first + 1]) ++first;
        if (twice) cells[first].add(2.0 * one.sum, one.mass * one.mass);
        const double own = twice ? 2.0 * one.mass : one.mass;
        std::size_t c = first;
        for (std::size_t j = twice ? i + 1 : 0; j < b.size();) {
            while (c < last && one.sum + b[j].sum >= edges[c + 1]) ++c;
            const double end = c < last ? edges[c + 1] : kInfinity;
            RatioCell here;
            here.low = one.sum + b[j].sum;
            for (double sum = here.low; sum < end;) {
                const double mass = own * b[j].mass;
                here.mass += mass;
                here.moment += mass * sum;
                here.high = sum;
                if (++j == b.size()) break;
                sum = one.sum + b[j].sum;
            }
            cells[c].add(here);
        }
    }
    return cells;
}

// Returns few points of about the same law.
std::vector<RatioPoint> outline(const std::vector<RatioPoint>& points) {
    if (points.size() <= kOutline) return points;
    std::vector<RatioPoint> found;
    double total = 0.0;
    for (const RatioPoint& point : points) total += point.mass;
    RatioCell here;
    for (const RatioPoint& point : points) {
        here.add(point.sum, point.mass);
        if (here.mass * static_cast<double>(kOutline) < total && &point != &points.back()) continue;
        found.push_back({here.moment / here.mass, here.mass});
        here = {};
    }
    return found;
}

constexpr double kSetApart = 1e-45;   // points with masses below it under both P and Q are set apart
constexpr double kLargest = 200.0;    // larger |losses| count as this loss or as infinite
constexpr double kNearly = 1e-6;      // tolerance of a cut, relative to the span's range of losses
constexpr double kNarrow = 0.25;      // content narrower than this share of its cell goes to its own ends
constexpr double kFirstSpan = 0.25;   // widest span of the first pass, in losses
constexpr double kSpansOfCell = 2.0;  // spans per cell

// Divides losses between `least` and `largest` until spans are narrower than a share of their cells, if given.
auto within(const RatioCells* cells, double least, double largest) {
    return CutBy([=](double low, double high) {
        const double nearly = std::max(kNearly * (high - low), kSameSum * (std::fabs(low) + std::fabs(high)));
        if (high <= least + nearly || low >= largest - nearly) return kFine;
        if (low < least - nearly) return least;
        if (high > largest + nearly) return largest;
        if (cells == nullptr) return high - low <= kFirstSpan ? kFine : kAnywhere;
        const double start = lane_exp(low), end = lane_exp(high);
        const double wide = std::min(cells->width(start), cells->width(end));
        return kSpansOfCell * (end - start) <= wide ? kFine : kAnywhere;
    });
}

bool by_sum(const RatioPoint& a, const RatioPoint& b) noexcept { return a.sum < b.sum; }

// Rounds masses outward and removes negligible masses and losses whose exponentials overflow. From above these outcomes
// count as infinite and null. From below negligible masses are dropped, and too large losses are replaced by the
// largest loss of their sign: the smaller mass rises to e^-200 of the larger.
Spans restrained(Spans spans, Side side) {
    round_small_masses_outward(spans, side, 2.0);
    for (Span& span : spans.spans) {
        const bool negligible = span.p < kSetApart && span.q < kSetApart;
        if (!negligible && span.high <= 2.0 * kLargest && span.low >= -2.0 * kLargest) continue;
        if (!negligible && side == Side::lower) {
            if (std::fabs(span.mean) < kLargest) continue;
            (span.mean > 0.0 ? span.q : span.p) = std::max(span.p, span.q) * lane_exp(-kLargest);
            span.low = span.mean = span.high = std::copysign(kLargest, span.mean);
            continue;
        }
        if (side == Side::upper) {
            spans.infinite.upper += span.p;
            spans.null.upper += span.q;
        }
        span.p = span.q = 0.0;
    }
    std::erase_if(spans.spans, [](const Span& span) { return !(span.q > 0.0); });
    return spans;
}

// Returns the points of spans: their ends from above, their means from below.
std::vector<RatioPoint> points_of(const Spans& spans, Side side) {
    std::vector<RatioPoint> found;
    const bool above = side == Side::upper;
    const double null = above ? spans.null.upper : spans.null.lower;
    if (null > 0.0) found.push_back({0.0, null});
    for (const Span& span : spans.spans) {
        if (!above || span.low == span.high) {
            found.push_back({lane_exp(span.mean), span.q});
            continue;
        }
        const double share = std::min(lane_expm1(span.mean - span.low) / lane_expm1(span.high - span.low), 1.0);
        found.push_back({lane_exp(span.low), span.q * (1.0 - share)});
        found.push_back({lane_exp(span.high), span.q * share});
    }
    std::erase_if(found, [](const RatioPoint& point) { return !(point.mass > 0.0); });
    std::ranges::sort(found, by_sum);
    return found;
}

// The law of a sum of likelihood ratios R = dA/dB of independent outputs, drawn from B. It holds the points of a law
// that is larger or smaller in convex order, so that E[(S - x)_+] and E[(x - S)_+] are bounded for every x. Such bounds
// carry over to sums of independent ratios, summand by summand.
//
// Sums of two laws fall into cells, narrow around the median and of constant relative width far from it.
//     from above   the mass of a cell moves to its ends, the mean kept
//     from below   the mass of a cell moves to its mean
// so that the loss of precision is the variance inside the cells. All sums have positive terms: masses keep their
// relative precision however small they are. Negligible masses are set apart: from above they count as if their ratio
// were the largest for S and the least for -S; from below they are dropped.
class RatioLaw {
public:
    // The law of one ratio, without the mass where B vanishes.
    RatioLaw(const Pair& base, Side side) : side_(side) {
        // First finds the range of losses that matter, then refines the spans until they are narrow for their cells.
        Spans spans = base.spans(side, within(nullptr, -kLargest, kLargest));
        double low = kInfinity, high = -kInfinity;
        for (const Span& span : spans.spans) {
            if (span.p < kSetApart && span.q < kSetApart) continue;
            low = std::min(low, span.low);
            high = std::max(high, span.high);
        }
        low = std::max(low, -kLargest);
        high = std::min(high, kLargest);
        for (int turn = 0; turn < 3 && low < high; ++turn) {
            const std::vector<RatioPoint> points = points_of(restrained(spans, side), side);
            if (points.empty()) break;
            const RatioCells cells(points, lane_exp(low), lane_exp(high));
            spans = base.spans(side, within(&cells, low, high));
        }
        const double without_large = spans.infinite.upper;
        spans = restrained(std::move(spans), side);
        infinite_ = spans.infinite;
        too_large_ = spans.infinite.upper - without_large;
        mass_error_ = 8.0 * kUnitRoundoff;
        least_ = kInfinity;
        largest_ = 0.0;
        for (const Span& span : spans.spans) {
            sum_error_ = std::max(sum_error_, span.loss_error + 4.0 * kUnitRoundoff * (2.0 + std::fabs(span.mean)));
            least_ = std::min(least_, span.low - span.loss_error);
            largest_ = std::max(largest_, span.high + span.loss_error);
        }
        least_ = spans.unbounded_below || spans.null.upper > 0.0 ? 0.0 : lane_exp(least_) * (1.0 - sum_error_);
        largest_ = spans.unbounded_above ? kInfinity : lane_exp(largest_) * (1.0 + sum_error_);
        const std::vector<RatioPoint> points = points_of(spans, side);
        if (!points.empty()) gather(points, {{0.0, 1.0}});
    }

    // The mass of A at losses that count as infinite because they are too large.
    double too_large() const noexcept { return too_large_; }

    // The law of the sum of this law's ratios and those of `other`.
    RatioLaw plus(const RatioLaw& other) const {
        RatioLaw found;
        found.side_ = side_;
        found.count_ = count_ + other.count_;
        found.least_ = least_;
        found.largest_ = largest_;
        found.infinite_ = infinite_;
        found.mass_error_ = mass_error_ + other.mass_error_;
        found.sum_error_ = std::max(sum_error_, other.sum_error_);
        // Where one summand is set apart, the mean of the other is at most 1.
        const double up = 1.0 + 16.0 * kUnitRoundoff;
        found.apart_q_ = (apart_q_ + other.apart_q_) * up;
        found.apart_p_ =
            (count_ * (apart_p_ + other.apart_q_) + other.count_ * (other.apart_p_ + apart_q_)) / found.count_ * up;
        if (!points_.empty() && !other.points_.empty()) found.gather(points_, other.points_);
        return found;
    }

    RatioLaw times(double count) const {
        std::optional<RatioLaw> found;
        RatioLaw power = *this;
        for (double rest = count;;) {
            const double half = std::floor(0.5 * rest);
            if (rest > 2.0 * half) found = found ? found->plus(power) : power;
            if (!((rest = half) > 0.0)) return *found;
            power = power.plus(power);
        }
    }

    // The pair of the mean ratio: (points weighted by the mean, points), with the losses log(sum/count).
    Spans spans() const {
        Spans found;
        found.infinite = infinite_;
        found.unbounded_above = found.unbounded_below = false;
        const auto add = [&](double ratio, double mass, double error) {
            const double loss = lane_log(ratio);
            const double loss_error = sum_error_ + 4.0 * kUnitRoundoff * (2.0 + std::fabs(loss));
            found.spans.push_back({loss, loss, loss, mass * ratio, mass, error, loss_error});
        };
        const double error = mass_error_ + sum_error_ + 8.0 * kUnitRoundoff;  // masses of P are those of Q times ratios
        for (const RatioPoint& point : points_) {
            if (point.sum > 0.0) {
                add(point.sum / count_, point.mass, error);
            } else {
                found.null = {point.mass * (1.0 - error), point.mass * (1.0 + error)};
            }
        }
        if (side_ == Side::lower || !(apart_q_ > 0.0)) return found;
        if (largest_ < kInfinity) {
            add(largest_, apart_p_ / largest_, error);
        } else {
            found.infinite.upper += apart_p_ * (1.0 + 2.0 * error);
        }
        if (least_ > 0.0) {
            add(least_, apart_q_, error);
        } else {
            found.null.upper += apart_q_;
        }
        return found;
    }

private:
    RatioLaw() = default;
    // Gathers the sums of the points of two laws in cells.
    void gather(const std::vector<RatioPoint>& a, const std::vector<RatioPoint>& b) {
        std::vector<RatioPoint> rough;
        for (const RatioPoint& one : outline(a))
            for (const RatioPoint& other : outline(b)) rough.push_back({one.sum + other.sum, one.mass * other.mass});
        std::ranges::sort(rough, by_sum);
        const double low = a.front().sum + b.front().sum, high = a.back().sum + b.back().sum;
        const std::vector<double> edges = RatioCells(rough, low, high).edges();
        const std::vector<RatioCell> cells = sums_of(a, b, edges);
        points_.clear();
        const auto put = [&](double sum, double mass) {
            const double p = mass * sum / count_;
            if (p < kSetApart && mass < kSetApart) {
                apart_p_ += p;
                apart_q_ += mass;
            } else if (!points_.empty() && points_.back().sum == sum) {
                points_.back().mass += mass;
            } else {
                points_.push_back({sum, mass});
            }
        };
        for (std::size_t c = 0; c < cells.size(); ++c) {
            const RatioCell& cell = cells[c];
            if (!(cell.mass > 0.0)) continue;
            const double mean = std::clamp(cell.moment / cell.mass, cell.low, cell.high);
            if (side_ == Side::lower || cell.high - cell.low <= kSameSum * cell.high) {
                put(mean, cell.mass);
                continue;
            }
            const bool own = cell.high - cell.low < kNarrow * (edges[c + 1] - edges[c]);
            const double start = own ? cell.low : std::min(edges[c], cell.low),
                         end = own ? cell.high : std::max(edges[c + 1], cell.high);
            const double share = (mean - start) / (end - start);
            put(start, cell.mass * (1.0 - share));
            put(end, cell.mass * share);
        }
        // Roundings: the terms of a row's run, the rows, and the operations on each.
        const double terms = static_cast<double>(a.size() + b.size()) + 16.0;
        mass_error_ += terms * kUnitRoundoff;
        sum_error_ += 2.0 * terms * kUnitRoundoff + kSameSum;
    }

    Side side_ = Side::upper;
    double count_ = 1.0;
    std::vector<RatioPoint> points_;             // sorted by sum
    double apart_p_ = 0.0, apart_q_ = 0.0;       // masses set apart
    double mass_error_ = 0.0, sum_error_ = 0.0;  // relative errors of each point
    double least_ = 0.0, largest_ = 0.0;         // least and largest ratio; inf where there is no largest
    Bracket infinite_{0.0, 0.0};                 // mass of A where B vanishes
    double too_large_ = 0.0;
};

constexpr double kMostTooLarge = 1e-30;

// The pair (P, Q) of the epoch with and without the record, computed on first use.
class AllocatedPair final : public BracketedPair {
public:
    // 1 <= steps <= 1e6.
    AllocatedPair(PairPointer base, double steps) : base_(std::move(base)), steps_(steps) {}

    bool symmetric() const noexcept override { return false; }
    const PairPointer& upper() const override { return found(upper_); }
    const PairPointer& lower() const override { return found(lower_); }

private:
    const PairPointer& found(const PairPointer& side) const {
        std::call_once(once_, [this] {
            for (const Side one : {Side::upper, Side::lower}) {
                PairPointer& pair = one == Side::upper ? upper_ : lower_;
                const RatioLaw law(*base_, one);
                // An observer who knows the step sees one use: the base pair dominates.
                pair = law.too_large() > kMostTooLarge
                           ? base_
                           : std::make_shared<const AtomsPair>(law.times(steps_).spans(), false);
            }
        });
        return side;
    }

    PairPointer base_;
    double steps_;
    mutable std::once_flag once_;
};

}  // namespace

PairPointer allocated_pair(PairPointer base, double steps) {
    return std::make_shared<const AllocatedPair>(std::move(base), steps);
}

}  // namespace renyi
