// Rows of an array of any strides as tiles of contiguous memory.
#pragma once

#include <cstddef>
#include <vector>

#include "renyi/sgd/row_kernels.hpp"

namespace renyi {

// The rows of one array: (rows, inner...), inner indices in C order. Strides are in bytes and of any sign.
struct RowArray {
    const char* data = nullptr;
    Element element = Element::single;
    std::ptrdiff_t row_stride = 0;
    std::vector<std::size_t> shape;  // inner axes, none of length 1, adjacent ones joined where they can be
    std::vector<std::ptrdiff_t> strides;
    std::size_t size = 1;  // elements of a row
    bool contiguous = true;
    bool rows_are_close = false;  // closer than elements, as in Fortran order

    RowArray() = default;
    // aligned: every element may be read in place.
    RowArray(const void* data, Element element, std::ptrdiff_t row_stride, const std::vector<std::size_t>& shape,
             const std::vector<std::ptrdiff_t>& strides, bool aligned);

    const char* at(std::size_t row, std::size_t first) const noexcept {
        return data + static_cast<std::ptrdiff_t>(row) * row_stride +
               static_cast<std::ptrdiff_t>(first * size_of(element));
    }
    std::size_t bytes_of_row() const noexcept { return size * size_of(element); }
};

// How many rows that are close are gathered together, so that a line of memory across them is read once.
constexpr std::size_t kGatheredRows = 64;
// Between gathered rows: not a multiple of the page, which would put all of them into the same set of the cache.
constexpr std::size_t kGatherPitch = kTile * sizeof(double) + 128;

// Rows of a tile, `pitch` bytes apart.
struct TileRows {
    const char* first;
    std::ptrdiff_t pitch;
};

// Tiles where they are, or gathered in memory of its own, until the next.
class RowReader {
public:
    explicit RowReader(bool gathers) : scratch_(gathers ? kGatheredRows * kGatherPitch : 0) {}

    // Elements [first, first + n), n <= kTile, of `rows` <= kGatheredRows rows.
    TileRows read(const RowArray& array, std::size_t row, std::size_t rows, std::size_t first, std::size_t n) noexcept;

private:
    std::vector<char> scratch_;
};

}  // namespace renyi
