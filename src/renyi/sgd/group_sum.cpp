#include "renyi/sgd/group_sum.hpp"

#include <algorithm>
#include <cstring>

namespace renyi {

namespace {

constexpr std::size_t kRunTiles = 64;  // tiles of a sum that stay in a cache while rows are added

}  // namespace

GroupSum::GroupSum(const ClipTask& task, const ClipPlan& plan)
    : task_(task), plan_(plan), norms_(std::max<std::size_t>(task.bounds.size(), 1)), reader_(plan.gathers) {}

// Some rows at once along a run of tiles, then the next rows: memory is read in long runs, few of them at a time, and
// the run of the sum stays in a cache meanwhile.
void GroupSum::add(Range rows, Range tiles, const RowFactor* factors, void* const* sums) noexcept {
    for (Range run{tiles.first, tiles.first}; run.first < tiles.end; run.first = run.end) {
        run.end = std::min(run.first + kRunTiles, tiles.end);
        for (Range now{rows.first, rows.first}; now.first < rows.end; now.first = now.end) {
            now.end = std::min(now.first + plan_.rows_at_once, rows.end);
            for (std::size_t t = run.first; t < run.end; ++t)
                add_tile(plan_.tiles[t], now, factors + (now.first - rows.first) * norms_, sums);
        }
    }
}

void GroupSum::add_tile(const Tile& tile, Range rows, const RowFactor* factors, void* const* sums) noexcept {
    const RowArray& array = task_.arrays[tile.array];
    const std::size_t item = size_of_sum(task_);
    char* const sum = static_cast<char*>(sums[tile.array]) + tile.first * item;
    if (rows.first == 0 && plan_.block_rows == 0 && !task_.adds_to_sums) std::memset(sum, 0, tile.count * item);
    if (!task_.groups.empty()) factors += task_.groups[tile.array];
    add_rows(tile, rows.size(), reader_.read(array, rows.first, rows.size(), tile.first, tile.count), factors, sum);
}

// Rows that go by one factor each, at once; those of factor 0 are not read: they need not be finite.
void GroupSum::add_rows(const Tile& tile, std::size_t count, TileRows given, const RowFactor* factor,
                        char* sum) noexcept {
    const RowKernels& kernels = *plan_.kernels[tile.array];
    const double shift = plan_.shifts[tile.array];
    const void* rows[kRowsAtOnce];
    double factors[kRowsAtOnce];
    std::size_t waiting = 0;
    const auto add_waiting = [&] {
        kernels.add(sum, rows, factors, waiting, shift, tile.count);
        waiting = 0;
    };
    const char* row = given.first;
    for (std::size_t r = 0; r < count; ++r, row += given.pitch, factor += norms_) {
        if (factor->factor == 0.0) continue;
        if (!factor->narrow) {
            add_waiting();
            kernels.add_scaled(sum, row, factor->factor, factor->scale, shift, tile.count);
            continue;
        }
        rows[waiting] = row;
        factors[waiting] = factor->factor;
        if (++waiting == kRowsAtOnce) add_waiting();
    }
    add_waiting();
}

}  // namespace renyi
