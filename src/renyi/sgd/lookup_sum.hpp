// Gradients of an embedding, without ever a table for each record.
//
// A record looks up T rows of a table; where two tokens are the same their gradients add up. A record's gradient is
//     row v = sum of g_t over the t with token_t = v, in double precision, t ascending,
// so these numbers depend on the record alone, and they are what is measured and what is added.
//
// Norm: the squares of row v, column j, go to lane j mod kLookupLanes, which are joined pairwise: at most
// T ceil(columns / kLookupLanes) + 6 roundings on any path.
// Sum: w x, rounded to double and then to a multiple of the spacing, as row_kernels.hpp does it: shift is 3/2 2^52 g.
#pragma once

#include <cstddef>
#include <cstdint>

#include "renyi/sgd/row_kernels.hpp"

namespace renyi {

constexpr std::size_t kLookupLanes = 16;

struct Lookups {
    std::size_t rows = 0, times = 0, columns = 0;
    const std::int64_t* tokens = nullptr;  // rows x times, each a row of the table
    const std::int64_t* order = nullptr;   // of the times of each row: tokens ascending, equal ones as they come
    const void* gradients = nullptr;       // rows x times x columns, contiguous
    Element element = Element::single;     // single or twice
    std::size_t threads = 1;
};

// Of every row: the squared norm. Infinite or NaN where an element is, or where doubles overflow.
void lookup_squares(const Lookups& task, double* squares) noexcept;

// sum[v] += w row v, for all rows in their order; those of weight 0 are not read.
void add_lookups(const Lookups& task, const double* weights, double spacing, double* sum) noexcept;

}  // namespace renyi
