// Correlated noise, step by step: g_t becomes g_t + (C^-1 z)_t.
//
// The state is not z but r_s = released_s - g_s, the realised noise, rounding included. With p_t = (sum_(s<t) C_ts
// released_s) / C_tt, a function of earlier releases, and ideal z_t, step t releases
//   round((C g + z)_t / C_tt - p_t) = round(g_t - sum_(s<t) C_ts r_s / C_tt + z_t / C_tt):
// post-processing of the ideal C g + z, with rounding to a lattice as in sgd/rounded_noise.hpp. The sum over r is
// computed in double precision; its rounding error depends on the data and is added to the sensitivity (python:
// `NoiseStream.rounding_error`).
//
// Slots are stored block by block of the entries, all slots of a block together, so that memory is read in one sweep.
// The nodes of a tree, of which few are read, are stored one after the other. Entries are independent and divided into
// blocks that take random words by their position, so that the bits do not depend on the number of threads.
#pragma once

#include <cstddef>
#include <cstdint>

#include "renyi/sgd/generator.hpp"

namespace renyi {

// The random words of a step's noise, its scale, and the number of entries.
struct NoiseStep {
    ChaChaStream stream;
    std::uint64_t first;  // first group of words; each draw takes noise_groups(size) groups
    double scale;         // scale of z_t / C_tt; 0 for no noise
    std::size_t size;
    int threads;
};

// Adds noise of a banded C: slot k of the buffers, `size` numbers each, holds an earlier r and enters times -taps[k].
// The new r goes to slot `newest`, if newest < slots. Where the inverse is banded (`inverse`), slots hold the (C r)_s,
// the realised z, and the new one is the drawn value minus the sum before.
template <class Real>
void add_banded_noise(const NoiseStep& step, const double* taps, std::size_t slots, std::size_t newest, bool inverse,
                      Real* buffers, Real* numbers);

// Adds noise of a buffered linear Toeplitz C: the sum over earlier r is that of weights[i] s_i; then
// s_i <- decays[i] s_i + r.
template <class Real>
void add_buffered_noise(const NoiseStep& step, const double* weights, const double* decays, std::size_t slots,
                        double* buffers, Real* numbers);

// Adds noise of a chain of tree nodes, each the last child of the next. Draw h of `levels` rounds the sum so far, and
// the estimate becomes own[h] times the draw plus 1 - own[h] times the previous estimate. Where sibling[h] is true,
// buffer h, the r of the sibling of node h, is subtracted before the next draw. Where own[h] is 0 nothing is drawn. The
// r of the chain goes to buffer `newest`, if that is not kNone.
constexpr std::size_t kNone = ~std::size_t{0};
template <class Real>
void add_tree_noise(const NoiseStep& step, const double* own, const bool* sibling, std::size_t levels,
                    std::size_t newest, Real* buffers, Real* numbers);

// Returns the largest cost of the steps of one record: the maximum of the sum of x[i] >= 0 over at most `most` indices
// that differ by at least `separation`, by F[i, j] = max(x_i + F[i + separation, j - 1], F[i + 1, j]), O(n most). The
// result of `most` additions of non-negative numbers is too low by at most `most` 2^-53 of itself. `work` holds
// 2 (n + 1) numbers.
double best_selection(const double* x, std::size_t n, std::size_t separation, std::size_t most, double* work) noexcept;

}  // namespace renyi
