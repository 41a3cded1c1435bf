#include "renyi/transform/renyi_curves.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "renyi/pair/moment.hpp"
#include "renyi/special/elementary.hpp"

namespace renyi {

namespace {

// The larger or the smaller of two curves at every order.
class OneOfTwo final : public RenyiCurve {
    // Beyond the largest order of one curve the other one is the smaller.
    auto chosen(double alpha, auto evaluate, auto bound) const noexcept {
        if (!larger_ && alpha > first_->largest_order()) return evaluate(*second_);
        if (!larger_ && alpha > second_->largest_order()) return evaluate(*first_);
        const auto a = evaluate(*first_), b = evaluate(*second_);
        return (larger_ ? bound(a) >= bound(b) : bound(a) <= bound(b)) ? a : b;
    }

public:
    OneOfTwo(CurvePointer first, CurvePointer second, bool larger)
        : first_(std::move(first)), second_(std::move(second)), larger_(larger) {}

    LogMoment log_moment(double alpha) const noexcept override {
        return chosen(
            alpha, [&](const RenyiCurve& curve) { return curve.log_moment(alpha); },
            [&](const LogMoment& m) { return alpha == 1.0 ? m.first : upper(m.value); });
    }
    Certified divergence(double alpha) const noexcept override {
        return chosen(
            alpha, [&](const RenyiCurve& curve) { return curve.divergence(alpha); },
            [](Certified c) { return upper(c); });
    }
    bool convex() const noexcept override { return larger_ && first_->convex() && second_->convex(); }
    double largest_order() const noexcept override { return of_both(&RenyiCurve::largest_order, !larger_); }
    double largest_loss() const noexcept override { return of_both(&RenyiCurve::largest_loss, larger_); }

private:
    double of_both(double (RenyiCurve::*bound)() const noexcept, bool larger) const noexcept {
        const double a = (*first_.*bound)(), b = (*second_.*bound)();
        return larger ? std::max(a, b) : std::min(a, b);
    }
    CurvePointer first_, second_;
    bool larger_;
};

class ComposedCurve final : public RenyiCurve {
public:
    explicit ComposedCurve(std::vector<CountedCurve> parts) : parts_(std::move(parts)) {
        for (const CountedCurve& part : parts_) {
            largest_order_ = std::min(largest_order_, part.curve->largest_order());
            largest_loss_ += part.count * part.curve->largest_loss();
        }
        largest_loss_ *= 1.0 + (static_cast<double>(parts_.size()) + 2.0) * 2.0 * kUnitRoundoff;
    }

    LogMoment log_moment(double alpha) const noexcept override {
        LogMoment total{{}, 0.0, 0.0};
        CertifiedSum sum;
        for (const CountedCurve& part : parts_) {
            const LogMoment m = part.curve->log_moment(alpha);
            sum.add(part.count, m.value);
            total.first += part.count * m.first;
            total.second += part.count * m.second;
        }
        total.value = sum.total();
        return total;
    }
    Certified divergence(double alpha) const noexcept override {
        CertifiedSum sum;
        for (const CountedCurve& part : parts_) sum.add(part.count, part.curve->divergence(alpha));
        return sum.total();
    }
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

// The weights (b - alpha)/(b - a) and (alpha - a)/(b - a) have errors of 3u, the products and the sum add 2u, and the
// points themselves have 4u.
constexpr double kPointError = 4.0 * kUnitRoundoff;
constexpr double kError = kPointError + 5.0 * kUnitRoundoff;

class Polygon final : public RenyiCurve {
public:
    explicit Polygon(std::vector<Corner> points) : corners_{{1.0, 0.0}} {
        std::sort(points.begin(), points.end());
        for (const Corner& point : points)
            if (std::isfinite(point.y) && point.x != corners_.back().x) add_to_hull(corners_, point);
    }

    LogMoment log_moment(double alpha) const noexcept override {
        if (corners_.size() == 1) return {{alpha == 1.0 ? 0.0 : kInfinity, 0.0}, kInfinity, 0.0};
        const auto above = [](double order, const Corner& p) { return order < p.x; };
        auto right = std::upper_bound(corners_.begin() + 1, corners_.end() - 1, alpha, above);
        const Corner &a = *(right - 1), &b = *right;
        if (alpha > b.x) return {{kInfinity, 0.0}, kInfinity, 0.0};
        const double value = chord(a, b, alpha);
        return {{value, value == 0.0 ? 0.0 : kError}, slope_of(a, b), 0.0};
    }
    Certified divergence(double alpha) const noexcept override {
        if (alpha > 1.0) return RenyiCurve::divergence(alpha);
        if (corners_.size() == 1) return {kInfinity, 0.0};
        return {slope_of(corners_[0], corners_[1]), kPointError + 3.0 * kUnitRoundoff};
    }
    double largest_order() const noexcept override { return corners_.back().x; }
    std::vector<double> corners() const override {
        std::vector<double> orders;
        for (const Corner& corner : corners_) orders.push_back(corner.x);
        return orders;
    }

private:
    std::vector<Corner> corners_;  // ascending, (1, 0) first
};

}  // namespace

// K is the log moment of the pair {t, t - epsilon} at the best t, evaluated in the positive form of LossNodes. The
// maximum is flat: an error d of t costs d^2 alpha (alpha-1)/2. Losses have errors of 4u and masses of 16u with
//     p(t) = (1 - e^{t-eps})/(1 - e^-eps),     q(t - eps) = (1 - e^-t)/(1 - e^-eps).

namespace {

// log(sinh x/x) for |x| <= 1/2, to 1e-10: enough for a maximiser.
double log_sinhc(double x) noexcept {
    const double w = x * x;
    return w * (1.0 / 6 - w * (1.0 / 180 - w * (1.0 / 2835 - w * (1.0 / 37800 - w / 467775))));
}

// log((1 - e^-x)/x)
double log_share(double x) noexcept { return x < 1e-9 ? -0.5 * x : lane_log(-lane_expm1(-x) / x); }

double best_loss(double epsilon, double alpha, double beta) noexcept {
    const double a = alpha * epsilon, b = beta * epsilon;
    const double t =
        a <= 1.0 ? 0.5 * epsilon + (log_sinhc(0.5 * a) - log_sinhc(0.5 * b)) : epsilon + (log_share(a) - log_share(b));
    return std::clamp(t, 0.0, epsilon);
}

// d log((1 - e^-x)/x)/dx
double share_slope(double x) noexcept {
    return x < 1e-3 ? x / 12.0 - 0.5 : 1.0 / lane_expm1(std::min(x, 700.0)) - 1.0 / x;
}

struct WorstPair {
    LossAtom high, low;
};

WorstPair worst_pair(double epsilon, double alpha, double beta) noexcept {
    const double t = best_loss(epsilon, alpha, beta), r = epsilon - t, span = -lane_expm1(-epsilon);
    const double p = -lane_expm1(-r) / span, q = -lane_expm1(-t) / span;
    return {{t, p, p * lane_exp(-t)}, {-r, q * lane_exp(-r), q}};
}

class BoundedRangeCurve final : public RenyiCurve {
public:
    explicit BoundedRangeCurve(double epsilon) noexcept : epsilon_(epsilon) {}

    LogMoment log_moment(double alpha) const noexcept override {
        if (epsilon_ == 0.0) return {{0.0, 0.0}, 0.0, 0.0};
        const double beta = alpha - 1.0;
        const WorstPair pair = worst_pair(epsilon_, alpha, beta);
        const Tilt tilt(alpha, pair.high.loss);
        LogMoment m = logarithm_of(sums_of(pair.high, tilt) + sums_of(pair.low, tilt), tilt, 0.0, 2);
        const double drift =
            epsilon_ * (share_slope(alpha * epsilon_) - share_slope(beta * epsilon_));  // dt/d alpha of the best t
        m.second += alpha * beta * drift * drift;
        return m;
    }
    Certified divergence(double alpha) const noexcept override {
        if (alpha > 1.0) return RenyiCurve::divergence(alpha);
        if (epsilon_ == 0.0) return {0.0, 0.0};
        const WorstPair pair = worst_pair(epsilon_, 1.0, 0.0);
        return divergence_of(divergence_term(pair.high) + divergence_term(pair.low), epsilon_, 0.0, 2);
    }
    double largest_loss() const noexcept override { return epsilon_; }

private:
    double epsilon_;
};

}  // namespace

CurvePointer composed_curve(std::vector<CountedCurve> parts) {
    return std::make_shared<const ComposedCurve>(std::move(parts));
}
CurvePointer larger_curve(CurvePointer first, CurvePointer second) {
    return std::make_shared<const OneOfTwo>(std::move(first), std::move(second), true);
}
CurvePointer smaller_curve(CurvePointer first, CurvePointer second) {
    return std::make_shared<const OneOfTwo>(std::move(first), std::move(second), false);
}
CurvePointer polygon(std::vector<Corner> points) { return std::make_shared<const Polygon>(std::move(points)); }
CurvePointer bounded_range_curve(double epsilon) { return std::make_shared<const BoundedRangeCurve>(epsilon); }

}  // namespace renyi
