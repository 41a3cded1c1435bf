// Rényi curves that belong to no pair of distributions: tables of bounds, what holds for a family of mechanisms, and what
// is made of other curves.
#pragma once

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "renyi/pair/composition.hpp"
#include "renyi/pair/renyi_curve.hpp"

namespace renyi {

// Composition of mechanisms, adaptive or not: K is the sum of theirs (Mironov 2017, Proposition 1).
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

// The larger of two curves at every order: what holds for both orders of a pair of neighbours.
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

// The smaller of two upper bounds of one mechanism at every order. It need not be convex where they cross.
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

// A mechanism known at a list of orders only: the lower convex hull of the points (alpha_i, K_i) and (1, 0), linear
// between its corners and infinite beyond the last.
//
// K is convex and K(1) = 0, so it lies below every chord between two of its upper bounds. Points may be given in any
// order of alpha, alpha_i > 1; infinite K_i say nothing and are left out. The relative error of K allows for K_i that
// were themselves rounded four times; the divergence at alpha = 1 is that of the first corner, which bounds it.
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

// K between whole orders: the chord, for K known as a bound at whole orders only.
constexpr double kLastOrder = 1e6;  // orders are not asked for beyond

// vertex(n) is K at whole n >= 2; finite up to `last`, a whole number. The slope is that of the segment on the right;
// at 1e6, where nothing follows, of the one on the left. The chord is a weighted mean: weights right to 1u, products
// and sum to 2u more.
template <class Vertex>
LogMoment polygon_segment(double alpha, double last, Vertex vertex) noexcept {
    if (!(alpha >= 1.0)) return {kOutsideDomain, kNaN, kNaN};
    if (alpha > last) return {{kInfinity, 0.0}, kInfinity, 0.0};
    const auto at = [&](double n) { return n < 2.0 ? Certified{0.0, 0.0} : vertex(n); };
    const double n = std::floor(alpha), t = alpha - n;
    const Certified here = at(n);
    if (n >= kLastOrder) return {here, here.value - at(n - 1.0).value, 0.0};
    if (n >= last) return {here, kInfinity, 0.0};
    const Certified next = at(n + 1.0);
    const double slope = next.value - here.value;
    if (t == 0.0) return {here, slope, 0.0};
    const double value = (1.0 - t) * here.value + t * next.value;
    const double error = std::max(here.relative_error, next.relative_error) + 3.0 * kUnitRoundoff;
    return {{value, value == 0.0 ? 0.0 : error}, slope, 0.0};
}

// Mechanisms of bounded range epsilon: for every pair of neighbours all losses lie in an interval of length epsilon.
// The exponential mechanism is one (Dong, Durfee, Rogers 2020), and so is report-noisy-max with Gumbel noise.
//
// The worst pair of an order has two losses, t and t - epsilon:
//     K(alpha) = max over y = e^t in [1, E] of log( y^b ((E - E^-b) - y (1 - E^-b))/(E - 1) ),  b = alpha - 1, E =
//     e^eps
// at y = b/alpha (E - E^-b)/(1 - E^-b); both orders of the pair have the same maximum. Domain: epsilon >= 0, finite.
class BoundedRangeCurve final : public RenyiCurve {
public:
    explicit BoundedRangeCurve(double epsilon) noexcept : epsilon_(epsilon) {}

    LogMoment log_moment(double alpha) const noexcept override;
    Certified divergence(double alpha) const noexcept override;
    double largest_loss() const noexcept override { return epsilon_; }

private:
    double epsilon_;
};

}  // namespace renyi
