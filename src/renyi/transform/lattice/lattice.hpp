// Two discrete losses on the nodes offset + step * i of a lattice: one dominates a pair, the pair dominates the other.
//
// Both replace H(E) = E_P[(1 - E e^-L)_+] by a function of the same form with its kinks at lattice points, H+ >= H >=
// H- for every E > 0. For a composition condition on the other losses: delta = E[H(E / e^(their sum))], so that such
// bounds hold factor by factor, and also for masses that do not sum to one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "renyi/fp/certified.hpp"
#include "renyi/pair/pair.hpp"

namespace renyi::lattice {

struct Lattice {
    double step, offset;
    std::int64_t first, last;

    std::size_t size() const noexcept { return static_cast<std::size_t>(last - first + 1); }
    double loss(std::size_t i) const noexcept {
        return offset + step * static_cast<double>(first + static_cast<std::int64_t>(i));
    }
};

// P-masses at the nodes; the loss of a node is exact, or wrong by `drift` at most.
struct LatticePair {
    Lattice lattice;
    std::vector<double> upper, lower;  // of H+ and H-
    double upper_infinite, lower_infinite, drift;
    double beyond;  // the part of upper_infinite from losses above the last node
    // For the losses that make up each mass of H+: the mass times the mean of (loss - low) (high - loss), low and high
    // the two nodes that share them. It tells roughly how far H+ is from H.
    std::vector<double> spread;
};

// Losses above the last node go to infinity in H+ and to the last node in H-. Losses below the first node go to the
// first node in H+ and are dropped in H-.
LatticePair discretise(const Pair& pair, const Lattice& lattice);

// Sums over the nodes of a lattice, vectorised, with the same bits on every instruction set.
//
// Sums of non-negative terms go by blocks of 256: lanes in a block, the blocks compensated. An addition at a lane's end
// takes part in at most 16 + 4 roundings, so that a sum is accurate to kSumError relative, whatever its length, beyond
// the error of its terms.
constexpr double kSumError = 24.0 * kUnitRoundoff;

// The largest exponent log_mass + t loss, and the loss where it is reached.
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

// The sum of a[i] e^(slope (first + step i) - top), a >= 0. An exponent below -708 counts as -708, so that the sum is
// not too small.
double exponential_sum(const double* a, std::size_t n, double slope, double first, double step, double top) noexcept;

// Sums of a[i] w[i] and a[i] v[i] for n <= 256, to 22 u of the sums of the moduli.
struct TwoSums {
    double first, second;
};
TwoSums two_products(const double* a, const double* w, const double* v, std::size_t n) noexcept;

}  // namespace renyi::lattice
