// 1 - delta, where it is small: by Chernoff's bound at orders between 0 and 1,
//     1 - delta(eps) = E_P min(1, e^{eps - S}) <= e^{s eps} E_P[e^{-s S}],   0 <= s <= 1,
// S the sum of the losses.
#pragma once

#include <vector>

#include "renyi/curve/sorted_steps.hpp"
#include "renyi/transform/sampled_loss.hpp"

namespace renyi {

class Complement {
public:
    Complement(const SortedSteps& c, SampledPair pair);

    // False where 1 - delta is above 1e-4 at every epsilon >= 0.
    bool may_be_small() const noexcept;

    // An upper bound of 1 - delta.
    double at(double epsilon) const noexcept;
    // Up to there the curve is certainly above `delta`; of either sign.
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

}  // namespace renyi
