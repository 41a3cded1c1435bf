// log A(alpha), 1 < alpha <= 72 real, by the binomial expansion about either component of mu, where it converges: a
// few terms without a quadrature. With v = q e^w/(1-q), odds = q/(1-q), E[e^{kw}] = e^{k(k-1)c^2/2} for every real k.
//
// Left, v small:  A = (1-q)^alpha E[(1+v)^alpha], and for every whole K >= max(alpha, 2)
//     A - 1 = sum_{2 <= k < K} T_k + theta T_K,   T_k = b_k expm1(k(k-1)c^2/2),   0 <= theta <= 1,
//     b_k = C(alpha, k) q^k (1-q)^(alpha-k).
//   Taylor's remainder is (1-q)^alpha C(alpha,K) r(v), r(v) = K integral_0^v (v-t)^{K-1} (1+t)^{alpha-K} dt. The
//   same sum without noise (v = odds) is 1, and r(v) and v^K - r(v) are convex, so that by Jensen (E[v] = odds)
//     0 <= E[r(v)] - r(odds) <= E[v^K] - odds^K.
//   b_k > 0 for k < alpha + 1. For a whole alpha b_{alpha+1} = 0: this is the expansion of Mironov, Talwar, Zhang 2019
//   (arXiv 1908.10530), section 3.3.
// Right, 1/v small:  A = E[(q e^w)^alpha (1 + 1/v)^alpha], and with K = ceil(alpha)
//     A = sum_{0 <= k < K} C(alpha, k) (1-q)^k q^(alpha-k) e^{(alpha-k)(alpha-k-1)c^2/2} + rho,
//     |rho| <= q^-t e^{t(t+1)c^2/2},  t = K - alpha,
//   all terms are positive: Taylor's remainder is at most |C(alpha,K)| v^-K, and |C(alpha,K)| <= 1. This expansion is
//   used where the first term, and hence A, is above e^36 times the bound of rho.
// Where neither converges, the quadrature is used. Points are evaluated one by one or kLanes at once, with the same
// bits.
#pragma once

#include "renyi/fp/certified.hpp"
#include "renyi/fp/lanes.hpp"

namespace renyi {

enum class Expansion { none, left, right };

// Returns the expansion to try, in the domain of log_a and alpha not 0 or 1. `terms`: the estimated number of terms.
Expansion expansion_of(double q, double sigma, double alpha) noexcept;
void expansions_of(const double* q, const double* sigma, const double* alpha, Expansion* out, int* terms) noexcept;

// Returns log A by the given expansion; NaN where it does not converge.
Certified log_a_expanded(Expansion expansion, double q, double sigma, double alpha) noexcept;
void log_a_expanded(Expansion expansion, const double* q, const double* sigma, const double* alpha,
                    Certified* out) noexcept;

}  // namespace renyi
