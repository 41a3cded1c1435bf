// Clipping and summing of the rows of arrays: the factor of a row, rounded down with its proof, and the task.
#pragma once

#include <cstddef>
#include <vector>

#include "renyi/sgd/rows.hpp"

namespace renyi {

// The factor by which a row is multiplied is rounded down: the row added has a norm of at most C in real arithmetic.
//
// A row x of D <= 2^36 elements has the exact norm N. Its squares, perhaps of the row times 2^-e, were summed to s with
// at most A roundings on any path. With u = 2^-53, all terms being >= 0,
//     s 2^2e >= N^2 (1-u)^A,   so   N <= sqrt(s) (1 + (A/2 + 2) u) 2^e = top 2^e.                            (1)
// An element is added as p = fl(w x), rounded once to the sum's precision and before that at most twice to double; in
// double precision it is then rounded to a multiple of g (below). With v = 2^-24 + 2^-51 and h = 2^-149 (sum in single)
// or v = 2^-51 and h = g/2 + 2^-1073 (double), |p| <= w |x| (1+v) + h, where h covers underflow. Minkowski's inequality
// gives
//     ||p|| <= w N (1+v) + h sqrt(D) <= C     if   w <= (C - h sqrt(D)) / (top 2^e (1+v)).                   (2)
// The right side of (2) is computed with 8 roundings at most, multiplied by 1 - 16 u and rounded down to the sum's
// precision. h sqrt(D) <= 2^-131 and C >= 2^-96, or h sqrt(D) < 2^-10 C: the difference keeps its sign.
// Where w = 1 and single-precision rows are added in single precision the products are exact: top <= C is enough.
//
// Sums in double precision are exact. g is the power of two between 2^-29 and 2^-28 of C, |p| <= C < 2^29 g, and the
// sum of up to 2^24 rows stays below 2^53 g, where every multiple of g is a double: no addition rounds. So the sums of
// neighbouring batches differ by the rows in which the batches differ, each rounded separately and of norm C at most:
// the sensitivity of the computed sum is C, for any number of rows, in any order and any division into parts.
//
// Rows whose squares overflow or underflow are scaled: the largest element is then in [1, 2), or the exponent is at its
// limit, and the loss of squares or elements to underflow is below 2^-900 of C.
//
// Automatic clipping: w <= C / (N + gamma) follows in the same way with top + gamma for top, gamma >= 0.
// Bu, Wang, Zha, Karypis, Automatic Clipping, 2022, AUTO-S; AUTO-V is gamma = 0.

enum class ClipRule {
    flat,       // x min(1, C/N)
    normalise,  // x C/(N + gamma)
    constant,   // x C, for any norm
};

// The norm of a row is sqrt(squares) 2^exponent.
struct RowNorm {
    double squares = 0.0;
    int exponent = 0;
    double value() const noexcept;
};

// Squares in this range did not overflow, and their loss to underflow is below u.
constexpr double kLeastSquares = 0x1p-900, kLargestSquares = 0x1p1000;

struct RowFactor {
    double factor = 0.0;  // multiplies the row times scale
    double scale = 1.0;   // a power of two
    bool narrow = true;   // whether the factor is a number of the sum's precision and scale is 1
    double value() const noexcept { return factor * scale; }
};

constexpr double kLeastBound = 0x1p-96, kLargestBound = 0x1p96;

struct ClipBound {
    ClipRule rule = ClipRule::flat;
    double bound = 1.0;          // C in [2^-96, 2^96]
    double stability = 0.0;      // gamma in [0, 2^96]
    double root_elements = 0.0;  // sqrt(D)
    double roundings = 0.0;      // A
    bool wide_sum = false;       // whether the sum is in double precision
    bool has_doubles = false;    // whether rows have elements in double precision
};

// Whether the rows added are on a lattice, so that no addition rounds; its spacing g; and the most rows for which this
// holds.
constexpr bool sums_exactly(ClipRule rule, bool wide_sum) noexcept { return wide_sum && rule != ClipRule::constant; }
double sum_spacing(double bound) noexcept;
constexpr std::size_t kMostRows = std::size_t{1} << 24;

RowFactor clip_factor(const ClipBound& clip, const RowNorm& norm) noexcept;

// A factor given by the caller: the nearest number of the sum's precision, or the double itself where that number would
// not be normal.
RowFactor plain_factor(double weight, bool wide_sum) noexcept;

// The norms of the rows of arrays, and the sum of rows with a factor each.
//
// Rows are processed in groups of a few: first their norms, then their sum, so that a group that fits in a cache is
// read from memory once, others twice. The memory used beside the arrays is that of a few rows.
//
// The order of every addition depends on the shapes alone, never on the number of threads:
//   short rows: each block of rows is summed by one thread, and the blocks are added up in their order;
//   long rows: every thread has its own tiles, and processes all rows.

struct ClipTask {
    std::size_t rows = 0;
    std::vector<RowArray> arrays;     // a row consists of the elements of one row of each array
    std::vector<void*> sums;          // contiguous; empty: only norms are computed
    bool adds_to_sums = false;        // whether sums are added to; else they are replaced
    bool wide_sum = false;            // whether sums are in double precision
    std::vector<std::size_t> groups;  // the norm to which each array belongs
    std::vector<double> bounds;       // the bound of each norm
    ClipRule rule = ClipRule::flat;
    double stability = 0.0;
    // A factor for every row, instead of a rule. Rows of factor 0 are not read; norms are not computed.
    const double* weights = nullptr;
    // With weights and sums in double precision: products are rounded to multiples of the spacing, unless it is 0.
    double spacing = 0.0;
    // Output, rows x norms; may be null. A row with an element that is not finite has the norm NaN and the factor 0.
    double* norms = nullptr;
    double* factors = nullptr;
    std::size_t threads = 1;
};

// Throws std::bad_alloc before anything has been written.
void clip_and_sum(const ClipTask& task);

}  // namespace renyi
