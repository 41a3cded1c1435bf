// Teams of threads, and their floating-point environment.
#pragma once

#include <algorithm>
#include <cfenv>
#include <cstddef>
#include <latch>
#include <thread>
#include <vector>

#include "renyi/sgd/generator.hpp"

namespace renyi {

// Calls prepare(size) once and then body(rank, size) on each of `size` threads, of which the caller is rank 0. size is
// `wanted`, or less where the system has no more threads. Neither function may throw. A team ends with its task: there
// is no pool that a fork could break.
template <class Prepare, class Body>
void run_team(std::size_t wanted, const Prepare& prepare, const Body& body) {
    if (wanted <= 1) {
        prepare(std::size_t{1});
        body(std::size_t{0}, std::size_t{1});
        return;
    }
    std::size_t size = 1;
    std::latch ready(1);
    std::vector<std::thread> others;
    others.reserve(wanted - 1);
    try {
        while (others.size() + 1 < wanted) {
            others.emplace_back([&, rank = others.size() + 1] {
                ready.wait();
                body(rank, size);
            });
        }
    } catch (...) {  // no more threads: the team is smaller
    }
    size = others.size() + 1;
    prepare(size);
    ready.count_down();
    body(std::size_t{0}, size);
    for (std::thread& thread : others) thread.join();
}

// Sets IEEE-754 arithmetic within a scope, for any setting of the process.
//
// The proofs in clipping.hpp assume rounding to nearest and gradual underflow. The previous mode, from a library built
// with -ffast-math or from a caller, is saved and restored. Exception flags raised within the scope are dropped: NumPy
// would report them as warnings of the next operation.

class IeeeMode {
public:
    IeeeMode() noexcept {
        std::fegetenv(&saved_);
        std::fesetenv(FE_DFL_ENV);
    }
    ~IeeeMode() { std::fesetenv(&saved_); }
    IeeeMode(const IeeeMode&) = delete;
    IeeeMode& operator=(const IeeeMode&) = delete;

private:
    std::fenv_t saved_;
};

// Calls body(begin, end) on several threads for disjoint contiguous parts of [0, count), at most `threads` parts. The
// stacks of threads, which the C library reuses, are wiped; the caller wipes its own.
template <class Body>
void parallel_for(std::size_t count, int threads, const Body& body) noexcept {
    if (count == 0) return;
    run_team(
        std::min(static_cast<std::size_t>(std::max(threads, 1)), count), [](std::size_t) {},
        [&](std::size_t rank, std::size_t size) {
            const auto bound = [=](std::size_t part) { return count / size * part + std::min(part, count % size); };
            body(bound(rank), bound(rank + 1));
            if (rank != 0) wipe_stack<kDrawStack>();
        });
}

}  // namespace renyi
