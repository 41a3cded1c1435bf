// A mechanism known at a list of orders only: the lower convex hull of the points (alpha_i, K_i) and (1, 0), linear
// between its corners and infinite beyond the last.
//
// K is convex and K(1) = 0, so it lies below every chord between two of its upper bounds. Points may be given in any
// order of alpha, alpha_i > 1; infinite K_i say nothing and are left out. The relative error of K allows for K_i that
// were themselves rounded four times; the divergence at alpha = 1 is that of the first corner, which bounds it.
#pragma once

#include <vector>

#include "renyi/mechanism/renyi_curve.hpp"

namespace renyi {

struct PolygonPoint {
    double alpha, k;
};

class Polygon final : public RenyiCurve {
public:
    explicit Polygon(std::vector<PolygonPoint> points);

    LogMoment log_moment(double alpha) const noexcept override;
    Certified divergence(double alpha) const noexcept override;
    double largest_order() const noexcept override { return corners_.back().alpha; }

private:
    std::vector<PolygonPoint> corners_;  // ascending, (1, 0) first
};

}  // namespace renyi
