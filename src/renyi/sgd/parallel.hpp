// Contiguous shares of a range on several threads.
#pragma once

#include <algorithm>
#include <cstddef>

#include "renyi/sgd/chacha20.hpp"
#include "renyi/sgd/team.hpp"

namespace renyi {

// body(begin, end) for disjoint parts of [0, count), at most `threads` of them. Stacks of threads, which the C library
// keeps, are wiped; that of the caller is its own affair.
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
