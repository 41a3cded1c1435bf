// One epoch of random allocation as a pair to compose: two pairs of atoms, one above and one below.
//
// With H(r) = E_Q[(R - r)_+], R the likelihood ratio, convex, H(0) = 1 and H' >= -1, a pair of atoms is a convex
// polygon: at every vertex r_j the slope grows by the mass q_j under Q, p_j = r_j q_j under P. From values H_j and
// their certified ends at r_0 < ... < r_n, the losses log r_j multiples of a power of 2:
//     above   the largest convex polygon below the upper ends. H is convex and below them, hence below it.
//     below   the lines through neighbouring points, continued, lie below H on the cells beside theirs. The lower ends
//             less what chords may be above these lines make a polygon below H; its largest convex minorant is handed
//             out.
// Either differs from H by the variance inside the cells, and compositions of both have lattices that hold them
// exactly. P-mass H_n beyond the last point is infinite from above, that of Q before the first one null; from below
// there is none. Slopes are differences of small numbers: values count as exact, and differences are taken in
// double-double.
#pragma once

#include <mutex>

#include "renyi/pair/operations/basic.hpp"

namespace renyi {

// (P, Q) with and without the record, at rate 1. The polygons take seconds where noise is small: found when first read.
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
