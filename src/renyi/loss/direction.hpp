// The common arguments of all functions for sampled Gaussian steps: the direction, and equal steps.
#pragma once

namespace renyi {

// Which of two neighbouring data sets holds the record. remove: P is the law of the output with the record and Q that
// without it; add: the other way round.
enum class Direction { remove, add };

// Equal steps of a composition.
struct SampledStep {
    double q, sigma, count;  // q = 1: the plain Gaussian mechanism
    int records = 1;         // records added or removed together, each sampled by its own coin; more than 1 need q < 1
};

}  // namespace renyi
