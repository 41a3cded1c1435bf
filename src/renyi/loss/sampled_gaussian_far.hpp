// The part of the integrand of A that sits far from the origin: a peak at u ~ alpha c p with |u| > 9, or for alpha < 0
// one whose height exceeds e^40.
//
// There alpha l and u^2/2 are large and nearly cancel, so the exponent at one reference node is formed in double-double
// and every other node is formed relative to it (kernel sum_far). Where the height of the peak is not small against its
// parts, double is enough. Nodes lie on the same grid u = j h as the rest of the rule.
#pragma once

#include "renyi/fp/double_double.hpp"
#include "renyi/loss/sampled_gaussian_kernels.hpp"
#include "renyi/loss/sampled_gaussian_law.hpp"

namespace renyi {

struct FarResult {
    DoubleDouble exponent;  // log of the scale of the sums below
    double exponent_error;  // its absolute error
    FarSums sums;           // times h / sqrt(2 pi) e^exponent
    double leftmost;        // index j of the first node used
    double rounding;        // relative rounding error of sums.value
    double truncation;      // relative error of the nodes left out
    bool joined;            // the march to the left reached its limit: what lies beyond is not negligible
};

// Index range of the nodes a far peak may use: left <= j < right. `last` says that no peak follows on the right.
struct FarRange {
    double left, right;
    bool last;
};

// Stationary point of alpha l(u) - u^2/2 reached from the start by Newton steps damped to fixed-point steps u = alpha
// p(u) c, which rise from 0 to the lowest one and fall from alpha c to the highest one.
double far_mode(const SampledGaussianLaw& law, double alpha, double start) noexcept;

// The minimum between two modes.
double far_valley(const SampledGaussianLaw& law, double alpha, double low, double high) noexcept;

// log of the integrand at u, in double: enough to decide, not to answer.
inline double far_height(const SampledGaussianLaw& law, double alpha, double u) noexcept {
    return alpha * law.log_ratio(u) - 0.5 * u * u;
}

// Marches from the mode in both directions until the rest is below 2^-57 of the sum or the range ends; center shifts
// the derivative sums. beta = alpha - 1, not always the rounded difference.
FarResult integrate_far(const SampledGaussianLaw& law, const Grid& grid, Direction direction, double alpha, double beta,
                        double mode, double center, FarRange range, bool derivatives) noexcept;

}  // namespace renyi
