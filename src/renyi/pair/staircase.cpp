#include "renyi/pair/staircase.hpp"

#include <algorithm>
#include <cmath>
#include <memory>

#include "renyi/pair/division.hpp"

namespace renyi {

// The density is a = (1 - b)/(2 (gamma + b (1 - gamma))) on [0, gamma), b = e^-epsilon. The loss at x is epsilon for
// x >= 1, where P has the mass 1/2, and on the end of [0, 1] where the near side of P's centre meets the far side of
// Q's, of length min(gamma, 1 - gamma); the same with the other sign; else both densities are equal.
PairPointer staircase_noise(double epsilon, double gamma) {
    const double b = deep_exp(-epsilon), rest = 1.0 - gamma;
    const double first = -lane_expm1(-epsilon) / (2.0 * (gamma + b * rest));
    const double larger = 0.5 + first * std::min(gamma, rest), smaller = larger * b;
    const double equal = first * (gamma > 0.5 ? gamma - rest : b * (rest - gamma));
    const double error = 32.0 * kUnitRoundoff;
    Spans found;
    found.unbounded_above = found.unbounded_below = false;
    found.infinite.upper = found.null.upper = smaller < kNegligible ? kNegligible : 0.0;
    found.spans.push_back({epsilon, epsilon, epsilon, larger, smaller, error, 0.0});
    found.spans.push_back({-epsilon, -epsilon, -epsilon, smaller, larger, error, 0.0});
    // gamma - (1 - gamma) is right to u/2, absolutely.
    if (equal > 0.0)
        found.spans.push_back(
            {0.0, 0.0, 0.0, equal, equal, std::min(error + kUnitRoundoff / std::fabs(gamma - rest), 1.0), 0.0});
    return std::make_shared<const AtomsPair>(std::move(found), true);
}

}  // namespace renyi
