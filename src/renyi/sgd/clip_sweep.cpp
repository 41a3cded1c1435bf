#include "renyi/sgd/clip_sweep.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace renyi {

ClipSweep::ClipSweep(const ClipTask& task, const ClipPlan& plan)
    : task_(task),
      plan_(plan),
      own_squares_(plan.block_rows != 0 ? squares_needed(plan) : 0),
      factors_(plan.group_rows * std::max<std::size_t>(task.bounds.size(), 1)),
      norms_(task.bounds.size()) {
    const bool gathers =
        std::any_of(task.arrays.begin(), task.arrays.end(), [](const RowArray& a) { return !a.contiguous; });
    if (!gathers) return;
    now_scratch_.resize(kGatheredRows * kGatherPitch);
    before_scratch_.resize(kGatheredRows * kGatherPitch);
}

void ClipSweep::run(Range rows, void* const* sums) noexcept {
    run(rows, {0, plan_.tiles.size()}, sums, {&own_squares_, nullptr, true});
}

void ClipSweep::run(Range rows, Range tiles, void* const* sums, const Share& share) noexcept {
    const bool adds = !task_.sums.empty();
    Range before{rows.first, rows.first};
    bool forth = true;
    for (Range now = before; now.first < rows.end; now.first = now.end, forth = !forth) {
        now.end = std::min(now.first + plan_.group_rows, rows.end);
        if (task_.weights != nullptr) {
            for (std::size_t r = now.first; r < now.end; ++r)
                factors_[r - now.first] = plain_factor(task_.weights[r], task_.wide_sum);
            sweep({now.end, now.end}, now, tiles, forth, rows.end, sums);
            continue;
        }
        squares_ = share.squares->data() + (forth ? 0 : plan_.group_rows * plan_.tiles.size());
        sweep(now, before, tiles, forth, now.end < rows.end ? now.end : now.first, sums);
        if (share.meeting != nullptr) share.meeting->arrive_and_wait();
        find_factors(now, share.reports);
        if (adds) before = now;
    }
    if (adds && task_.weights == nullptr) sweep({rows.end, rows.end}, before, tiles, forth, rows.end, sums);
}

// Tiles in one direction. What comes next in memory's order of use is fetched: a tile of the next row, the next tile
// of the first row, the same tile of the next group.
void ClipSweep::sweep(Range now, Range before, Range tiles, bool forth, std::size_t next_row,
                      void* const* sums) noexcept {
    const std::size_t count = tiles.end - tiles.first;
    for (std::size_t i = 0; i < count; ++i) {
        const auto at = [&](std::size_t k) -> const Tile& {
            return plan_.tiles[forth ? tiles.first + k : tiles.end - 1 - k];
        };
        const Tile& next = at(i + 1 < count ? i + 1 : i);
        const RowArray& array = task_.arrays[next.array];
        const std::size_t row = i + 1 < count ? now.first : next_row;
        const bool reads = now.first < now.end && array.contiguous && row < task_.rows;
        const bool adds = before.first < before.end && array.contiguous;
        work_on(at(i), now, before, reads ? array.at(row, next.first) : nullptr,
                adds ? array.at(before.first, next.first) : nullptr, sums);
    }
}

void ClipSweep::work_on(const Tile& tile, Range now, Range before, const void* after, const void* before_after,
                        void* const* sums) noexcept {
    const RowArray& array = task_.arrays[tile.array];
    const RowKernels& kernels = *plan_.kernels[tile.array];
    const std::size_t reading = now.end - now.first, adding = before.end - before.first;
    const char *now_rows, *before_rows;
    std::ptrdiff_t pitch = static_cast<std::ptrdiff_t>(kGatherPitch);
    if (array.contiguous) {
        pitch = array.row_stride;
        now_rows = reading != 0 ? array.at(now.first, tile.first) : nullptr;
        before_rows = adding != 0 ? array.at(before.first, tile.first) : nullptr;
    } else {
        gather(array, now.first, reading, tile.first, tile.count, now_scratch_.data());
        gather(array, before.first, adding, tile.first, tile.count, before_scratch_.data());
        now_rows = now_scratch_.data();
        before_rows = before_scratch_.data();
    }
    const std::size_t norms = std::max<std::size_t>(task_.bounds.size(), 1);
    const std::size_t norm = task_.groups.empty() ? 0 : task_.groups[tile.array];
    const auto index = static_cast<std::size_t>(&tile - plan_.tiles.data());
    char* sum = adding != 0 ? static_cast<char*>(sums[tile.array]) + tile.first * size_of_sum(task_) : nullptr;
    // A long sum is cleared tile by tile, just before it is used.
    if (adding != 0 && before.first == 0 && plan_.block_rows == 0 && !task_.adds_to_sums)
        std::memset(sum, 0, tile.count * size_of_sum(task_));
    for (std::size_t r = 0; r < std::max(reading, adding); ++r) {
        const auto offset = static_cast<std::ptrdiff_t>(r) * pitch;
        const RowFactor factor = r < adding ? factors_[r * norms + norm] : RowFactor{};
        const bool adds = factor.factor != 0.0;
        const void* ahead_row = r + 1 < adding ? before_rows + offset + pitch : before_after;
        if (r >= reading) {
            if (adds) add(kernels, sum, before_rows + offset, factor, tile.count, ahead_row);
            continue;
        }
        const char* row = now_rows + offset;
        const void* ahead = r + 1 < reading ? row + pitch : after;
        double& squares = squares_[r * plan_.tiles.size() + index];
        if (adds && factor.narrow) {
            squares = kernels.add_and_sum_squares(sum, before_rows + offset, factor.factor, row, tile.count, ahead);
        } else {
            squares = kernels.sum_squares(row, tile.count, ahead);
            if (adds) add(kernels, sum, before_rows + offset, factor, tile.count, ahead_row);
        }
    }
}

void ClipSweep::add(const RowKernels& kernels, void* sum, const char* row, const RowFactor& factor, std::size_t n,
                    const void* ahead) noexcept {
    if (factor.narrow) {
        kernels.add(sum, row, factor.factor, n, ahead);
    } else {
        kernels.add_scaled(sum, row, factor.factor, factor.scale, n);
    }
}

void ClipSweep::find_factors(Range rows, bool reports) noexcept {
    constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
    const std::size_t norms = task_.bounds.size();
    for (std::size_t row = rows.first; row < rows.end; ++row) {
        const std::size_t index = row - rows.first;
        bool finite = true;
        for (std::size_t norm = 0; norm < norms; ++norm) {
            norms_[norm] = norm_of(row, index, norm);
            finite = finite && norms_[norm].squares < std::numeric_limits<double>::infinity();
        }
        for (std::size_t norm = 0; norm < norms; ++norm) {
            RowFactor& factor = factors_[index * norms + norm];
            factor = finite ? clip_factor(plan_.bounds[norm], norms_[norm]) : RowFactor{};
            if (!reports) continue;
            if (task_.norms != nullptr) task_.norms[row * norms + norm] = finite ? norms_[norm].value() : kNaN;
            if (task_.factors != nullptr) task_.factors[row * norms + norm] = factor.value();
        }
    }
}

// Tiles are added in their order, whichever way the sweep went. Not finite: squares are not.
RowNorm ClipSweep::norm_of(std::size_t row, std::size_t index, std::size_t norm) noexcept {
    const double* squares = squares_ + index * plan_.tiles.size();
    double sum = 0.0;
    for (const std::size_t t : plan_.tiles_of[norm]) sum += squares[t];
    if (sum >= kLeastSquares && sum <= kLargestSquares) return {sum, 0};
    if (!plan_.has_doubles[norm]) return {sum, 0};
    return scaled_norm(row, norm);
}

// The row once more, its largest element brought into [1, 2).
RowNorm ClipSweep::scaled_norm(std::size_t row, std::size_t norm) noexcept {
    double largest = 0.0;
    for (const std::size_t t : plan_.tiles_of[norm]) {
        const Tile& tile = plan_.tiles[t];
        const double here = plan_.kernels[tile.array]->largest(row_of(tile, row), tile.count);
        if (!std::isfinite(here)) return {std::numeric_limits<double>::infinity(), 0};
        largest = std::max(largest, here);
    }
    if (largest == 0.0) return {};
    const int exponent = std::max(std::ilogb(largest), -1000);
    double sum = 0.0;
    for (const std::size_t t : plan_.tiles_of[norm]) {
        const Tile& tile = plan_.tiles[t];
        sum += plan_.kernels[tile.array]->sum_squares_scaled(row_of(tile, row), tile.count, std::ldexp(1.0, -exponent));
    }
    return {sum, exponent};
}

const char* ClipSweep::row_of(const Tile& tile, std::size_t row) noexcept {
    const RowArray& array = task_.arrays[tile.array];
    if (array.contiguous) return array.at(row, tile.first);
    gather(array, row, 1, tile.first, tile.count, now_scratch_.data());
    return now_scratch_.data();
}

}  // namespace renyi
