// Further sums without rounding in the additions, beside clipping.hpp: rows on an integer grid, and gradients of an
// embedding.
#pragma once

#include <cstddef>
#include <cstdint>

#include "renyi/sgd/rows.hpp"

namespace renyi {

// Sums of rows on a grid: every entry of every row, times the row's factor, is rounded to the nearest multiple of the
// spacing, ties to even, before it is added, so the sum is an exact integer vector in units of the spacing.
//
// A row of exact norm at most C is added with norm at most C (1 + 2^-53) + sqrt(D) spacing / 2: the product is rounded
// once (in double), and the grid moves each of the D entries by at most half a spacing. The spacing is a power of two,
// so that dividing by it is exact.

// sum[j] += sum over i of round(factors[i] rows[i][j] / spacing), inverse_spacing a power of two. Rows of factor 0 are
// not read. Returns false if an entry is not finite or is 2^50 spacings or more: the sum is then not valid.
template <class Real>
bool add_to_grid(const Real* rows, const double* factors, std::size_t count, std::size_t dimension,
                 double inverse_spacing, std::int64_t* sum, int threads) noexcept;

// Sums of the gradients of an embedding, without a table for each record.
//
// A record looks up T rows of a table; gradients of equal tokens add up. The gradient of a record is
//     row v = sum of g_t over the t with token_t = v, in double precision, t ascending,
// so these numbers depend on the record alone; norms and sums are computed from them.
//
// Norm: the square of row v, column j, goes to lane j mod kLookupLanes; the lanes are added pairwise: at most
// T ceil(columns / kLookupLanes) + 6 roundings on any path.
// Sum: w x is rounded to double and then to a multiple of the spacing, as in rows.hpp: shift is 3/2 2^52 g.

constexpr std::size_t kLookupLanes = 16;

struct Lookups {
    std::size_t rows = 0, times = 0, columns = 0;
    const std::int64_t* tokens = nullptr;  // rows x times, each the number of a row of the table
    const std::int64_t* order = nullptr;   // stable order of the times of each row by ascending token
    const void* gradients = nullptr;       // rows x times x columns, contiguous
    Element element = Element::single;     // single or twice
    std::size_t threads = 1;
};

// Computes the squared norm of every row; infinite or NaN where an element is, or where doubles overflow.
void lookup_squares(const Lookups& task, double* squares) noexcept;

// sum[v] += w row v, for all rows in their order; rows of weight 0 are not read.
void add_lookups(const Lookups& task, const double* weights, double spacing, double* sum) noexcept;

}  // namespace renyi
