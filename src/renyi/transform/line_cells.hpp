// The hot loops over the cells of a line beside the real axis (line_integral.hpp). Fixed summation order: the same bits
// on every instruction set.
#pragma once

#include <cstddef>

#include "renyi/fp/lanes.hpp"
#include "renyi/transform/sampled_loss.hpp"

namespace renyi::cells {

struct StepLine {
    double level, scale, sign;  // scale = 1/width
};

// At the points: V, L+ and the posteriors of the sampled components in e^{L+} and e^{L-}; of the cells the logarithm of
// the largest normal density times the width.
struct CellArrays {
    const double *v, *log_factor, *above, *below, *log_cell;
};

// What neither tilt nor ordinate changes.
struct FixedCells {
    double *re, *high, *low, *fixed;
    double *rising, *falling, *factor;  // scratch: Im L+, -Im L- and Re L+ at the points
};

// Cells i = 0 ... n - 2 lie between points i and i + 1; the last entries are those at the last point.
void fix_one_sided(const CellArrays& at, int n, const Rotation& turn, double weighted, const StepLine* steps, int count,
                   const FixedCells& to) noexcept;
void fix_two_sided(const CellArrays& at, int n, const Rotation& turn, double weighted, const StepLine* steps, int count,
                   const FixedCells& to) noexcept;
// Of ratios: `above` is 1 + V, `log_factor` its logarithm.
void fix_ratio(const CellArrays& at, int n, const Rotation& turn, double weighted, const StepLine* steps, int count,
               const FixedCells& to) noexcept;

// exponent = fixed + slope re - y im.
void tilt_cells(const double* fixed, const double* re, const double* im, int n, double slope, double y,
                double* exponent) noexcept;

// sum e^{exponent - top} (1 + spacing/width), and the largest exponent: in whole blocks.
double sum_exponentials(const double* exponent, const double* per_width, int n, double spacing, double top) noexcept;
double largest_of(const double* exponent, int n) noexcept;

// e^L+/(e^L+ - 1 + q) and the same of e^L-.
void find_posteriors(const double* x, std::size_t n, double log_odds, double c, double* above, double* below) noexcept;

// The logarithm of the largest normal density of a cell times its width, and 1/width.
void weigh_cells(const double* x, std::size_t n, double* log_cell, double* per_width) noexcept;

}  // namespace renyi::cells
