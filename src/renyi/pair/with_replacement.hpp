// One record replaced in a sample of m draws with replacement from n records.
//
// The record appears K ~ Bin(m, 1/n) times. Given K = k > 0 the samples differ in k records, from each other and from
// one without the record, whose k draws are some of the others. So the argument of SplicedPair holds with g = P[K > 0]
// and, as base, the mixture over K given K > 0 of the pairs of k replaced records (Balle, Barthe, Gaboardi 2018, arXiv
// 1807.01647, Theorem 10). Appearances are grouped, those of a group counted as its largest, the rarest as all draws.
//
// From below the record appears k times with probability P[K >= k], for one k, else never: noise of monotone likelihood
// ratio moved farther is told apart by the same half-lines, no worse.
#pragma once

#include <cstdint>
#include <vector>

#include "renyi/pair/pair.hpp"

namespace renyi {

struct Appearances {
    std::int64_t largest;
    double weight;  // given K > 0, rounded up
};

struct ReplacedDraws {
    std::vector<Appearances> groups;
    double rate;           // P[K > 0], rounded up
    std::int64_t least;    // one number of appearances
    double rate_of_least;  // P[K >= least], rounded down
};

ReplacedDraws replaced_draws(std::int64_t draws, std::int64_t population);  // n >= 2, both at most 2^40

// Pairs of the groups' largest numbers of replaced records, and of the least.
PairPointer drawn_pair(const ReplacedDraws& drawn, const std::vector<PairPointer>& groups, PairPointer least);

}  // namespace renyi
