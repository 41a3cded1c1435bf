// Banded lower triangular Toeplitz matrices C, given by their first column c_0 != 0, c_1, ..: solving with them, and
// the error of a factorisation A = B C with its gradient. Each is O(n bands): recurrences, no transform.
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

// err = sum_t w_t b_t^2 with b = C^-1 a, the first column of B where A is Toeplitz too, and gradient[j] = d err / d c_j
// = -2 sum_t y_t b_(t-j), y = C^-T (w b). Choquette-Choo and others 2023, arXiv 2306.08153; McKenna 2024, arXiv
// 2405.15913. `work` has room for 2 n numbers.
double toeplitz_error(const Bands& bands, const double* a, const double* w, std::size_t n, double* work,
                      double* gradient);

// x <- C^-1 x where C is a buffered linear Toeplitz matrix: c_0 = 1, c_t = sum_i weights[i] decays[i]^(t-1). The
// recurrence of stream.hpp for a single entry; `buffers` has room for `count` numbers.
void solve_buffered(const double* weights, const double* decays, std::size_t count, double* buffers, double* x,
                    std::size_t n) noexcept;

}  // namespace renyi
