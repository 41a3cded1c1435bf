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

// A lower and an upper bound of delta(epsilon).
double plain_lower(const SortedSteps& c, Direction direction, double epsilon) noexcept;
double plain_upper(const SortedSteps& c, Direction direction, double epsilon) noexcept;

// An upper bound of delta(0), the total variation; from there on epsilon is 0.
double delta_at_zero_above(const SortedSteps& c, SampledPair pair) noexcept;

// add: false where epsilon is proven not to be next to the largest loss and at least one step has noise that hides a
// little. Otherwise bounds by what is left of the largest loss determine epsilon well.
bool may_be_next_to_largest(const SortedSteps& c, double delta) noexcept;

// add, without Gaussian steps: a bracket that is narrow where no output may come from the record, also next to
// epsilon = 0.
Bracket unlost_epsilon(const SortedSteps& c, double delta) noexcept;

// Brackets of epsilon: by the bounds that take no search, and by all of them.
Bracket quick_epsilon(const SortedSteps& c, Direction direction, double delta) noexcept;
Bracket plain_epsilon(const SortedSteps& c, Direction direction, double delta) noexcept;

// Bounds of the privacy curve where records are replaced on Poisson samples, from bounds for added and removed records.
// P = (1-q) R + q N(1, sigma^2) and Q = (1-q) R + q N(-1, sigma^2) with R = N(0, sigma^2). Gaussian steps have their
// noise halved.
//   Hoelder    E_P[(P/Q)^t] <= E_R[(P/R)^{2+2t}]^{1/2} E_R[(R/Q)^{2t}]^{1/2}, both orders of A, for Chernoff's bound
//   convexity  one step: delta(eps) <= q delta_G(2/sigma; eps), and basic composition
double replaced_delta_above(const SortedSteps& c, double epsilon) noexcept;
double replaced_epsilon_above(const SortedSteps& c, double delta) noexcept;

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
