// The law of a sum of likelihood ratios R = dA/dB of independent outputs, drawn from B: points of which a larger or a
// smaller law in convex order consists, so that E[(S - x)_+] and E[(x - S)_+] are bounded for every x. Such bounds hold
// for sums of independent ratios, summand by summand.
//
// Sums of two laws fall into cells, narrow around the median and of constant relative width far from it.
//     from above   what a cell holds goes to its ends, the mean kept
//     from below   to its mean
// so that what is lost is the variance inside the cells. Everything is a sum of positive terms: masses keep their
// relative precision however small they are. What is too small to be seen is set apart: from above as if the ratio
// were the largest for S, the least for -S; from below it is dropped.
#pragma once

#include <vector>

#include "renyi/pair/pair.hpp"
#include "renyi/pair/ratio_cells.hpp"

namespace renyi {

class RatioLaw {
public:
    // Of one ratio. Masses where B vanishes are not seen.
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

}  // namespace renyi
