// The smaller of two upper bounds of one mechanism at every order. It need not be convex where they cross.
#pragma once

#include <algorithm>
#include <utility>

#include "renyi/mechanism/renyi_curve.hpp"

namespace renyi {

class SmallerCurve final : public RenyiCurve {
public:
    SmallerCurve(CurvePointer first, CurvePointer second) : first_(std::move(first)), second_(std::move(second)) {}

    LogMoment log_moment(double alpha) const noexcept override;
    Certified divergence(double alpha) const noexcept override;
    bool convex() const noexcept override { return false; }
    double largest_order() const noexcept override {
        return std::max(first_->largest_order(), second_->largest_order());
    }
    double largest_loss() const noexcept override { return std::min(first_->largest_loss(), second_->largest_loss()); }

private:
    CurvePointer first_, second_;
};

}  // namespace renyi
