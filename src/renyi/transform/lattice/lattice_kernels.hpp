// Sums over the nodes of a lattice, vectorised, with the same bits on every instruction set.
//
// Sums of non-negative terms go by blocks of 256: lanes in a block, the blocks compensated. An addition at a lane's end
// takes part in at most 16 + 4 roundings, so that a sum is accurate to kSumError relative, whatever its length, beyond
// the error of its terms.
#pragma once

#include <cstddef>

#include "renyi/fp/certified.hpp"

namespace renyi::lattice {

constexpr double kSumError = 24.0 * kUnitRoundoff;

// Where log_mass + t loss is largest.
struct TiltedPeak {
    double exponent, loss;
};

struct TiltedSums {
    double mass, first, second;  // sums of e^(log_mass + t loss - exponent) times (loss - centre)^0, 1, 2
};

void log_masses(const double* masses, std::size_t n, double* out) noexcept;  // of normal numbers
TiltedPeak tilted_peak(const double* logs, const double* losses, std::size_t n, double t) noexcept;
TiltedSums tilted_sums(const double* logs, const double* losses, std::size_t n, double t, TiltedPeak peak) noexcept;

// out[i] = masses[i] e^(theta i - centre), where theta i and the difference are exact: two exponentials of 3 u and
// three roundings each, 10 u in all. What would be below 2^-1021 may be lost.
void tilted_weights(const double* masses, std::size_t n, double theta, double centre, double* out) noexcept;

double sum_of(const double* a, std::size_t n) noexcept;  // a >= 0

// Sum of a[i] e^(slope (first + step i) - top), a >= 0. An exponent below -708 counts as that: the sum is not too
// small.
double exponential_sum(const double* a, std::size_t n, double slope, double first, double step, double top) noexcept;

// Sums of a[i] w[i] and a[i] v[i] for n <= 256, to 22 u of the sums of the moduli.
struct TwoSums {
    double first, second;
};
TwoSums two_products(const double* a, const double* w, const double* v, std::size_t n) noexcept;

}  // namespace renyi::lattice
