// Samplers of the records of a batch: independently, a fixed number, or in shuffled order.
//
// poisson_sample    every record with probability q, independently. The gaps between members are geometric,
//                   floor(E / c) with E exponential and c = -log(1 - q), so the cost is that of the batch. Exact up to
//                   a total variation distance of population * 2^-67 for the whole batch: E comes from 127 random bits
//                   and the quotient, where rounding to double could change its integer part, is taken in
//                   double-double, with an error of at most 2^-70 (E/c) + 2^-78/c. The boundaries c, 2c, ... then have
//                   an error of w(e) = 2^-70 e + 2^-78 at e, and a gap is wrong with probability at most (2/c) int w(e)
//                   e^-e de < 2^-68.9 / q (or sum over the population's boundaries only, < population 2^-68.9, if that
//                   is less); a batch has q population + 1 gaps on average.
// choose            an exactly uniform subset of given size, increasing (Floyd, in Bentley 1987)
// choose_repeated   exact independent uniform draws, into any type of integer that holds them
// order_by_group    the records of each group, increasing, by a counting sort
// shuffle           an exactly uniform permutation (Fisher and Yates)
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include "renyi/sgd/generator.hpp"

namespace renyi {

constexpr std::int64_t kLargestPopulation = std::int64_t{1} << 53;

std::vector<std::int64_t> poisson_sample(WordSource& words, std::int64_t population, double rate);
std::vector<std::int64_t> choose(WordSource& words, std::int64_t population, std::int64_t size);

template <typename Integer>
void choose_repeated(WordSource& words, std::int64_t population, Integer* out, std::size_t size) noexcept {
    for (std::size_t i = 0; i < size; ++i)
        out[i] = static_cast<Integer>(words.below(static_cast<std::uint64_t>(population)));
}

// Sorts records 0, 1, ... with groups below `count`: those of group g are order[starts[g]] to order[starts[g + 1] - 1].
template <typename Group, typename Record>
void order_by_group(const Group* groups, std::size_t records, std::size_t count, std::int64_t* starts, Record* order) {
    std::fill(starts, starts + count + 1, 0);
    for (std::size_t i = 0; i < records; ++i) ++starts[groups[i] + 1];
    std::partial_sum(starts, starts + count + 1, starts);
    std::vector<std::int64_t> next(starts, starts + count);
    for (std::size_t i = 0; i < records; ++i) order[next[groups[i]]++] = static_cast<Record>(i);
}

void shuffle(WordSource& words, std::int64_t* order, std::size_t size) noexcept;

}  // namespace renyi
