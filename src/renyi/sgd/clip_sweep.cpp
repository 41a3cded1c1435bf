#include "renyi/sgd/clip_sweep.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace renyi {

ClipSweep::ClipSweep(const ClipTask& task, const ClipPlan& plan)
    : task_(task),
      plan_(plan),
      sum_(task, plan),
      own_squares_(plan.block_rows != 0 ? squares_needed(plan) : 0),
      factors_(plan.group_rows * std::max<std::size_t>(task.bounds.size(), 1)),
      norms_(task.bounds.size()),
      reader_(plan.gathers) {}

void ClipSweep::run(Range rows, void* const* sums) noexcept {
    run(rows, {0, plan_.tiles.size()}, sums, {&own_squares_, nullptr, true});
}

void ClipSweep::run(Range rows, Range tiles, void* const* sums, const Share& share) noexcept {
    bool odd = false;
    for (Range now{rows.first, rows.first}; now.first < rows.end; now.first = now.end, odd = !odd) {
        now.end = std::min(now.first + plan_.group_rows, rows.end);
        if (task_.weights != nullptr) {
            for (std::size_t r = now.first; r < now.end; ++r)
                factors_[r - now.first] = plain_factor(task_.weights[r], task_.wide_sum);
        } else {
            // Others may still be looking at the squares of the group before.
            squares_ = share.squares->data() + (odd ? plan_.group_rows * plan_.tiles.size() : 0);
            read(now, tiles);
            if (share.meeting != nullptr) share.meeting->arrive_and_wait();
            find_factors(now, share.reports);
        }
        if (!task_.sums.empty()) sum_.add(now, tiles, factors_.data(), sums);
    }
}

// Row after row, as memory lies; where rows are close, all of them a tile at a time.
void ClipSweep::read(Range rows, Range tiles) noexcept {
    const std::size_t some = plan_.gathers_close ? rows.size() : 1;
    for (Range now{rows.first, rows.first}; now.first < rows.end; now.first = now.end) {
        now.end = now.first + some;
        for (std::size_t t = tiles.first; t < tiles.end; ++t)
            read_tile(now, t, squares_ + (now.first - rows.first) * plan_.tiles.size() + t);
    }
}

void ClipSweep::read_tile(Range rows, std::size_t index, double* squares) noexcept {
    const Tile& tile = plan_.tiles[index];
    auto [row, pitch] = reader_.read(task_.arrays[tile.array], rows.first, rows.size(), tile.first, tile.count);
    for (std::size_t r = 0; r < rows.size(); ++r, row += pitch, squares += plan_.tiles.size())
        *squares = plan_.kernels[tile.array]->sum_squares(row, tile.count);
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
    return reader_.read(task_.arrays[tile.array], row, 1, tile.first, tile.count).first;
}

}  // namespace renyi
