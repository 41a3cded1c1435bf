// A pass over records in a fixed order, each step with noise of its own scale: delta_i = A_i B_{i+1} ... B_n for the
// record of step i.
//
// As sums of -log B_t, of one sign, added with the rounding errors kept from 16 to 16: a sum S is right to 20u S, and
// so delta, from above, to (24 S + 20) u of itself beyond the errors of the terms. Constant memory but for the results.
#pragma once

#include <cstdint>

#include "renyi/iteration/noise_schedule.hpp"
#include "renyi/iteration/step_terms.hpp"

namespace renyi {

struct WorstStep {
    double delta;
    std::int64_t index;  // of the step, from 1; the last of those with the same delta
};

// delta_1 ... delta_n into out.
void online_deltas(const IterationSetting& setting, const NoiseSchedule& schedule, std::int64_t n, double* out);

// The largest of them. Stops once no earlier one can exceed it, as delta_i <= A B_{i+1} ... B_n, A the largest of all
// A_i: that of step n for a schedule, whose scales do not rise.
WorstStep online_worst(const IterationSetting& setting, const NoiseSchedule& schedule, std::int64_t n);

// delta_i after each of count increasing numbers of steps n[k] >= i.
void online_delta(const IterationSetting& setting, const NoiseSchedule& schedule, std::int64_t i, const std::int64_t* n,
                  std::int64_t count, double* out);

// >= delta_i for every n: its limit, for a schedule. -log B_t falls in t and is convex from some t on, so beyond the
// first steps the sum over p < t <= q is at least q - p times its last or its middle term; q - p grows with p.
double online_limit(const IterationSetting& setting, const NoiseSchedule& schedule, std::int64_t i);

// A pass over records in random order with noise of one scale: the record that differs is at each step with the same
// probability and E_g is jointly convex, so
//     delta <= A (1 + B + ... + B^{n-1})/n = A (1 - B^n)/(n (1 - B))     (Sordello, Bu, Dong 2021).

// >= that, by less than 2^-46 of it for normal numbers; n in [1, 2^53].
double shuffled_delta(const IterationSetting& setting, double scale, double n) noexcept;

}  // namespace renyi
