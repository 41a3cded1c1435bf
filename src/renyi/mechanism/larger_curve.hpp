// The larger of two curves at every order: what holds for both orders of a pair of neighbours.
#pragma once

#include <algorithm>
#include <utility>

#include "renyi/mechanism/renyi_curve.hpp"

namespace renyi {

class LargerCurve final : public RenyiCurve {
public:
    LargerCurve(CurvePointer first, CurvePointer second) : first_(std::move(first)), second_(std::move(second)) {}

    LogMoment log_moment(double alpha) const noexcept override {
        const LogMoment a = first_->log_moment(alpha), b = second_->log_moment(alpha);
        if (alpha == 1.0) return a.first >= b.first ? a : b;
        return upper(a.value) >= upper(b.value) ? a : b;
    }
    Certified divergence(double alpha) const noexcept override {
        const Certified a = first_->divergence(alpha), b = second_->divergence(alpha);
        return upper(a) >= upper(b) ? a : b;
    }
    bool convex() const noexcept override { return first_->convex() && second_->convex(); }
    double largest_order() const noexcept override {
        return std::min(first_->largest_order(), second_->largest_order());
    }
    double largest_loss() const noexcept override { return std::max(first_->largest_loss(), second_->largest_loss()); }

private:
    CurvePointer first_, second_;
};

}  // namespace renyi
