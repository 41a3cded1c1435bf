// Errors of membership tests that a Renyi curve allows, by all orders together and in both directions.
//
// A test says "present" with probability q = a where the record is absent (type I error a) and p = 1 - b where it is
// there (type II error b). What it says has at most the divergences of the composition, from either distribution to
// the other (data processing; Mironov 2017, arXiv 1702.07476, Prop. 9, on two points): at every order o,
//     f(p, q) = q (p/q)^o + (1-q) ((1-p)/(1-q))^o <= e^K,   K = (o-1) D_o,
// and f(1-q, 1-p) <= e^K, which is the other direction. Where no loss exceeds L, p <= e^L q and 1-q <= e^L (1-p), too.
// All these sets are convex; their intersection is symmetric under a <-> b and bounds every test from below.
//
// Any order gives a bound, and an error is used only where a constraint is proven to be violated: a poor search makes
// the bound weaker, never wrong. The continuum of orders is searched by intervals. f grows with the order at a given
// divergence, and divergences grow with the order: between two orders no error is above that of the higher order at the
// divergence of the lower one.
#pragma once

#include <span>

#include "renyi/curve/rdp_guarantee.hpp"

namespace renyi {

// `orders` as for rdp_epsilon. The least b at every a in [0, 1], rounded down, to as many places.
void type_two_errors(const Composition& composition, std::span<const double> orders, std::span<const double> a,
                     double* b) noexcept;

// The largest 1 - a - b, rounded up. It is where a = b: with (a, b) and (b, a) their mean is allowed.
double largest_advantage(const Composition& composition, std::span<const double> orders) noexcept;

// The least rare a + (1 - rare) b, rounded down; 0 <= rare <= 1/2. By symmetry it is where a >= b.
double least_bayes_risk(const Composition& composition, std::span<const double> orders, double rare) noexcept;

}  // namespace renyi
