// The loops over a tile of a row: sums of squares, and rows added to a sum with a factor.
//
// Squares are summed in double: those of half, brain and single precision are exact there and neither overflow nor
// underflow. A sum has kSumLanes lanes, element j in lane j mod kSumLanes, joined pairwise: the bits do not depend on
// the instruction set, nor on where in memory a tile lies.
#pragma once

#include <cstddef>
#include <cstdint>

namespace renyi {

constexpr std::size_t kTile = 1024;  // elements
constexpr std::size_t kSumLanes = 32;
constexpr std::size_t kRowsAtOnce = 8;

// Roundings on the way from an element of a tile to its sum: the square, the lanes, their tree.
constexpr double kTileRoundings = 1.0 + static_cast<double>(kTile / kSumLanes) + 5.0;

struct Half {
    std::uint16_t bits;
};

struct Brain {
    std::uint16_t bits;
};

enum class Element { half, single, twice, brain };  // IEEE binary16, 32, 64; bfloat16, the upper half of a binary32

constexpr std::size_t size_of(Element element) noexcept {
    return element == Element::brain ? 2 : std::size_t{2} << static_cast<int>(element);
}

// Every product is rounded to the precision of `sum` (of doubles first to double), then added. To a sum in double
// precision it is first rounded once more, to a multiple of g, ties to even: shift is 3/2 2^52 g, adding which brings a
// product below 2^51 g in magnitude next to where doubles are the multiples of g. With shift 0 it is not.
struct RowKernels {
    double (*sum_squares)(const void* row, std::size_t n);
    // The sum of ((double)x scale)^2.
    double (*sum_squares_scaled)(const void* row, std::size_t n, double scale);
    // The largest |x|; infinite or NaN where an element is.
    double (*largest)(const void* row, std::size_t n);
    // sum += factors[r] rows[r], r from 0 to count - 1 < kRowsAtOnce: each element of the sum is read and written once.
    // The factors must be numbers of the sum's precision.
    void (*add)(void* sum, const void* const* rows, const double* factors, std::size_t count, double shift,
                std::size_t n);
    // sum += factor (scale row), products in double.
    void (*add_scaled)(void* sum, const void* row, double factor, double scale, double shift, std::size_t n);
};

// For rows of `element` and a sum in single (`wide_sum` false) or double precision.
const RowKernels& row_kernels(Element element, bool wide_sum) noexcept;

// total += part, n elements.
void add_sums(float* total, const float* part, std::size_t n) noexcept;
void add_sums(double* total, const double* part, std::size_t n) noexcept;

}  // namespace renyi
