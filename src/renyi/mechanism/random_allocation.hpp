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
#pragma once

#include <cstdint>
#include <vector>

#include "renyi/mechanism/renyi_curve.hpp"

namespace renyi {

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

}  // namespace renyi
