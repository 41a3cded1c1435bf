// (epsilon, delta) of a composition through Renyi-DP: the best order, over the continuum (1, 1e6] or over a list.
//
// With t = alpha - 1 the mironov and balle forms are eps(t) = N(t)/t and log delta(t) = N(t) - t eps, N convex (K is
// convex, and so is t log t - (1+t) log(1+t)): eps is quasi-convex, log delta convex. So their optimum over the
// continuum is the root of a monotone function,
//     balle, given delta:    t K' - K + log(1+t) = log(1/delta)          mironov: without log(1+t)
//     balle, given epsilon:  K' + log(t/(1+t)) = epsilon                 mironov: without log(t/(1+t))
// found by safeguarded Newton steps, and over a list it is one of the two neighbours of that root. The derivative of
// the optimal conversion has the sign of K' - d log f/d alpha (rdp_conversion.hpp); asoodeh's two forms may have a
// minimum each and are scanned.
//
// Results are rounded outward from certified K: `value` is never below the converted value at `order`, `floor` never
// above. 0 <= epsilon, 0 <= delta <= 1. Should the engine ever refuse a K (NaN), the answer is epsilon = inf or delta
// = 1. Where K is a polygon the functions above jump at its corners; orders beyond the largest at which K is finite are
// not looked at, and if there is none the answer is epsilon = inf, delta = 1. Where the largest loss is known, it
// answers if it is better: order = infinity.
#pragma once

#include <span>

#include "renyi/curve/rdp_composition.hpp"
#include "renyi/curve/rdp_conversion.hpp"

namespace renyi {

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

}  // namespace renyi
