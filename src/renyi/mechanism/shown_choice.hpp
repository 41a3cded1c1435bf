// One of several mechanisms, drawn and shown: A = 1 + sum w_i (A_i - 1), with what is missing to 1 nothing.
#pragma once

#include <vector>

#include "renyi/mechanism/renyi_curve.hpp"

namespace renyi {

struct WeightedPart {
    double weight;  // in [0, 1]
    CurvePointer curve;
};

class ShownChoice final : public RenyiCurve {
public:
    explicit ShownChoice(std::vector<WeightedPart> parts);

    LogMoment log_moment(double alpha) const noexcept override;
    Certified divergence(double alpha) const noexcept override;
    double largest_order() const noexcept override { return largest_order_; }
    double largest_loss() const noexcept override { return largest_loss_; }

private:
    std::vector<WeightedPart> parts_;
    double largest_order_ = kInfinity, largest_loss_ = 0.0;
};

}  // namespace renyi
