// Equal steps of a composition.
#pragma once

namespace renyi {

struct SampledStep {
    double q, sigma, count;  // q = 1: the plain Gaussian mechanism
};

}  // namespace renyi
