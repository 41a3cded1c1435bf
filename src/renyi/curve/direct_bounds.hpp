// Bounds of one composition that are asked before and beside its transforms: what is next to 0 or to 1 is known at
// once, and what is left wide is narrowed by every bound that needs no transform on a line.
#pragma once

#include <optional>

#include "renyi/curve/complement.hpp"
#include "renyi/curve/sorted_steps.hpp"
#include "renyi/fp/bracket.hpp"
#include "renyi/transform/sampled_loss.hpp"

namespace renyi {

class DirectBounds {
public:
    DirectBounds(const SortedSteps& c, SampledPair pair) : c_(c), pair_(pair) {}

    // Of delta, [0, 1] where it may not be next to 1.
    Bracket delta_near_one(double epsilon);
    // Whether epsilon = 0 will certainly do.
    bool is_enough_at_zero(double delta);

    // Everything else.
    Bracket delta(double epsilon);
    Bracket epsilon(double delta);

    // So many steps with the record that their sum has a peak of its own: a long line serves better than windows.
    bool has_many_seen() const noexcept;

private:
    Complement& complement();

    SortedSteps c_;
    SampledPair pair_;
    std::optional<Complement> complement_;
    std::optional<double> at_zero_;
};

}  // namespace renyi
