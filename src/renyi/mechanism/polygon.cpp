#include "renyi/mechanism/polygon.hpp"

#include <algorithm>
#include <cmath>

namespace renyi {

namespace {

// The weights (b - alpha)/(b - a) and (alpha - a)/(b - a) are right to 3u, the products and the sum to 2u more; 4u are
// for the points.
constexpr double kPointError = 4.0 * kUnitRoundoff;
constexpr double kError = kPointError + 5.0 * kUnitRoundoff;

double slope(const PolygonPoint& a, const PolygonPoint& b) noexcept { return (b.k - a.k) / (b.alpha - a.alpha); }

}  // namespace

// Andrew's monotone chain: a corner stays while the slopes rise.
Polygon::Polygon(std::vector<PolygonPoint> points) : corners_{{1.0, 0.0}} {
    std::sort(points.begin(), points.end(), [](const PolygonPoint& a, const PolygonPoint& b) {
        return a.alpha != b.alpha ? a.alpha < b.alpha : a.k < b.k;
    });
    for (const PolygonPoint& point : points) {
        if (!std::isfinite(point.k) || point.alpha == corners_.back().alpha) continue;
        while (corners_.size() > 1 && slope(corners_.back(), point) <= slope(*(corners_.end() - 2), corners_.back()))
            corners_.pop_back();
        corners_.push_back(point);
    }
}

LogMoment Polygon::log_moment(double alpha) const noexcept {
    if (corners_.size() == 1) return {{alpha == 1.0 ? 0.0 : kInfinity, 0.0}, kInfinity, 0.0};
    const auto above = [](double order, const PolygonPoint& p) { return order < p.alpha; };
    auto right = std::upper_bound(corners_.begin() + 1, corners_.end() - 1, alpha, above);
    const PolygonPoint &a = *(right - 1), &b = *right;
    if (alpha > b.alpha) return {{kInfinity, 0.0}, kInfinity, 0.0};
    const double width = b.alpha - a.alpha;
    const double value = a.k * ((b.alpha - alpha) / width) + b.k * ((alpha - a.alpha) / width);
    return {{value, value == 0.0 ? 0.0 : kError}, slope(a, b), 0.0};
}

Certified Polygon::divergence(double alpha) const noexcept {
    if (alpha > 1.0) return RenyiCurve::divergence(alpha);
    if (corners_.size() == 1) return {kInfinity, 0.0};
    return {slope(corners_[0], corners_[1]), kPointError + 3.0 * kUnitRoundoff};
}

}  // namespace renyi
