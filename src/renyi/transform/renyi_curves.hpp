// Rényi curves that belong to no pair of distributions: tables of bounds, bounds for a family of mechanisms, and curves
// made of other curves. Orders are at most 1e6.
#pragma once

#include <compare>
#include <cstdint>
#include <utility>
#include <vector>

#include "renyi/fp/double_double.hpp"
#include "renyi/fp/search.hpp"
#include "renyi/pair/composition.hpp"
#include "renyi/pair/renyi_curve.hpp"

namespace renyi {

// Composition of mechanisms, adaptive or not: K is the sum of their K (Mironov 2017, Proposition 1).
CurvePointer composed_curve(std::vector<CountedCurve> parts);

// The larger of two curves at every order. It holds for both orders of a pair of neighbours.
CurvePointer larger_curve(CurvePointer first, CurvePointer second);

// The smaller of two upper bounds of one mechanism at every order. It need not be convex where they cross.
CurvePointer smaller_curve(CurvePointer first, CurvePointer second);

// A corner of a polygon.
struct Corner {
    double x, y;

    auto operator<=>(const Corner&) const = default;
};

// A mechanism known at a list of orders only: the lower convex hull of the points (alpha_i, K_i) and (1, 0), linear
// between its corners and infinite beyond the last.
//
// K is convex and K(1) = 0, so it lies below every chord between two of its upper bounds. Points may be given in any
// order of alpha, alpha_i > 1; infinite K_i give no bound and are left out. The relative error of K allows for K_i that
// were themselves rounded four times; the divergence at alpha = 1 is that of the first corner, which bounds it.
CurvePointer polygon(std::vector<Corner> points);  // orders and K

// Mechanisms of bounded range epsilon: for every pair of neighbours all losses lie in an interval of length epsilon.
// The exponential mechanism is one (Dong, Durfee, Rogers 2020), and so is report-noisy-max with Gumbel noise.
//
// The worst pair of an order has two losses, t and t - epsilon:
//     K(alpha) = max over y = e^t in [1, E] of log( y^b ((E - E^-b) - y (1 - E^-b))/(E - 1) ),
// b = alpha - 1 and E = e^eps. The maximum is at y = b/alpha (E - E^-b)/(1 - E^-b), and both orders of the pair have
// the same maximum. Domain: epsilon >= 0, finite.
CurvePointer bounded_range_curve(double epsilon);

// Sampling of any kind that lets the record in with probability r, by convexity alone:
//     K(alpha) = log(1 + r (e^{K_base(alpha)} - 1)),   alpha real.
//
// With probability 1-r both neighbours are treated alike, and P^alpha Q^(1-alpha) is jointly convex; the base must hold
// for both orders of neighbours. The bound is linear in r where the bounds for Poisson and for fixed-size sampling are
// quadratic, so it is better only where these are not close to their own leading term. K is convex: e^K is a mixture
// of 1 and e^{K_base}, both log-convex. r = 1 is the base, r = 0 gives 0. The relative error is that of
// r (e^{K_base} - 1) for K_base known to the base's error.
CurvePointer mixture_bound(CurvePointer base, double r);

// Poisson sampling of any mechanism, from its Renyi curve alone: every record enters with probability q, neighbours by
// adding or removing a record. With w_l = C(n,l) q^l (1-q)^(n-l) and K_l = (l-1) D_l of the base, in both orders of
// neighbours, at whole orders n
//     K(n) = log( w_0 + w_1 + w_2 e^{K_2} + c sum_{l=3}^n w_l e^{K_l} ).
//
//   general  c = 3, as published (Zhu, Wang 2019, Theorem 5).
//   tight    c = 1. Theorem 8 proves it for pairs of non-negative odd moments E_Q[(P/Q - 1)^l]; it holds for all pairs.
//   lower    c = 1 (Theorem 6): some mechanism with this base reaches it. Round down with lower().
//
// c = 1 holds for all pairs: let X = P/Q, u(x) = 1-q+qx. E_Q[u(X)^n] and E_Q[X u(1/X)^n], the divergences from the
// plain law in both orders of neighbours, are the sum with c = 1 over the moments of X and of 1/X under P. The other
// order is E_Q[u(X)^(1-n)], and with a = n-2, t = 3(1-q)/(3+2aq), and the c for which F'(1) = 0
//     F(x) = t u(x)^n + (1-t) x u(1/x)^n + c (x-1) - u(x)^(1-n) >= 0,
// so that by E_Q[X-1] = 0 it is at most the mean of these two with weights t and 1-t. For F(1) = F'(1) = 0, and
//     F''/(n(n-1)q^2) = t u(x)^a + (1-t) x^-3 u(1/x)^a - u(x)^(-a-3) >= 0:
// the weighted geometric mean of the first two terms over the third is exp(h(log x)),
//     h(y) = (ta+a+3) log u(e^y) + (1-t) a log u(e^-y) - 3(1-t) y,
// a convex function with h(0) = 0 and h'(0) = t(3+2aq) - 3(1-q) = 0.
//
// K is computed without cancellation as log1p(sum_{l>=2} w_l (c e^{K_l} - 1)), every term >= 0.
//
// Between whole orders the upper kinds are linear: K of the sampled mechanism is convex and 0 at alpha = 1. By default
// they are cut at (alpha-1) log(1 + q (e^{D_inf} - 1)). Where the factor 3 has done its work (alpha q about 3) and
// where the cut sets in, the slope of the general kind may fall: every value is a bound, but K need not be convex
// there. The lower kind between n and n+1 is the larger of the lines through (n-1, n) and (n+1, n+2), below every
// convex K through these points.
//
// q = 1 is the base itself, q = 0 gives 0. K is infinite beyond the last whole order at which the base is finite.
enum class PoissonBoundKind { general, tight, lower };
CurvePointer poisson_bound(CurvePointer base, double q, PoissonBoundKind kind, bool cut = true);

// Sampling of a share gamma of the records without replacement, from the mechanism's Renyi curve alone; neighbours by
// replacing a record, population and sample size public. With K_j = (j-1) D_j of the base, D_inf its largest loss and
// m = e^{D_inf} - 1, at whole orders n (Wang, Balle, Kasiviswanathan 2019, Theorem 9)
//
//     K(n) = log( 1 + gamma^2 C(n,2) min(4 (e^{K_2} - 1), e^{K_2} min(2, m^2))
//                   + sum_{j=3}^n gamma^j C(n,j) e^{K_j} min(2, m^j) ).
//
// tight (Theorem 27): the factor of gamma^j C(n,j) is at most 4 sqrt(B_{2 floor(j/2)} B_{2 ceil(j/2)}), B_l = E_Q[(P/Q
// - 1)^l], if one pair reaches the base at every order, as the Gaussian does. B_l is known to l = 256 for the Gaussian,
// for others as far as the digits of K_j let it (even_central_moments, some 40); above, the term of Theorem 9 stands.
//
// Between whole orders K is linear: K of the sampled mechanism is convex and 0 at alpha = 1. By default it is cut
// at (alpha-1) log(1 + gamma m) (Balle, Barthe, Gaboardi 2018, Theorem 9); at gamma = 1 at the base itself. Every
// value is a bound; K need not be convex where a minimum changes sides. gamma = 0 gives 0.
CurvePointer fixed_size_bound(CurvePointer base, double gamma, bool tight, bool cut = true);

// Gaussian noise in each of t steps; every record takes part in exactly one of them, chosen uniformly (balls in bins).
// Neighbours by adding or removing a record; noise sigma per unit of a record's contribution.
//
// Dominating pair (Chua et al. 2024; Feldman, Shenfeld 2025): Q = N(0, sigma^2 I_t), P the mean of the N(e_i, sigma^2
// I_t), so P/Q = r = (1/t) sum_i X_i with independent log-normal X_i = exp(c z_i - c^2/2), c = 1/sigma.
//
// Both directions are covered: at whole orders n, K is the larger of log E[r^n] (remove) and log E[r^{-(n-1)}] (add),
// linear in between, as the K of both are convex. Numbers and error bounds: random_allocation.cpp.
//
// t = 1 is the Gaussian mechanism at every order, sigma = infinity gives 0. Otherwise K is infinite beyond n = 256, the
// last order computed. For sigma < 1/16 K is that of t = 1, a bound since P^n Q^(1-n) is jointly convex.
CurvePointer random_allocation_curve(double sigma, std::int64_t steps);

// A point (e^eps - 1, delta) of a privacy profile, rounded up.
Corner profile_point(double epsilon, double delta) noexcept;

// Encloses x = log(1/gamma) of the truncated negative binomial number of runs below, for a mean in [1, inf).
Interval log_inverse_gamma(double mean, double shape) noexcept;

// A mechanism run a random number N of times, and only the best of its outputs released (Papernot, Steinke 2022, arXiv
// 2110.03620). mean = E[N]; shape = eta tells the law of N:
//
//   eta > -1, finite   truncated negative binomial, N >= 1, mean >= 1 (Theorem 2); 0 logarithmic, 1 geometric. With
//       x = log(1/gamma) from E[N] = eta (e^x - 1) / (1 - e^{-eta x}), for every order l >= 1 or infinity of the base,
//           K'(alpha) = K(alpha) + (alpha-1) C + log E[N],   C = (1+eta) (K(l) + x) / l,
//       where (K(l) + x)/l is D_inf for l infinite. The best l does not depend on alpha.
//   eta = infinity     Poisson, mean > 0 (Theorem 6). With delta such that the base is
//       (log(alpha/(alpha-1)), delta)-DP,
//           K'(alpha) = K(alpha) + (alpha-1) E[N] delta + log E[N].
//       For E[N] < 1, where this would fall below 0, the outcome without a run is counted by itself: in the proof of
//       the theorem e^{K'} is at most e^{-E[N]} + E[N] e^{K + (alpha-1) E[N] delta}.
//       delta comes from the known points of the profile of the base, in both directions, and from its Renyi curve
//       (renyi_profile). The proof uses delta(eps) at that one eps only, so that nothing is lost where the
//       profile is exact.
//
//   eta = -n           Binomial, n runs of probability p = mean/n each. With phi the probability generating function of
//       N, outputs in order, and F the distribution functions under P and Q, the density of the best is phi'(F) times
//       that of a run; phi'(F_P)/phi'(F_Q) <= R by the profile of the base, phi' <= E[N], so that
//           e^{K'} <= Pr[N = 0] + E[N] R^{alpha-1} e^K,   Pr[N = 0] <= e^{-E[N]}.
//
// Divergences do not fall with the order, so that below the order at which K'/(alpha-1) is least this value stands. K'
// is linear there: 0 at alpha = 1, and convex. Minima are sought, not proven: any l and any such order give a bound.
// mean = 1 with finite eta is the base itself.
// `known`: points of the profile of the base, for shape = infinity; `log_ratio`: log R, for shape = -n.
CurvePointer repeat_and_select(CurvePointer base, double mean, double shape, std::vector<Corner> known = {},
                               double log_ratio = 0.0);

// Declarations shared by the source files.

// A curve made from the curve of a mechanism.
class CurveOfBase : public RenyiCurve {
public:
    bool convex() const noexcept override { return base_->convex(); }
    double largest_order() const noexcept override { return largest_order_; }
    double largest_loss() const noexcept override { return largest_loss_; }

protected:
    explicit CurveOfBase(CurvePointer base) : base_(std::move(base)) {}

    // K cut at the line (alpha-1) times the largest loss.
    LogMoment cut(double alpha, const LogMoment& m) const noexcept {
        const double line = (alpha - 1.0) * largest_loss_;
        const bool above = alpha > 1.0 && line < m.value.value;
        return above ? LogMoment{{line, 2.0 * kUnitRoundoff}, largest_loss_, 0.0} : m;
    }

    CurvePointer base_;
    double largest_order_ = kInfinity, largest_loss_ = kInfinity;
};

// The slope between two points, and the lower convex hull of points from a first corner on (Andrew's monotone chain): a
// point replaces those before it while the slopes do not rise.
inline double slope_of(const Corner& a, const Corner& b) noexcept { return (b.y - a.y) / (b.x - a.x); }
inline double chord(const Corner& a, const Corner& b, double x) noexcept {
    return a.y * ((b.x - x) / (b.x - a.x)) + b.y * ((x - a.x) / (b.x - a.x));
}
inline void add_to_hull(std::vector<Corner>& corners, const Corner& point) {
    while (corners.size() > 1 && slope_of(corners.back(), point) <= slope_of(*(corners.end() - 2), corners.back()))
        corners.pop_back();
    corners.push_back(point);
}

// K between whole orders: the chord, for K known as a bound at whole orders only.
constexpr double kLastOrder = 1e6;

// vertex(n) is K at whole n >= 2; finite up to `last`, a whole number. The slope is that of the segment on the right;
// at 1e6, where nothing follows, of the one on the left. The chord is a weighted mean: its weights have errors of 1u,
// products and sum add 2u.
template <class Vertex>
LogMoment polygon_segment(double alpha, double last, Vertex vertex) noexcept {
    if (!(alpha >= 1.0)) return {kOutsideDomain, kNaN, kNaN};
    if (alpha > last) return {{kInfinity, 0.0}, kInfinity, 0.0};
    const auto at = [&](double n) { return n < 2.0 ? Certified{0.0, 0.0} : vertex(n); };
    const double n = std::floor(alpha), t = alpha - n;
    const Certified here = at(n);
    if (n >= kLastOrder) return {here, here.value - at(n - 1.0).value, 0.0};
    if (n >= last) return {here, kInfinity, 0.0};
    const Certified next = at(n + 1.0);
    const double slope = next.value - here.value;
    if (t == 0.0) return {here, slope, 0.0};
    const double value = (1.0 - t) * here.value + t * next.value;
    const double error = std::max(here.relative_error, next.relative_error) + 3.0 * kUnitRoundoff;
    return {{value, value == 0.0 ? 0.0 : error}, slope, 0.0};
}

}  // namespace renyi
