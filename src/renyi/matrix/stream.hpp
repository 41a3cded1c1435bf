// Correlated noise, step by step: g_t becomes g_t + (C^-1 z)_t.
//
// The state is not the z but r_s = released_s - g_s, the noise as it was realised, rounding included. With
// p_t = (sum_(s<t) C_ts released_s) / C_tt, a function of what was released before, and ideal z_t, step t releases
//   round((C g + z)_t / C_tt - p_t) = round(g_t - sum_(s<t) C_ts r_s / C_tt + z_t / C_tt):
// post-processing of the ideal C g + z, with rounding to a lattice as in sgd/rounded_noise.hpp. The sum over r is
// computed in double precision; its rounding error depends on the data and is charged to the sensitivity (python:
// `NoiseStream.rounding_error`).
//
// Slots are kept block by block of the entries, all slots of a block together, so that memory is read in one sweep; the
// nodes of a tree, of which few are read, one after the other. Entries are independent and cut into
// blocks that take random words by their place, so that the bits do not depend on the number of threads.
#pragma once

#include <cstddef>
#include <cstdint>

#include "renyi/sgd/generator.hpp"

namespace renyi {

// The random words of a step's noise, its scale, and the number of entries.
struct NoiseStep {
    ChaChaStream stream;
    std::uint64_t first;  // group of words; each draw takes noise_groups(size) of them
    double scale;         // of z_t / C_tt, 0: none
    std::size_t size;
    int threads;
};

// Bands: slot k of the buffers, `size` numbers each, holds an earlier r and enters times -taps[k]. The
// new r goes to slot `newest`, if that is below `slots`. Where the inverse has the bands, slots hold the (C r)_s, the z
// that were realised, and the new one is what was drawn less the sum before.
template <class Real>
void add_banded_noise(const NoiseStep& step, const double* taps, std::size_t slots, std::size_t newest, bool inverse,
                      Real* buffers, Real* numbers);

// Buffered linear Toeplitz: the sum is that of weights[i] s_i; then s_i <- decays[i] s_i + r.
template <class Real>
void add_buffered_noise(const NoiseStep& step, const double* weights, const double* decays, std::size_t slots,
                        double* buffers, Real* numbers);

// A chain of tree nodes, each the last child of the next: of `levels` draws, draw h rounds the sum so far, the
// estimate becomes own[h] of it and 1 - own[h] of the estimate before, and where sibling[h] is true buffer h, the r of
// the node that node h is put beside, is subtracted before the next draw. Where own[h] is 0 nothing is drawn. The r of
// the chain goes to buffer `newest`, if that is not kNone.
constexpr std::size_t kNone = ~std::size_t{0};
template <class Real>
void add_tree_noise(const NoiseStep& step, const double* own, const bool* sibling, std::size_t levels,
                    std::size_t newest, Real* buffers, Real* numbers);

// The steps of a record with the largest cost: max of the sum of x[i], each at least 0, over at most `most` indices
// that differ by at least `separation`: F[i, j] = max(x_i + F[i + separation, j - 1], F[i + 1, j]), O(n most). Of
// `most` additions of numbers that are not negative: low by at most `most` 2^-53 of itself. `work` holds 2 (n + 1)
// numbers.
double best_selection(const double* x, std::size_t n, std::size_t separation, std::size_t most, double* work) noexcept;

}  // namespace renyi
