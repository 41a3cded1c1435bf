// Banded lower triangular Toeplitz matrices C, given by their first column c_0 != 0, c_1, ..: linear systems, and the
// error of a factorisation A = B C with its gradient. Each function is O(n bands), by recurrences without transforms.
#pragma once

#include <cstddef>

namespace renyi {

struct Bands {
    const double* c;
    std::size_t count;  // at least 1
};

// x <- C^-1 x and x <- C^-T x, for n numbers.
void solve_toeplitz(const Bands& bands, double* x, std::size_t n);
void solve_toeplitz_transposed(const Bands& bands, double* x, std::size_t n);

// Returns err = sum_t w_t b_t^2 with b = C^-1 a, the first column of B where A is Toeplitz too. Sets gradient[j] =
// d err / d c_j = -2 sum_t y_t b_(t-j), y = C^-T (w b). Choquette-Choo and others 2023, arXiv 2306.08153; McKenna 2024,
// arXiv 2405.15913. `work` holds 2 n numbers.
double toeplitz_error(const Bands& bands, const double* a, const double* w, std::size_t n, double* work,
                      double* gradient);

// x <- C^-1 x where C is a buffered linear Toeplitz matrix: c_0 = 1, c_t = sum_i weights[i] decays[i]^(t-1). The
// recurrence of stream.hpp for a single entry; `buffers` holds `count` numbers.
void solve_buffered(const double* weights, const double* decays, std::size_t count, double* buffers, double* x,
                    std::size_t n) noexcept;

// Buffered linear Toeplitz matrices: their error and sensitivity in closed form, with gradients.
//
// The generating function of C is prod(1 - hat_i x) / prod(1 - theta_i x), that of C^-1 its reciprocal. Where
// 1 > theta_1 > hat_1 > theta_2 > .. > hat_m > 0 all residues have one sign, so that
//   c_0 = 1, c_t = sum_i omega_i theta_i^(t-1), omega > 0
//   (C^-1 1)_t = beta + sum_i gamma_i hat_i^t, beta = prod (1 - theta_i) / (1 - hat_i), gamma_i = -omega_hat_i / (1 -
//   hat_i) > 0
// and their squares, summed over t, are sums of geometric series with positive terms: nothing cancels, and the cost
// does not depend on n. McMahan, Xu, Zhang 2024, arXiv 2408.08868; Dvijotham and others 2024, arXiv 2404.16706.
//
// Nodes are represented by the gaps g_j = 1 - u_j of u = (theta_1, hat_1, theta_2, ..), which have more digits near
// u = 1: g_j = prod_(i >= j) sigmoid(p_i) is increasing in j for every p.

constexpr std::size_t kMostBuffers = 8;

struct BufferedSetting {
    std::size_t buffers;         // in [1, kMostBuffers]
    double steps;                // n
    double separation;           // least distance of a record's steps, at least 1
    std::size_t participations;  // most steps of a record
    bool mean;                   // whether the error is that of all queries, not of the last
};

// Returns log of (sensitivity^2 times sum of squares), and the gradient in the 2 m numbers p. With `mean` square t of
// the sum has the weight (n - t) / n.
double buffered_loss(const BufferedSetting& setting, const double* p, double* gradient) noexcept;

// Computes theta and omega from the parameters p.
void buffered_nodes(std::size_t buffers, const double* p, double* theta, double* omega) noexcept;

}  // namespace renyi
