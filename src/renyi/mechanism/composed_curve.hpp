// Composition of mechanisms, adaptive or not: K is the sum of theirs (Mironov 2017, Proposition 1).
#pragma once

#include <algorithm>
#include <vector>

#include "renyi/mechanism/renyi_curve.hpp"

namespace renyi {

struct CountedCurve {
    CurvePointer curve;
    double count;  // > 0
};

class ComposedCurve final : public RenyiCurve {
public:
    explicit ComposedCurve(std::vector<CountedCurve> parts);

    LogMoment log_moment(double alpha) const noexcept override;
    Certified divergence(double alpha) const noexcept override;
    bool convex() const noexcept override {
        return std::all_of(parts_.begin(), parts_.end(), [](const CountedCurve& p) { return p.curve->convex(); });
    }
    double largest_order() const noexcept override { return largest_order_; }
    double largest_loss() const noexcept override { return largest_loss_; }

private:
    std::vector<CountedCurve> parts_;
    double largest_order_ = kInfinity;
    double largest_loss_ = 0.0;
};

}  // namespace renyi
