// Sums of rows on a grid: every entry of every row, times the row's factor, is rounded to the nearest multiple of the
// spacing, ties to even, before it is added, so the sum is an exact integer vector in units of the spacing.
//
// A row of exact norm at most C arrives with norm at most C (1 + 2^-53) + sqrt(D) spacing / 2: the product is rounded
// once (in double), the grid moves each of the D entries by at most half a spacing. The spacing is a power of two, so
// that dividing by it is exact.
#pragma once

#include <cstddef>
#include <cstdint>

namespace renyi {

// sum[j] += sum over i of round(factors[i] rows[i][j] / spacing), inverse_spacing a power of two. Rows of factor 0 are
// passed over, whatever they hold. False where an entry is not finite or 2^50 spacings or more: sum is then of no use.
bool add_to_grid(const float* rows, const double* factors, std::size_t count, std::size_t dimension,
                 double inverse_spacing, std::int64_t* sum, int threads) noexcept;
bool add_to_grid(const double* rows, const double* factors, std::size_t count, std::size_t dimension,
                 double inverse_spacing, std::int64_t* sum, int threads) noexcept;

}  // namespace renyi
