// Threads that work on one thing together and are gone when it is done: no pool that a fork could break.
#pragma once

#include <cstddef>
#include <latch>
#include <thread>
#include <vector>

namespace renyi {

// Calls prepare(size) once and then body(rank, size) on each of `size` threads, rank 0 being the caller's. size is
// `wanted`, or less where the system gives no more threads. Neither may throw.
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
    } catch (...) {  // fewer, then
    }
    size = others.size() + 1;
    prepare(size);
    ready.count_down();
    body(std::size_t{0}, size);
    for (std::thread& thread : others) thread.join();
}

}  // namespace renyi
