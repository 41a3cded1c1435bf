// The part of the integrand of A - 1 near the origin, |u| <= 37: the trapezoidal sum marched in blocks until the rest
// is negligible.
#pragma once

#include "renyi/loss/sampled_gaussian_kernels.hpp"
#include "renyi/loss/sampled_gaussian_law.hpp"

namespace renyi {

struct BulkSums {
    double value = 0, slope = 0, first = 0, second = 0;  // as NodeSums, g included; times h / sqrt(2 pi)
    double rounding = 0;                                 // sum of the terms times their relative rounding error
    double truncation = 0;                               // relative
    bool overflow = false;                               // an exponent left the range of double: the value is void
};

struct BulkRequest {
    const SampledGaussianLaw& law;
    const Grid& grid;
    double alpha;
    double s;  // alpha - 1 for alpha >= 1, not always the rounded difference (kullback_leibler); alpha for alpha < 0
    double log_excess;  // log of a lower bound on A - 1, or of what of it is known already
    bool derivatives;
    double center;  // shift of the derivative sums
};

// What is known about the integrand on the right for alpha >= 1.
struct BulkEnd {
    double index;         // nodes j < index only (inf: no far part follows)
    double single_after;  // beyond this u the tail bound, once falling, has no peak left that matters
    double falls_after;   // beyond this u the integrand of A falls, or rises again only to what is negligible at index
};

BulkSums integrate_bulk_remove(const BulkRequest& request, BulkEnd end) noexcept;

// alpha < 0, around the mode.
BulkSums integrate_bulk_add(const BulkRequest& request, double mode) noexcept;

}  // namespace renyi
