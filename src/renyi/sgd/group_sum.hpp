// Adds a group of rows to the sums, each row by its factor.
#pragma once

#include <cstddef>

#include "renyi/sgd/clip_plan.hpp"

namespace renyi {

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

}  // namespace renyi
