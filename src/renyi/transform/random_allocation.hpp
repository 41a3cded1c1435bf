// The Rényi curve of one epoch of random allocation of Gaussian noise.
#pragma once

#include <cstdint>
#include <vector>

#include "renyi/fp/certified.hpp"
#include "renyi/pair/renyi_curve.hpp"

namespace renyi {

// Gaussian noise in each of t steps; every record takes part in exactly one of them, chosen uniformly (balls in bins).
// Neighbours by adding or removing a record; noise sigma per unit of a record's contribution.
//
// Dominating pair (Chua et al. 2024; Feldman, Shenfeld 2025): Q = N(0, sigma^2 I_t), P the mean of the N(e_i, sigma^2
// I_t), so P/Q = r = (1/t) sum_i X_i with independent log-normal X_i = exp(c z_i - c^2/2), c = 1/sigma.
//
// Both directions are covered: at whole orders n, K is the larger of log E[r^n] (remove) and log E[r^{-(n-1)}] (add),
// linear in between, as the K of both are convex. Numbers and error bounds: allocation.hpp.
//
// t = 1 is the Gaussian mechanism at every order, sigma = infinity nothing. Otherwise infinite beyond n = 256, the last
// that is computed; sigma < 1/16 is answered with t = 1, a bound since P^n Q^(1-n) is jointly convex.
class RandomAllocationCurve final : public RenyiCurve {
public:
    RandomAllocationCurve(double sigma, std::int64_t steps);

    LogMoment log_moment(double alpha) const noexcept override;
    Certified divergence(double alpha) const noexcept override;
    double largest_order() const noexcept override { return largest_order_; }

private:
    double rho_;                // of t = 1
    std::vector<Certified> k_;  // at whole orders; empty for t = 1
    double largest_order_;
};

// The two directions of random allocation: moments of r = (1/t) sum_i exp(c z_i - c^2/2), z_i standard normal.
//
// Remove, E[r^n]: the mean of exp(c^2/2 sum_i k_i (k_i-1)) over n balls thrown into t bins, k_i in bin i. Without the
// part that cancels, d_s(n) = that mean for s bins, less 1, has d_1(n) = expm1(c^2 n (n-1)/2) and
//     d_{s+s'}(n) = sum_k Bin(k; n, s/(s+s')) (d_s(k) + d_s'(n-k) + d_s(k) d_s'(n-k)),
// every term >= 0; t is reached by doubling and adding one.
//
// Add, E[r^-b]: with phi(x) = E exp(-x X) of one summand X, E[e^{-sr}] = phi(s/t)^t and
//     E[r^-b] - 1 = 1/Gamma(b) int_0^inf s^{b-1} (phi(s/t)^t - e^{-s}) ds,
// where phi(s/t)^t >= e^{-s} as E[r] = 1. In log s by the trapezoidal rule; phi by another.
// log E[r^n] for n = 0 .. last; 0 < c <= 16.
std::vector<Certified> allocation_remove(double c, std::int64_t steps, int last);

// Upper bounds of log E[r^-b] for b = 1 .. last-1, at index b+1, no better than `enough` has them already.
std::vector<double> allocation_add(double c, std::int64_t steps, const std::vector<Certified>& enough);

}  // namespace renyi
