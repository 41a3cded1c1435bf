// Nothing is protected, or nothing that a double can hold: infinite divergences of every order.
#pragma once

#include "renyi/mechanism/renyi_curve.hpp"

namespace renyi {

class UnboundedCurve final : public RenyiCurve {
public:
    LogMoment log_moment(double) const noexcept override { return {{0.0, 0.0}, kInfinity, 0.0}; }  // at alpha = 1
    Certified divergence(double) const noexcept override { return {kInfinity, 0.0}; }
    double largest_order() const noexcept override { return 1.0; }
};

}  // namespace renyi
