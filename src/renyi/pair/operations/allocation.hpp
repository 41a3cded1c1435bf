// One epoch of random allocation of any pair (A, B) to t steps: A at one of them, drawn uniformly, and B at the others,
// against B at all. The ratio of both is the mean of t ratios dA/dB, independent under B.
//
// It dominates the epoch of every mechanism whose steps (A, B) dominates, adaptive ones too, in both directions: a channel
// that maps A and B to the outputs of a step with and without the record (Blackwell), step by step. Feldman, Shenfeld
// 2025, arXiv 2502.08202.
#pragma once

#include <algorithm>
#include <mutex>
#include <vector>

#include "renyi/fp/certified.hpp"
#include "renyi/pair/operations/basic.hpp"
#include "renyi/pair/pair.hpp"

namespace renyi {

// Cells for sums of likelihood ratios: narrow around the median, of constant relative width far from it.
struct RatioPoint {
    double sum, mass;  // of ratios; under Q
};

constexpr double kSameSum = 1e-13;  // sums that differ by so little, relatively, are one

// Cells around the median of these points, for sums from low to high.
class RatioCells {
public:
    RatioCells(const std::vector<RatioPoint>& points, double low, double high);

    double width(double sum) const noexcept;

    // From the lowest sum to the highest one.
    std::vector<double> edges() const;

private:
    double low_, high_, middle_, below_, above_, far_, share_, least_sum_;
};

// What a cell holds: its mass, that times the sums, and between which sums it lies.
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

// All sums of a point of each, points by their sums, in the cells between the edges.
std::vector<RatioCell> sums_of(const std::vector<RatioPoint>& a, const std::vector<RatioPoint>& b,
                               const std::vector<double>& edges);

// Few points of about the same law.
std::vector<RatioPoint> outline(const std::vector<RatioPoint>& points);

// The law of a sum of likelihood ratios R = dA/dB of independent outputs, drawn from B: points of which a larger or a
// smaller law in convex order consists, so that E[(S - x)_+] and E[(x - S)_+] are bounded for every x. Such bounds hold
// for sums of independent ratios, summand by summand.
//
// Sums of two laws fall into cells, narrow around the median and of constant relative width far from it.
//     from above   what a cell holds goes to its ends, the mean kept
//     from below   to its mean
// so that what is lost is the variance inside the cells. Everything is a sum of positive terms: masses keep their
// relative precision however small they are. Negligible masses are set apart: from above as if the ratio
// were the largest for S, the least for -S; from below it is dropped.
class RatioLaw {
public:
    // Of one ratio. Without the masses where B vanishes.
    RatioLaw(const Pair& base, Side side);

    // Mass of A at losses that are accounted as infinite for their size.
    double too_large() const noexcept { return too_large_; }

    // Of the sum of so many more ratios.
    RatioLaw plus(const RatioLaw& other) const;

    RatioLaw times(double count) const;

    // The pair of the mean: (points weighted by it, points), as losses log(sum/count).
    Spans spans() const;

private:
    RatioLaw() = default;
    void gather(const std::vector<RatioPoint>& a, const std::vector<RatioPoint>& b);

    Side side_ = Side::upper;
    double count_ = 1.0;
    std::vector<RatioPoint> points_;             // by their sums
    double apart_p_ = 0.0, apart_q_ = 0.0;       // masses of what is set apart
    double mass_error_ = 0.0, sum_error_ = 0.0;  // relative, of each point
    double least_ = 0.0, largest_ = 0.0;         // ratios; inf where there is no largest
    Bracket infinite_{0.0, 0.0};                 // mass of A where B vanishes
    double too_large_ = 0.0;
};

// (P, Q) with and without the record. Found when first read.
class AllocatedPair final : public BracketedPair {
public:
    // 1 <= steps <= 1e6.
    AllocatedPair(PairPointer base, double steps) : base_(std::move(base)), steps_(steps) {}

    bool symmetric() const noexcept override { return false; }
    const PairPointer& upper() const override { return found(upper_); }
    const PairPointer& lower() const override { return found(lower_); }

private:
    const PairPointer& found(const PairPointer& side) const;

    PairPointer base_;
    double steps_;
    mutable std::once_flag once_;
};

}  // namespace renyi
