// A question to a composition, and what its Renyi curve answers at one order.
#pragma once

#include <algorithm>
#include <span>

#include "renyi/curve/rdp_composition.hpp"
#include "renyi/curve/rdp_conversion.hpp"
#include "renyi/special/elementary.hpp"

namespace renyi {

constexpr double kLargestRdpOrder = 1e6;
constexpr double kLogSmallest = -16.0;              // of t = alpha - 1: at least 1e-7
constexpr double kLogLargest = 13.815509557964274;  // at most 1e6
constexpr double kSmallestMoment = 1e-280;          // K below may have lost its digits, or all, to underflow

// What the curve gives at an order: K, and the value rounded up.
struct RdpAtOrder {
    double alpha;
    Certified k;
    double value;
};

// What is asked: epsilon at a given delta, or delta at a given epsilon.
struct RdpQuery {
    Composition composition;
    Conversion conversion;
    bool given_delta;
    double log_delta, epsilon;
    double largest = std::min(largest_order(composition), kLargestRdpOrder);
    double log_largest = largest == kLargestRdpOrder ? kLogLargest : lane_log(std::max(largest - 1.0, 1e-300));
    double least = largest_loss(composition) > 0.0 ? kSmallestMoment : 0.0;  // of K, rounded up

    double order_at(double log_t) const noexcept { return std::min(1.0 + lane_exp(log_t), largest); }
    bool has_orders() const noexcept { return log_largest > kLogSmallest; }

    double convert(double alpha, double k, Rounding r) const noexcept {
        return given_delta ? epsilon_from_rdp(conversion, alpha, k, log_delta, r)
                           : log_delta_from_rdp(conversion, alpha, k, epsilon, r);
    }
    RdpAtOrder at(double alpha, Certified k) const noexcept {
        return {alpha, k, convert(alpha, std::max(upper(k), least), Rounding::up)};
    }
    RdpAtOrder at(double alpha) const noexcept { return at(alpha, log_moment(composition, alpha)); }
};

// The best order of the continuum, and of a list none of whose orders is beyond `query.largest`. There must be one:
// query.has_orders().
RdpAtOrder best_order(const RdpQuery& query) noexcept;
RdpAtOrder best_order(const RdpQuery& query, std::span<const double> orders) noexcept;

}  // namespace renyi
