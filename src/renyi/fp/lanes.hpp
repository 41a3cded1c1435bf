// Blocks of independent sums, which compilers vectorise at any width with the same bits.
#pragma once

#include "renyi/fp/multiversion.hpp"

namespace renyi {

constexpr int kLanes = 16;

// The sum of kLanes numbers in a fixed pairwise order.
RENYI_INLINE double total(const double* a) noexcept {
    double t[8];
    for (int i = 0; i < 8; ++i) t[i] = a[i] + a[i + 8];
    for (int i = 0; i < 4; ++i) t[i] += t[i + 4];
    return (t[0] + t[2]) + (t[1] + t[3]);
}

}  // namespace renyi
