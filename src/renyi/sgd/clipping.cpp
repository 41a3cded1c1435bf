#include "renyi/sgd/clipping.hpp"

#include <atomic>
#include <barrier>
#include <cstring>
#include <memory>
#include <optional>

#include "renyi/sgd/clip_plan.hpp"
#include "renyi/sgd/clip_sweep.hpp"
#include "renyi/sgd/ieee_mode.hpp"
#include "renyi/sgd/team.hpp"

namespace renyi {

namespace {

// Sums of one block, all arrays in one piece of memory.
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
    std::unique_ptr<char[]> memory_;  // aligned for any number
    std::vector<void*> sums_;
};

void clear(const ClipTask& task) noexcept {
    for (std::size_t a = 0; a < task.sums.size(); ++a)
        if (task.arrays[a].size != 0) std::memset(task.sums[a], 0, task.arrays[a].size * size_of_sum(task));
}

// The first block goes to the sums themselves where they are replaced: 0 + x is x.
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
    const IeeeMode mode;  // of this thread; others have their own
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
