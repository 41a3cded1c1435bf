// A pass over records in random order with noise of one scale: the record that differs is at each step with the same
// probability and E_g is jointly convex, so
//     delta <= A (1 + B + ... + B^{n-1})/n = A (1 - B^n)/(n (1 - B))     (Sordello, Bu, Dong 2021).
#pragma once

#include "renyi/iteration/setting.hpp"

namespace renyi {

// >= that, by less than 2^-46 of it for normal numbers; n in [1, 2^53].
double shuffled_delta(const IterationSetting& setting, double scale, double n) noexcept;

}  // namespace renyi
