// Norms of the rows of arrays, and sums of rows with a factor each.
//
// Rows are worked on in groups of a few: their norms, then their sum, so that a group that fits in a cache is read from
// memory once, others twice.
// Nothing of the size of the arrays is ever stored.
//
// The order of every addition depends on the shapes alone, never on the number of threads:
//   short rows: blocks of rows are summed one thread each, and the blocks are added up in their order;
//   long rows: every thread has tiles of its own, and takes all rows.
#pragma once

#include <cstddef>
#include <vector>

#include "renyi/sgd/clip_factor.hpp"
#include "renyi/sgd/row_source.hpp"

namespace renyi {

struct ClipTask {
    std::size_t rows = 0;
    std::vector<RowArray> arrays;     // a row is the elements of a row of each
    std::vector<void*> sums;          // contiguous; none: norms only
    bool adds_to_sums = false;        // else what they hold is replaced
    bool wide_sum = false;            // sums in double precision
    std::vector<std::size_t> groups;  // which norm an array belongs to
    std::vector<double> bounds;       // of each norm
    ClipRule rule = ClipRule::flat;
    double stability = 0.0;
    // Instead of a rule: a factor for every row. Rows of factor 0 are not read, and nothing is known of the others.
    const double* weights = nullptr;
    double spacing = 0.0;  // with weights and sums in double precision: products are rounded to its multiples, 0: are not
    // rows x norms, may be null. A row with an element that is not finite has NaN and the factor 0.
    double* norms = nullptr;
    double* factors = nullptr;
    std::size_t threads = 1;
};

// Throws std::bad_alloc before anything has been written.
void clip_and_sum(const ClipTask& task);

}  // namespace renyi
