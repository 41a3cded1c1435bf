#include "renyi/sgd/clipping.hpp"

#include <algorithm>
#include <atomic>
#include <barrier>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <memory>
#include <optional>
#include <vector>

#include "renyi/fp/certified.hpp"
#include "renyi/sgd/threads.hpp"

namespace renyi {

namespace {

bool is_single(double factor) {
    return factor == 0.0 || (std::fabs(factor) >= 0x1p-126 && std::fabs(factor) < 0x1p127);
}

RowFactor rounded_down(double factor, double scale, bool wide_sum) {
    if (scale != 1.0 || (!wide_sum && !is_single(factor))) return {factor, scale, false};
    if (wide_sum) return {factor, scale, true};
    float single = static_cast<float>(factor);
    if (static_cast<double>(single) > factor) single = std::nextafter(single, 0.0f);
    return {static_cast<double>(single), scale, true};
}

// The denominator of a factor, with gamma in the units of the scaled row. Tiny rows (exponent < 0) are not scaled if
// gamma is much larger.
struct Denominator {
    double value;
    int exponent;
};

Denominator denominator(const ClipBound& clip, double top, int exponent) {
    if (clip.rule == ClipRule::flat) return {top, exponent};
    if (exponent < 0 && clip.stability >= 0x1p-400) return {std::ldexp(top, exponent) + clip.stability, 0};
    return {top + (exponent == 0 ? clip.stability : std::ldexp(clip.stability, -exponent)), exponent};
}

}  // namespace

double RowNorm::value() const noexcept {
    const double root = std::sqrt(squares);
    return exponent == 0 ? root : std::ldexp(root, exponent);
}

double sum_spacing(double bound) noexcept { return std::ldexp(1.0, std::ilogb(bound) - 28); }

RowFactor plain_factor(double weight, bool wide_sum) noexcept {
    if (wide_sum) return {weight, 1.0, true};
    if (!is_single(weight)) return {weight, 1.0, false};
    return {static_cast<double>(static_cast<float>(weight)), 1.0, true};
}

RowFactor clip_factor(const ClipBound& clip, const RowNorm& norm) noexcept {
    constexpr RowFactor kWhole{1.0, 1.0, true};
    if (clip.rule == ClipRule::constant) return plain_factor(clip.bound, clip.wide_sum);
    if (norm.squares == 0.0) return kWhole;
    const double v = clip.wide_sum ? 0x1p-51 : 0x1p-24 + 0x1p-51, growth = 1.0 + v;
    const double h = clip.wide_sum ? 0.5 * sum_spacing(clip.bound) * raised(6) : 0x1p-149;
    const double lost = h * clip.root_elements;
    const double top = std::sqrt(norm.squares) * (1.0 + (0.5 * clip.roundings + 6.0) * kUnitRoundoff);
    const double budget = (clip.bound - lost) * lowered(14);
    if (clip.rule == ClipRule::flat) {
        // Norms of scaled rows are below 2^-448 or above 2^448: clearly below or above C.
        const bool rounds = clip.wide_sum || clip.has_doubles;
        const bool whole = rounds ? top * growth <= budget : top <= clip.bound;
        if (norm.exponent < 0 || (norm.exponent == 0 && whole)) return kWhole;
    }
    const Denominator below = denominator(clip, top, norm.exponent);
    const double factor = budget / (below.value * growth);
    return rounded_down(factor, below.exponent == 0 ? 1.0 : std::ldexp(1.0, -below.exponent), clip.wide_sum);
}

namespace {

// The division of a task into tiles, groups of rows and blocks. It depends on the shapes alone; the sizes affect time
// only.

struct Tile {
    std::size_t array, first, count;
};

// The bytes of an element of the sums.
std::size_t size_of_sum(const ClipTask& task) noexcept { return task.wide_sum ? sizeof(double) : sizeof(float); }

// A range of rows or of tiles.
struct Range {
    std::size_t first, end;
    std::size_t size() const noexcept { return end - first; }
};

// Tuning, in bytes: these affect time, not validity.
constexpr std::size_t kMebi = 1024 * 1024;
constexpr std::size_t kTinyRow = kMebi / 16;    // eight such rows fit in a second-level cache
constexpr std::size_t kShortRow = kMebi / 2;    // rows up to this size are summed in blocks
constexpr std::size_t kLongRow = 8 * kMebi;     // four such rows fill a third-level cache
constexpr std::size_t kShareBytes = kMebi / 2;  // least share of a thread

constexpr std::size_t kLargestBlock = 256, kBlocks = 16;

std::size_t up_to_multiple(std::size_t value, std::size_t unit) { return (value + unit - 1) / unit * unit; }

struct ClipPlan {
    std::vector<Tile> tiles;
    // One of each array:
    std::vector<const RowKernels*> kernels;
    std::vector<double> shifts;  // shifts that round products (rows.hpp)
    // One of each norm:
    std::vector<std::vector<std::size_t>> tiles_of;
    std::vector<ClipBound> bounds;
    std::vector<bool> has_doubles;

    bool gathers = false;          // whether some array is not contiguous,
    bool gathers_close = false;    // and its rows are close
    std::size_t group_rows = 1;    // rows that are read, then added: the second time from a cache where they fit
    std::size_t rows_at_once = 1;  // rows of a group that are added at once
    std::size_t block_rows = 0;    // rows that are summed separately; 0: all rows, and threads share the tiles
    std::size_t sum_bytes = 0;     // bytes of all sums together
    std::size_t threads = 1;

    explicit ClipPlan(const ClipTask& task) : tiles_of(task.bounds.size()), has_doubles(task.bounds.size()) {
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

    std::size_t blocks(std::size_t rows) const noexcept { return (rows + block_rows - 1) / block_rows; }

private:
    // A row is added after its norm is known. Reading a few rows first and then adding them is faster than doing both
    // row by row, where cache hits keep processors from prefetching.
    void size_groups(std::size_t row_bytes) noexcept {
        rows_at_once = row_bytes <= kTinyRow ? 8 : 4;
        group_rows = row_bytes <= kLongRow ? rows_at_once : 16;
        if (gathers) rows_at_once = 1;  // memory is then read in long runs
        if (gathers_close) rows_at_once = group_rows = kGatheredRows;
    }
};

constexpr std::size_t kRunTiles = 64;  // tiles of a sum that stay in a cache while rows are added

class GroupSum {
public:
    GroupSum(const ClipTask& task, const ClipPlan& plan)
        : task_(task), plan_(plan), norms_(std::max<std::size_t>(task.bounds.size(), 1)), reader_(plan.gathers) {}

    // Adds a group of rows to the sums, each row times its factor; factors: rows x norms. A sum to which all rows are
    // added is cleared before the first row. A few rows are added along a run of tiles, then the next rows: memory is
    // read in a few long runs, and the run of the sum stays in a cache.
    void add(Range rows, Range tiles, const RowFactor* factors, void* const* sums) noexcept {
        for (Range run{tiles.first, tiles.first}; run.first < tiles.end; run.first = run.end) {
            run.end = std::min(run.first + kRunTiles, tiles.end);
            for (Range now{rows.first, rows.first}; now.first < rows.end; now.first = now.end) {
                now.end = std::min(now.first + plan_.rows_at_once, rows.end);
                for (std::size_t t = run.first; t < run.end; ++t)
                    add_tile(plan_.tiles[t], now, factors + (now.first - rows.first) * norms_, sums);
            }
        }
    }

private:
    void add_tile(const Tile& tile, Range rows, const RowFactor* factors, void* const* sums) noexcept {
        const RowArray& array = task_.arrays[tile.array];
        const std::size_t item = size_of_sum(task_);
        char* const sum = static_cast<char*>(sums[tile.array]) + tile.first * item;
        if (rows.first == 0 && plan_.block_rows == 0 && !task_.adds_to_sums) std::memset(sum, 0, tile.count * item);
        if (!task_.groups.empty()) factors += task_.groups[tile.array];
        add_rows(tile, rows.size(), reader_.read(array, rows.first, rows.size(), tile.first, tile.count), factors, sum);
    }
    // Adds rows with a factor each, several at once. Rows of factor 0 are not read: they need not be finite.
    void add_rows(const Tile& tile, std::size_t count, TileRows given, const RowFactor* factor, char* sum) noexcept {
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

    const ClipTask& task_;
    const ClipPlan& plan_;
    std::size_t norms_;
    RowReader reader_;
};

// One thread's part of a task: a range of rows and a range of tiles.
class ClipSweep {
public:
    ClipSweep(const ClipTask& task, const ClipPlan& plan)
        : task_(task),
          plan_(plan),
          sum_(task, plan),
          own_squares_(plan.block_rows != 0 ? squares_needed(plan) : 0),
          factors_(plan.group_rows * std::max<std::size_t>(task.bounds.size(), 1)),
          norms_(task.bounds.size()),
          reader_(plan.gathers) {}

    // For several threads that share the rows: `squares` belongs to all of them, and they meet after every group.
    struct Share {
        std::vector<double>* squares = nullptr;
        std::barrier<>* meeting = nullptr;
        bool reports = true;  // whether this thread writes norms and factors, which all threads compute
    };

    static std::size_t squares_needed(const ClipPlan& plan) { return 2 * plan.group_rows * plan.tiles.size(); }

    void run(Range rows, Range tiles, void* const* sums, const Share& share) noexcept {
        bool odd = false;
        for (Range now{rows.first, rows.first}; now.first < rows.end; now.first = now.end, odd = !odd) {
            now.end = std::min(now.first + plan_.group_rows, rows.end);
            if (task_.weights != nullptr) {
                for (std::size_t r = now.first; r < now.end; ++r)
                    factors_[r - now.first] = plain_factor(task_.weights[r], task_.wide_sum);
            } else {
                // Other threads may still read the squares of the previous group.
                squares_ = share.squares->data() + (odd ? plan_.group_rows * plan_.tiles.size() : 0);
                read(now, tiles);
                if (share.meeting != nullptr) share.meeting->arrive_and_wait();
                find_factors(now, share.reports);
            }
            if (!task_.sums.empty()) sum_.add(now, tiles, factors_.data(), sums);
        }
    }
    void run(Range rows, void* const* sums) noexcept {  // a single thread with all tiles
        run(rows, {0, plan_.tiles.size()}, sums, {&own_squares_, nullptr, true});
    }

private:
    // Reads row by row, in the order of memory; where rows are close, it reads a tile of all rows at a time.
    void read(Range rows, Range tiles) noexcept {
        const std::size_t some = plan_.gathers_close ? rows.size() : 1;
        for (Range now{rows.first, rows.first}; now.first < rows.end; now.first = now.end) {
            now.end = now.first + some;
            for (std::size_t t = tiles.first; t < tiles.end; ++t)
                read_tile(now, t, squares_ + (now.first - rows.first) * plan_.tiles.size() + t);
        }
    }
    void read_tile(Range rows, std::size_t index, double* squares) noexcept {
        const Tile& tile = plan_.tiles[index];
        auto [row, pitch] = reader_.read(task_.arrays[tile.array], rows.first, rows.size(), tile.first, tile.count);
        for (std::size_t r = 0; r < rows.size(); ++r, row += pitch, squares += plan_.tiles.size())
            *squares = plan_.kernels[tile.array]->sum_squares(row, tile.count);
    }
    void find_factors(Range rows, bool reports) noexcept {
        const std::size_t norms = task_.bounds.size();
        for (std::size_t row = rows.first; row < rows.end; ++row) {
            const std::size_t index = row - rows.first;
            bool finite = true;
            for (std::size_t norm = 0; norm < norms; ++norm) {
                norms_[norm] = norm_of(row, index, norm);
                finite = finite && norms_[norm].squares < kInfinity;
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
    // The squares of tiles are added in the order of tiles, for any order of reading. The result is infinite or NaN
    // where squares are.
    RowNorm norm_of(std::size_t row, std::size_t index, std::size_t norm) noexcept {
        const double* squares = squares_ + index * plan_.tiles.size();
        double sum = 0.0;
        for (const std::size_t t : plan_.tiles_of[norm]) sum += squares[t];
        if (sum >= kLeastSquares && sum <= kLargestSquares) return {sum, 0};
        if (!plan_.has_doubles[norm]) return {sum, 0};
        return scaled_norm(row, norm);
    }
    // Computes the norm again from the row scaled so that its largest element is in [1, 2).
    RowNorm scaled_norm(std::size_t row, std::size_t norm) noexcept {
        double largest = 0.0;
        for (const std::size_t t : plan_.tiles_of[norm]) {
            const Tile& tile = plan_.tiles[t];
            const double here = plan_.kernels[tile.array]->largest(row_of(tile, row), tile.count);
            if (!std::isfinite(here)) return {kInfinity, 0};
            largest = std::max(largest, here);
        }
        if (largest == 0.0) return {};
        const int exponent = std::max(std::ilogb(largest), -1000);
        double sum = 0.0;
        for (const std::size_t t : plan_.tiles_of[norm]) {
            const Tile& tile = plan_.tiles[t];
            sum += plan_.kernels[tile.array]->sum_squares_scaled(row_of(tile, row), tile.count,
                                                                 std::ldexp(1.0, -exponent));
        }
        return {sum, exponent};
    }
    const char* row_of(const Tile& tile, std::size_t row) noexcept {
        return reader_.read(task_.arrays[tile.array], row, 1, tile.first, tile.count).first;
    }

    const ClipTask& task_;
    const ClipPlan& plan_;
    GroupSum sum_;
    std::vector<double> own_squares_;
    double* squares_ = nullptr;       // squares of the current group: rows x tiles
    std::vector<RowFactor> factors_;  // factors of the group that was read last: rows x norms
    std::vector<RowNorm> norms_;      // norms of one row
    RowReader reader_;
};

// The sums of one block, of all arrays in one piece of memory.
class Partial {
public:
    Partial(const ClipTask& task, const ClipPlan& plan)
        : task_(task), bytes_(plan.sum_bytes), memory_(new char[plan.sum_bytes]) {
        std::size_t offset = 0;
        for (const RowArray& array : task.arrays) {
            sums_.push_back(memory_.get() + offset);
            offset += array.size * size_of_sum(task);
        }
    }

    void* const* cleared() noexcept {
        std::memset(memory_.get(), 0, bytes_);
        return sums_.data();
    }

    void add_to_sums() const noexcept {
        for (std::size_t a = 0; a < sums_.size(); ++a) {
            const std::size_t n = task_.arrays[a].size;
            if (task_.wide_sum) {
                add_sums(static_cast<double*>(task_.sums[a]), static_cast<const double*>(sums_[a]), n);
            } else {
                add_sums(static_cast<float*>(task_.sums[a]), static_cast<const float*>(sums_[a]), n);
            }
        }
    }

private:
    const ClipTask& task_;
    std::size_t bytes_;
    std::unique_ptr<char[]> memory_;  // aligned for every type of number
    std::vector<void*> sums_;
};

void clear(const ClipTask& task) noexcept {
    for (std::size_t a = 0; a < task.sums.size(); ++a)
        if (task.arrays[a].size != 0) std::memset(task.sums[a], 0, task.arrays[a].size * size_of_sum(task));
}

// Sums all blocks. Where the sums are replaced, the first block is added to them directly: 0 + x is x.
void sum_blocks(const ClipTask& task, const ClipPlan& plan, std::vector<ClipSweep>& sweeps) {
    const std::size_t blocks = plan.blocks(task.rows);
    const bool adds = !task.sums.empty();
    std::vector<Partial> partials;
    if (adds && (blocks > 1 || task.adds_to_sums)) {
        partials.reserve(sweeps.size());
        while (partials.size() < sweeps.size()) partials.emplace_back(task, plan);
    }
    if (!task.adds_to_sums) clear(task);
    std::atomic<std::size_t> next{0}, turn{0};
    run_team(
        sweeps.size(), [](std::size_t) {},
        [&](std::size_t rank, std::size_t) {
            const IeeeMode mode;
            for (std::size_t block; (block = next.fetch_add(1)) < blocks;) {
                const bool direct = adds && block == 0 && !task.adds_to_sums;
                void* const* sums = !adds ? nullptr : direct ? task.sums.data() : partials[rank].cleared();
                const std::size_t first = block * plan.block_rows;
                sweeps[rank].run({first, std::min(first + plan.block_rows, task.rows)}, sums);
                if (!adds) continue;
                for (std::size_t now; (now = turn.load()) != block;) turn.wait(now);
                if (!direct) partials[rank].add_to_sums();
                turn.store(block + 1);
                turn.notify_all();
            }
        });
}

void sum_tiles(const ClipTask& task, const ClipPlan& plan, std::vector<ClipSweep>& sweeps) {
    std::vector<double> squares(ClipSweep::squares_needed(plan));
    std::optional<std::barrier<>> meeting;
    run_team(
        sweeps.size(), [&](std::size_t size) { meeting.emplace(static_cast<std::ptrdiff_t>(size)); },
        [&](std::size_t rank, std::size_t size) {
            const IeeeMode mode;
            const std::size_t tiles = plan.tiles.size();
            sweeps[rank].run({0, task.rows}, {tiles * rank / size, tiles * (rank + 1) / size}, task.sums.data(),
                             {&squares, size > 1 ? &*meeting : nullptr, rank == 0});
        });
}

}  // namespace

void clip_and_sum(const ClipTask& task) {
    if (task.rows == 0) {
        if (!task.adds_to_sums) clear(task);
        return;
    }
    const IeeeMode mode;  // for this thread; the others have their own
    const ClipPlan plan(task);
    std::vector<ClipSweep> sweeps;
    sweeps.reserve(plan.threads);
    while (sweeps.size() < plan.threads) sweeps.emplace_back(task, plan);
    if (plan.block_rows != 0) {
        sum_blocks(task, plan, sweeps);
    } else {
        sum_tiles(task, plan, sweeps);
    }
}

}  // namespace renyi
