// Teams of threads, and the floating-point environment that they compute in.
#pragma once

#include <algorithm>
#include <cfenv>
#include <cstddef>
#include <latch>
#include <thread>
#include <vector>

#include "renyi/sgd/generator.hpp"

namespace renyi {

// A team ends with its task: there is no pool that a fork could break. Calls prepare(size) once and then body(rank,
// size) on each of `size` threads, rank 0 being the caller's. size is `wanted`, or less where the system gives no more
// threads. Neither may throw.
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

// IEEE-754 arithmetic within a scope, whatever the process has set.
//
// Rounding to nearest and gradual underflow are what the proofs in clipping.hpp assume; a library built with
// -ffast-math, or a caller's rounding mode, is saved and restored. Exception flags raised meanwhile are dropped:
// NumPy would report them as warnings of whatever runs next.

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

// Contiguous shares of a range on several threads.

// body(begin, end) for disjoint parts of [0, count), at most `threads` of them. Stacks of threads, which the C library
// reuses, are wiped; the caller wipes its own.
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
