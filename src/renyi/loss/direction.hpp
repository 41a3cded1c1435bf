// What every route to a guarantee of sampled Gaussian steps speaks of: the direction, and equal steps.
#pragma once

namespace renyi {

// Which of two neighbouring data sets holds the record: P is the law of the output with the record and Q that without,
// or the other way round.
enum class Direction { remove, add };

// Equal steps of a composition.
struct SampledStep {
    double q, sigma, count;  // q = 1: the plain Gaussian mechanism
    int records = 1;         // that come and go together, each sampled by its own coin; with q < 1
};

}  // namespace renyi
