// Bounds of one composition that are asked before and beside its transforms: a delta next to 0 or to 1 is known at
// once, and a bracket that stays wide is narrowed by every bound that needs no transform on a line.
#pragma once

#include <optional>
#include <vector>

#include "renyi/fp/bracket.hpp"
#include "renyi/loss/sampled_gaussian.hpp"
#include "renyi/pair/composition.hpp"
#include "renyi/transform/sampled_loss.hpp"

namespace renyi {

// Bounds 1 - delta, where it is small, by Chernoff's bound at orders between 0 and 1,
//     1 - delta(eps) = E_P min(1, e^{eps - S}) <= e^{s eps} E_P[e^{-s S}],   0 <= s <= 1,
// where S is the sum of the losses.
class Complement {
public:
    Complement(const SortedSteps& c, SampledPair pair);

    // False where 1 - delta is above 1e-4 at every epsilon >= 0.
    bool may_be_small() const noexcept;

    // An upper bound of 1 - delta.
    double at(double epsilon) const noexcept;
    // The epsilon up to which the curve is proven to be above `delta`; it has either sign.
    double epsilon_below(double delta) const noexcept;

private:
    struct Law {
        double count, spacing;
        std::vector<double> loss, log_density, error;  // at the nodes
    };

    double log_moment(double s) const noexcept;  // log E_P[e^{-s S}], rounded up

    std::vector<Law> laws_;
    double gaussian_;
};

// Bounds of the privacy curve of a composition that need no transform on a line: Chernoff's, basic composition, and
// single events. They hold for both directions of add/remove, at every epsilon, and are seldom narrow.
double chernoff_delta(const SortedSteps& c, Direction direction, double epsilon) noexcept;

// A lower bound of delta(epsilon).
double plain_lower(const SortedSteps& c, Direction direction, double epsilon) noexcept;

// add: false where epsilon is proven not to be next to the largest loss and at least one step has noise that hides a
// little. Otherwise bounds by what is left of the largest loss determine epsilon well.
bool may_be_next_to_largest(const SortedSteps& c, double delta) noexcept;

// add, without Gaussian steps: a bracket that is narrow where no output may come from the record, also next to
// epsilon = 0.
Bracket unlost_epsilon(const SortedSteps& c, double delta) noexcept;

// A bracket of epsilon by the bounds that take no search.
Bracket quick_epsilon(const SortedSteps& c, Direction direction, double delta) noexcept;

class DirectBounds {
public:
    DirectBounds(const SortedSteps& c, SampledPair pair) : c_(c), pair_(pair) {}

    // A bracket of delta; [0, 1] where delta may not be next to 1.
    Bracket delta_near_one(double epsilon);
    // Whether epsilon = 0 is proven to be enough.
    bool is_enough_at_zero(double delta);

    // All other bounds; for groups they give nothing.
    Bracket delta(double epsilon);
    Bracket epsilon(double delta);

    // Whether so many steps have the record that their sum has a peak of its own: a long line serves better than
    // windows.
    bool has_many_inclusions() const noexcept;

private:
    Complement& complement();

    SortedSteps c_;
    SampledPair pair_;
    std::optional<Complement> complement_;
    std::optional<double> at_zero_;
};

}  // namespace renyi
