// (epsilon, delta) of a composition through Renyi-DP: the best order, over the continuum (1, 1e6] or over a list.
//
// With t = alpha - 1 the mironov and balle forms are eps(t) = N(t)/t and log delta(t) = N(t) - t eps, N convex (K is
// convex, and so is t log t - (1+t) log(1+t)): eps is quasi-convex, log delta convex. So their optimum over the
// continuum is the root of a monotone function,
//     balle, given delta:    t K' - K + log(1+t) = log(1/delta)          mironov: without log(1+t)
//     balle, given epsilon:  K' + log(t/(1+t)) = epsilon                 mironov: without log(t/(1+t))
// found by safeguarded Newton steps; over a list the optimum is one of the two neighbours of that root. The derivative
// of the optimal conversion has the sign of K' - d log f/d alpha (rdp_conversion.hpp). Each of asoodeh's two forms may
// have a minimum: they are scanned.
//
// Results are rounded outward from certified K: `value` is never below the converted value at `order`, `floor` never
// above. 0 <= epsilon, 0 <= delta <= 1. If K cannot be computed (NaN), the answer is epsilon = inf or delta = 1. Where
// K is a polygon the functions above jump at its corners. Orders at which K is infinite are not tried; if there are no
// others the answer is epsilon = inf, delta = 1. If the largest loss is known and smaller, it is the answer, with order
// = infinity.
#pragma once

#include <algorithm>
#include <span>

#include "renyi/curve/rdp_conversion.hpp"
#include "renyi/fp/certified.hpp"
#include "renyi/pair/composition.hpp"
#include "renyi/special/elementary.hpp"

namespace renyi {

class NodeTable;

// The log moment generating function of a composition: K(alpha) = sum of count log A(q, sigma, alpha) over
// Poisson-sampled Gaussian steps, plus sum of count K_i(alpha) over Renyi curves of other mechanisms.
// alpha in [1, 1e6]; infinite above the largest order of a curve. The relative error covers the rounding of the sum:
// all terms are >= 0.
Certified log_moment(const Composition& composition, double alpha) noexcept;
// A table of the nodes helps where one step is asked at several orders.
LogMoment log_moment_derivatives(const Composition& composition, double alpha, NodeTable* table = nullptr) noexcept;

// Renyi divergence of order alpha >= 1: K/(alpha-1), or sum of the Kullback-Leibler divergences at alpha = 1.
Certified rdp(const Composition& composition, double alpha) noexcept;

// The largest order at which K is finite; infinity if there are only steps.
double largest_order(const Composition& composition) noexcept;

// Whether K is convex; see RenyiCurve.
bool is_convex(const Composition& composition) noexcept;

// A bound on the privacy loss, rounded up: the composition is epsilon-DP with this epsilon. Infinite where a step
// depends on the data.
double largest_loss(const Composition& composition) noexcept;

constexpr double kLargestRdpOrder = 1e6;
constexpr double kLogSmallest = -16.0;              // of t = alpha - 1: at least 1e-7
constexpr double kLogLargest = 13.815509557964274;  // at most 1e6
constexpr double kSmallestSum = 1e-280;             // a smaller K may have lost digits to underflow

// The result at one order: K, and the converted value rounded up.
struct RdpAtOrder {
    double alpha;
    Certified k;
    double value;
};

// The question: epsilon at a given delta, or delta at a given epsilon.
struct RdpQuery {
    Composition composition;
    Conversion conversion;
    bool given_delta;
    double log_delta, epsilon;
    double largest = std::min(largest_order(composition), kLargestRdpOrder);
    double log_largest = largest == kLargestRdpOrder ? kLogLargest : lane_log(std::max(largest - 1.0, 1e-300));
    double least = largest_loss(composition) > 0.0 ? kSmallestSum : 0.0;  // of K, rounded up
    mutable TouchStart touch{};                                           // where the last conversion ended

    double order_at(double log_t) const noexcept { return std::min(1.0 + lane_exp(log_t), largest); }
    bool has_orders() const noexcept { return log_largest > kLogSmallest; }

    double convert(Conversion by, double alpha, double k, Rounding r) const noexcept {
        return given_delta ? epsilon_from_rdp(by, alpha, k, log_delta, r, &touch)
                           : log_delta_from_rdp(by, alpha, k, epsilon, r, &touch);
    }
    double convert(double alpha, double k, Rounding r) const noexcept { return convert(conversion, alpha, k, r); }
    RdpAtOrder at(double alpha, Certified k) const noexcept {
        return {alpha, k, convert(alpha, std::max(upper(k), least), Rounding::up)};
    }
    RdpAtOrder at(double alpha) const noexcept { return at(alpha, log_moment(composition, alpha)); }
};

// The best order of the continuum, and of a list without orders beyond `query.largest`. There must be an order:
// query.has_orders().
RdpAtOrder best_order(const RdpQuery& query) noexcept;
RdpAtOrder best_order(const RdpQuery& query, std::span<const double> orders) noexcept;

struct RdpGuarantee {
    double value;  // epsilon or delta, rounded up
    double floor;  // the same, rounded down
    double order;  // 1: the Kullback-Leibler divergence; infinity: the largest loss
};

// `orders` ascending, each in (1, 1e6]; empty: the continuum. 0 < delta < 1, epsilon >= 0.
RdpGuarantee rdp_epsilon(const Composition& composition, double delta, Conversion conversion,
                         std::span<const double> orders) noexcept;
RdpGuarantee rdp_delta(const Composition& composition, double epsilon, Conversion conversion,
                       std::span<const double> orders) noexcept;

// Errors of membership tests that the curve allows (two_points.cpp): type I error a, type II error b.
// `orders` as for rdp_epsilon. The least b at every a in [0, 1], rounded down, to as many places.
void type_two_errors(const Composition& composition, std::span<const double> orders, std::span<const double> a,
                     double* b) noexcept;

// The largest 1 - a - b, rounded up. It is where a = b: with (a, b) and (b, a) their mean is allowed.
double largest_advantage(const Composition& composition, std::span<const double> orders) noexcept;

// The least rare a + (1 - rare) b, rounded down; 0 <= rare <= 1/2. By symmetry it is where a >= b.
double least_bayes_risk(const Composition& composition, std::span<const double> orders, double rare) noexcept;

}  // namespace renyi
