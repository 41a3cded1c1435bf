// One thread's part of a task: a range of rows and a range of tiles.
#pragma once

#include <barrier>
#include <cstddef>
#include <vector>

#include "renyi/sgd/group_sum.hpp"

namespace renyi {

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
