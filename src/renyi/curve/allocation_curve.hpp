// One epoch of random allocation of Gaussian noise: its privacy curve, and a pair to compose.
#pragma once

#include <mutex>
#include <vector>

#include "renyi/fp/bracket.hpp"
#include "renyi/loss/sampled_gaussian.hpp"
#include "renyi/pair/operations/operations.hpp"
#include "renyi/transform/split_sum.hpp"

namespace renyi {

// The privacy curve of one epoch of random allocation (balls in bins): there are t batches with Gaussian noise sigma on
// each. The record takes part with probability `rate`, and is then in one uniformly drawn batch. With X_i = exp(c x_i -
// c^2/2), x_i standard normal, c = 1/sigma, r = 1 - rate + rate (X_1 + ... + X_t)/t and S = sum (X_i - 1),
//     remove   delta(eps) = E[(r - e^eps)_+]   = (rate/t) E[(S - x)_+],          x = t (e^eps - 1)/rate
//     add      delta(eps) = E[(1 - e^eps r)_+] = (rate e^eps/t) E[(-S - x)_+],   x = t (1 - e^-eps)/rate
// and the pair (law of r weighted by r, law of r) dominates the epoch of any mechanism whose batches are dominated by
// (N(1, sigma^2), N(0, sigma^2)), also of adaptive mechanisms: Feldman, Shenfeld 2025, arXiv 2502.08202; Chua and
// others 2024, arXiv 2412.16802. Gaussian noise attains it.
//
// Split sums (transform/split_sum.hpp) enclose both expectations; a sum placed for one question serves neighbouring
// ones. A wide bracket is intersected with that of the other direction, by E[(S)_+] - E[(-S)_+] = E[S], and with bounds
// in closed form.
class AllocationCurve {
public:
    // sigma >= 1e-4, 1 <= batches <= 1e9, 0 < rate <= 1.
    AllocationCurve(double sigma, double batches, double rate) noexcept : sigma_(sigma), t_(batches), rate_(rate) {}

    // epsilon >= 0. If a quick bound proves that `known` is valid, it may be the upper end.
    Bracket delta(double epsilon, Direction direction, double known = 0.0);
    // The least epsilon >= 0; `known` has the same meaning.
    Bracket epsilon(double delta, Direction direction, double known = 0.0);

    // Encloses E[(S - x)_+], or E[(-S - x)_+] if `reversed`, to the relative width `width` or to `absolute`, if it can.
    SplitSum::Value excess(double x, bool reversed, double width, double absolute);
    // Places a sum for x.
    void place(double x, bool reversed) { placed_excess(x, reversed, 0.0, 0.0); }
    // The same by the sums that are placed already.
    SplitSum::Value known_excess(double x, bool reversed) const;

    double batches() const noexcept { return t_; }

private:
    Bracket enclosed_delta(double epsilon, Direction direction, double absolute);

    struct Placed {
        double x;
        SplitSum sum;
    };

    double threshold(double epsilon, bool reversed) const noexcept;
    double factor(double epsilon, bool reversed) const noexcept;
    Bracket simple_delta(double epsilon, Direction direction) const noexcept;
    Bracket simple_epsilon(double delta, Direction direction) const noexcept;
    double guess_log_excess(double x, bool reversed) const;
    double guess_epsilon(double delta, bool reversed) const;
    SplitSum::Value nearest_excess(double x, bool reversed) const;
    SplitSum::Value placed_excess(double x, bool reversed, double width, double absolute);

    double sigma_, t_, rate_;
    std::vector<Placed> placed_[2];  // sums for S and for -S
};

// One epoch of random allocation as a pair to compose: two pairs of atoms, one above and one below.
//
// With H(r) = E_Q[(R - r)_+], R the likelihood ratio, convex, H(0) = 1 and H' >= -1, a pair of atoms is a convex
// polygon: at every vertex r_j the slope grows by the mass q_j under Q, and P has the mass p_j = r_j q_j there. The
// polygons come from values H_j and their certified ends at r_0 < ... < r_n, whose losses log r_j are multiples of a
// power of 2:
//     above   the largest convex polygon below the upper ends. H is convex and below them, hence below it.
//     below   the lines through neighbouring points, continued, lie below H on the cells beside theirs. The lower ends
//             less the height of chords above these lines make a polygon below H; the pair is its largest convex
//             minorant.
// Either polygon differs from H by the variance inside the cells, and lattices hold the compositions of both exactly.
// In the pair above, the mass H_n of P beyond the last point has an infinite loss, and P has no mass where Q has mass
// before the first point; the pair below has no such masses. Slopes are differences of small numbers: values count as
// exact, and differences are taken in double-double.
// P is with and Q without the record, at rate 1. Where noise is small the polygons take seconds: the first read finds
// them.
class AllocationPair final : public BracketedPair {
public:
    AllocationPair(double sigma, double batches) : sigma_(sigma), batches_(batches) {}

    bool symmetric() const noexcept override { return false; }
    const PairPointer& upper() const override { return found(upper_); }
    const PairPointer& lower() const override { return found(lower_); }

private:
    const PairPointer& found(const PairPointer& side) const;

    double sigma_, batches_;
    mutable std::once_flag once_;
};

}  // namespace renyi
