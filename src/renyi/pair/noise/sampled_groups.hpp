// Noise of log-concave density on a query that records move by as many as were drawn, each by its own coin: P has the
// binomial weights of m records at 0, 1, ..., m, Q that of `others` at 0, -1, ..., which come instead; 0: of none.
//
// It dominates every group of that size. Let R be the noise where no record was drawn, A any event of R-mass a, and g_k
// the largest power of tests between noise that moved by k and R. Given that k were drawn, A has at most g_k(a) under
// the one and, of others, at least 1 - g_k(1-a) under the other. All are reached at once by events {x > c}, as
// likelihood ratios of moved log-concave noise rise in x: no event has more P-mass and less Q-mass than these.
#pragma once

#include <cstdint>

#include "renyi/pair/pair.hpp"

namespace renyi {

// Density e^{-|x|/scale}/(2 scale); (records + others)/scale <= 500.
PairPointer laplace_group(double rate, double scale, int records, int others);

// Mass proportional to e^{-|x|/scale} and to e^{-x^2/(2 scale^2)} on the integers, one record moves by `shift`;
// (records + others) shift/scale <= 500.
PairPointer discrete_laplace_group(double rate, double scale, std::int64_t shift, int records, int others);
PairPointer discrete_gaussian_group(double rate, double scale, std::int64_t shift, int records, int others);

}  // namespace renyi
