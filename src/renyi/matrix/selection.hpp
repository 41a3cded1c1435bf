// Which steps a record takes part in where that costs most.
#pragma once

#include <cstddef>

namespace renyi {

// max of the sum of x[i], each at least 0, over at most `most` indices that differ by at least `separation`:
// F[i, j] = max(x_i + F[i + separation, j - 1], F[i + 1, j]), O(n most). Of `most` additions of numbers that are not
// negative: low by at most `most` 2^-53 of itself. `work` has room for 2 (n + 1) numbers.
double best_selection(const double* x, std::size_t n, std::size_t separation, std::size_t most, double* work) noexcept;

}  // namespace renyi
