// How a clipping task is cut, and what each thread does with its part.
#pragma once

#include <barrier>
#include <cstddef>
#include <vector>

#include "renyi/sgd/clipping.hpp"

namespace renyi {

// How a task is cut: tiles, groups of rows, blocks. All of it follows from the shapes.

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

// Adds a group of rows to the sums, each row by its factor.

struct Range {
    std::size_t first, end;
    std::size_t size() const noexcept { return end - first; }
};

class GroupSum {
public:
    GroupSum(const ClipTask& task, const ClipPlan& plan);

    // factors: rows x norms. A sum that all rows go to is cleared before the first of them.
    void add(Range rows, Range tiles, const RowFactor* factors, void* const* sums) noexcept;

private:
    void add_tile(const Tile& tile, Range rows, const RowFactor* factors, void* const* sums) noexcept;
    void add_rows(const Tile& tile, std::size_t count, TileRows given, const RowFactor* factor, char* sum) noexcept;

    const ClipTask& task_;
    const ClipPlan& plan_;
    std::size_t norms_;
    RowReader reader_;
};

// One thread's part of a task: a range of rows and a range of tiles.

class ClipSweep {
public:
    ClipSweep(const ClipTask& task, const ClipPlan& plan);

    // Where several threads share the rows: `squares` is theirs together, and they meet after every group.
    struct Share {
        std::vector<double>* squares = nullptr;
        std::barrier<>* meeting = nullptr;
        bool reports = true;  // norms and factors, which all of them compute
    };

    static std::size_t squares_needed(const ClipPlan& plan) { return 2 * plan.group_rows * plan.tiles.size(); }

    void run(Range rows, Range tiles, void* const* sums, const Share& share) noexcept;
    void run(Range rows, void* const* sums) noexcept;  // by itself, all tiles

private:
    void read(Range rows, Range tiles) noexcept;
    void read_tile(Range rows, std::size_t index, double* squares) noexcept;
    void find_factors(Range rows, bool reports) noexcept;
    RowNorm norm_of(std::size_t row, std::size_t index, std::size_t norm) noexcept;
    RowNorm scaled_norm(std::size_t row, std::size_t norm) noexcept;
    const char* row_of(const Tile& tile, std::size_t row) noexcept;

    const ClipTask& task_;
    const ClipPlan& plan_;
    GroupSum sum_;
    std::vector<double> own_squares_;
    double* squares_ = nullptr;       // of the present group: rows x tiles
    std::vector<RowFactor> factors_;  // of the group that was read last: rows x norms
    std::vector<RowNorm> norms_;      // of one row
    RowReader reader_;
};

}  // namespace renyi
