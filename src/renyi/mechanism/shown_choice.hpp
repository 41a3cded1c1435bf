// A = 1 + sum w_i (A_i - 1): one of several mechanisms, drawn with the probabilities w_i and shown, what is missing to
// 1 nothing; or, with larger weights, a bound made of several.
#pragma once

#include <algorithm>
#include <vector>

#include "renyi/mechanism/renyi_curve.hpp"

namespace renyi {

struct WeightedPart {
    double weight;  // >= 0
    CurvePointer curve;
};

class ShownChoice final : public RenyiCurve {
public:
    explicit ShownChoice(std::vector<WeightedPart> parts);

    LogMoment log_moment(double alpha) const noexcept override;
    Certified divergence(double alpha) const noexcept override;
    bool convex() const noexcept override {
        return std::all_of(parts_.begin(), parts_.end(), [](const WeightedPart& p) { return p.curve->convex(); });
    }
    double largest_order() const noexcept override { return largest_order_; }
    double largest_loss() const noexcept override { return largest_loss_; }

private:
    std::vector<WeightedPart> parts_;
    double largest_order_ = kInfinity, largest_loss_ = 0.0;
};

}  // namespace renyi
