// The split sums of one composition. Each sum is placed for one epsilon and serves neighbouring ones at nearly no cost.
#pragma once

#include <vector>

#include "renyi/fp/bracket.hpp"
#include "renyi/pair/composition.hpp"
#include "renyi/transform/sampled_loss.hpp"
#include "renyi/transform/split_sum.hpp"

namespace renyi {

class PlacedSplits {
public:
    // `c` outlives this.
    PlacedSplits(const SortedSteps& c, SampledPair pair) noexcept : c_(c), pair_(pair) {}

    void clear() noexcept { splits_.clear(); }

    // Whether a sum is placed so near that it serves about as well as a line would.
    bool reach(double epsilon) const noexcept;

    // Brackets by the sums that are placed already; no bracket where there is none, or where they give none.
    Bracket placed_delta(double epsilon) const noexcept;
    Bracket placed_epsilon(double delta, double start) const noexcept;

    // Brackets that place new sums where needed. `start`: about the answer, or 0.
    Bracket delta(double epsilon);
    Bracket epsilon(double delta, double start);

private:
    struct Placed {
        double epsilon;
        SplitSum sum;
    };

    bool is_bounded() const noexcept { return pair_ == SampledPair::add && c_.gaussian == 0.0; }
    double size(double epsilon) const noexcept;
    double at_size(double size) const noexcept;
    double relative_distance(double a, double b) const noexcept;
    const Placed* nearest(double epsilon) const noexcept;
    const SplitSum& place(double epsilon, double log_delta);

    const SortedSteps& c_;
    SampledPair pair_;
    std::vector<Placed> splits_;
};

}  // namespace renyi
