// How a task is cut: tiles, groups of rows, blocks. All of it follows from the shapes.
#pragma once

#include <cstddef>
#include <vector>

#include "renyi/sgd/clipping.hpp"

namespace renyi {

struct Tile {
    std::size_t array, first, count;
};

struct ClipPlan {
    std::vector<Tile> tiles;
    // Of each array:
    std::vector<const RowKernels*> kernels;
    std::vector<double> shifts;  // that round products (row_kernels.hpp)
    // Of each norm:
    std::vector<std::vector<std::size_t>> tiles_of;
    std::vector<ClipBound> bounds;
    std::vector<bool> has_doubles;

    bool gathers = false;          // some array is not contiguous,
    bool gathers_close = false;    // and its rows are close
    std::size_t group_rows = 1;    // rows that are read, then added: the second time from a cache where they fit
    std::size_t rows_at_once = 1;  // of a group, when they are added
    std::size_t block_rows = 0;    // rows that are summed by themselves; 0: all rows, threads share the tiles
    std::size_t sum_bytes = 0;     // of all sums together
    std::size_t threads = 1;

    explicit ClipPlan(const ClipTask& task);

    std::size_t blocks(std::size_t rows) const noexcept { return (rows + block_rows - 1) / block_rows; }

private:
    void size_groups(std::size_t row_bytes) noexcept;
};

// Bytes of an element.
inline std::size_t size_of_sum(const ClipTask& task) noexcept { return task.wide_sum ? sizeof(double) : sizeof(float); }

}  // namespace renyi
