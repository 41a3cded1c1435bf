// A Poisson sample, cut to a uniform subset of B where it exceeds B records.
//
// Neighbours of one size, n (a record replaced, or by one that contributes nothing). Let T be the other records of the
// batch: their law does not depend on the record, so that T may be shown, a mixture of the pairs given T. Given T the
// record is in the batch with probability p(T), R ~ Bin(n-1, q) the others sampled:
//
//     |T| < B-1    the batch was not cut: p = q
//     |T| = B      full without the record: p = 0
//     |T| = B-1    not sampled and R = B-1, or sampled and kept: surely if R = B-1, with probability B/(R+1) above.
//                  p = (q e + c)/(e + c) >= q,   e = P[R = B-1],   c = q sum_{j >= B} P[R = j] B/(j+1)
//
// with c = (B/n) P[Bin(n, q) > B] since q P[R = j]/(j+1) = P[Bin(n, q) = j+1]/n. The weights of the first and last case
// are P[R <= B-2] and e + c.
//
// Neighbours of n and n-1 records, the record x there or not. Given the sample S of the others:
//
//     |S| < B     the batch is S, or with probability q S and x
//     |S| >= B    without x a uniform B-subset T of S. With x that, or with probability q B/(|S|+1) x and a uniform
//                 (B-1)-subset of S, which is T with a uniform record replaced by x. Showing T but not |S|, x is in
//                 with probability c/P[R >= B]: the replacement of a record, sampled
//
// From above these are the mixtures; they are reached where the records show T in the output. From below, records that
// contribute nothing hide it: the record takes part with probability q P[R < B] + c.
#pragma once

#include "renyi/pair/mixed.hpp"

namespace renyi {

struct TruncatedSampling {
    double rate, limit, population;  // q in (0, 1], B >= 1, n >= 1, at most 2^40
};

// A rate and the weight with which it holds, both rounded up.
struct WeightedRate {
    double weight, rate;
};

struct TruncatedRates {
    WeightedRate below, full;  // |T| < B-1 and |T| = B-1; or |S| < B and |S| >= B, where another record is replaced
    double taken;              // the probability of being in the batch, rounded down
};

// A record replaced, or by one that contributes nothing.
TruncatedRates rates_of_equal_size(const TruncatedSampling& sampling) noexcept;

// A record removed from n; its addition is the reverse.
TruncatedRates rates_of_removal(const TruncatedSampling& sampling) noexcept;

// Pairs of the two cases, each of its rate, and one of the probability of being in the batch.
PairPointer truncated_pair(const TruncatedRates& rates, PairPointer below, PairPointer full, PairPointer taken);

}  // namespace renyi
