// A composition of Poisson-sampled Gaussian steps in a canonical order: answers do not depend on the order in which
// steps were added, to the last bit.
#pragma once

#include <span>
#include <vector>

#include "renyi/loss/direction.hpp"

namespace renyi {

struct SortedSteps {
    std::vector<SampledStep> steps{};  // sorted and merged, without steps that release nothing
    double gaussian_mu = 0.0;          // of the Gaussian steps among them, all together
    double gaussian = 0.0;             // its square, at least the smallest normal number if there are any
    double largest_loss = 0.0;         // of Direction::add, rounded up; inf if there are Gaussian steps
    bool only_gaussian = true;
    bool has_groups = false;  // steps with several records

    bool is_single() const noexcept { return steps.size() == 1 && steps[0].count == 1.0 && !has_groups; }
};

SortedSteps sorted_steps(std::span<const SampledStep> steps);

}  // namespace renyi
