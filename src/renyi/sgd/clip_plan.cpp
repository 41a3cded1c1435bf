#include "renyi/sgd/clip_plan.hpp"

#include <algorithm>
#include <cmath>

namespace renyi {

namespace {

constexpr std::size_t kMebi = 1024 * 1024;
constexpr std::size_t kTinyRow = kMebi / 16;    // eight of them leave room in a second-level cache
constexpr std::size_t kShortRow = kMebi / 2;    // worth a block of many
constexpr std::size_t kLongRow = 8 * kMebi;     // four of them fill a third-level cache
constexpr std::size_t kShareBytes = kMebi / 2;  // less is not worth a thread

constexpr std::size_t kLargestBlock = 256, kBlocks = 16;

std::size_t up_to_multiple(std::size_t value, std::size_t unit) { return (value + unit - 1) / unit * unit; }

}  // namespace

ClipPlan::ClipPlan(const ClipTask& task) : tiles_of(task.bounds.size()), has_doubles(task.bounds.size()) {
    std::size_t row_bytes = 0;
    std::vector<double> elements(task.bounds.size());
    for (std::size_t a = 0; a < task.arrays.size(); ++a) {
        const RowArray& array = task.arrays[a];
        for (std::size_t first = 0; first < array.size; first += kTile) {
            if (!task.groups.empty()) tiles_of[task.groups[a]].push_back(tiles.size());
            tiles.push_back({a, first, std::min(kTile, array.size - first)});
        }
        kernels.push_back(&row_kernels(array.element, task.wide_sum));
        row_bytes += array.bytes_of_row();
        sum_bytes += array.size * size_of_sum(task);
        gathers = gathers || !array.contiguous;
        gathers_close = gathers_close || (!array.contiguous && array.rows_are_close);
        shifts.push_back(task.weights != nullptr ? 0x1.8p52 * task.spacing : 0.0);
        if (task.groups.empty()) continue;
        const std::size_t norm = task.groups[a];
        if (sums_exactly(task.rule, task.wide_sum)) shifts.back() = 0x1.8p52 * sum_spacing(task.bounds[norm]);
        has_doubles[norm] = has_doubles[norm] || array.element == Element::twice;
        elements[norm] += static_cast<double>(array.size);
    }
    for (std::size_t norm = 0; norm < task.bounds.size(); ++norm) {
        const double roundings = kTileRoundings + static_cast<double>(tiles_of[norm].size());
        bounds.push_back({task.rule, task.bounds[norm], task.stability, std::sqrt(elements[norm]), roundings,
                          task.wide_sum, has_doubles[norm]});
    }
    size_groups(row_bytes);
    if (row_bytes <= kShortRow)
        block_rows = up_to_multiple(std::clamp(task.rows / kBlocks, kGatheredRows, kLargestBlock), kGatheredRows);
    const std::size_t shares = block_rows != 0 ? blocks(task.rows) : tiles.size();
    const std::size_t worth = row_bytes * task.rows / kShareBytes + 1;
    threads = std::max<std::size_t>(1, std::min({task.threads, shares, worth}));
}

// A row is not added before its norm is known. Reading and adding by turns, a few rows each, is faster than doing both
// at once, where what is found in the cache keeps processors from fetching ahead what is not.
void ClipPlan::size_groups(std::size_t row_bytes) noexcept {
    rows_at_once = row_bytes <= kTinyRow ? 8 : 4;
    group_rows = row_bytes <= kLongRow ? rows_at_once : 16;
    if (gathers) rows_at_once = 1;  // in long runs
    if (gathers_close) rows_at_once = group_rows = kGatheredRows;
}

}  // namespace renyi
