// See the header.
#include "renyi/curve/bent_contour.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "renyi/curve/saddle.hpp"
#include "renyi/loss/sampled_gaussian.hpp"

namespace renyi {

namespace {

using Complex = std::complex<double>;

constexpr double kPi = 0x1.921fb54442d18p1;
constexpr double kSine = 0x1.3c6ef372fe94fp-2, kCosine = 0x1.e6f0e134454ffp-1;  // phi = 18 degrees
constexpr double kWidth = 1.5;                                                  // lambda in units of the saddle's width
constexpr double kFirstStep = 0.08;
constexpr int kMostHalvings = 3;
constexpr double kConverged = 2e-6;    // change from one halving to the next; the error is about its square
constexpr int kMostNodes = 800;        // of the first step
constexpr double kLeastTilt = 0.02;    // the minimum may lie at t < 0, where it is shallow
constexpr double kLargestOrder = 9e5;  // log A takes orders up to 1e6
constexpr double kDead = 44.0;         // e^-44 of the sum
constexpr int kMostTurns = 40;
constexpr double kNear = 0.5;          // of log delta
constexpr double kRounding = 0x1p-47;  // of the nodes, relative to the largest

struct Start {
    double tilt = 0.0;  // 0: none found
    double log_value = 0.0, curvature = 0.0;
};

class BentContour {
public:
    BentContour(std::span<const SampledStep> steps, Direction direction, double epsilon) noexcept;

    bool usable() const noexcept { return start_.tilt > 0.0; }
    // Makes the nodes for an accurate sum at epsilon.
    bool refine(double epsilon) noexcept;

    struct Sum {
        double log_value, slope;  // slope: d log_value / d epsilon
        double error;             // estimated, relative
    };
    Sum sum(double epsilon) const noexcept;

private:
    struct Node {
        Complex z;       // alpha(s) - alpha_0
        Complex weight;  // everything but e^{-z epsilon}
        bool odd;        // made by the last halving
    };

    Node node_at(double s) const noexcept;

    double sign_, order_;
    bool minus_one_;
    Start start_;
    double scale_ = 0.0;  // sum of count log A at the start
    double lambda_ = 0.0, step_ = 0.0, end_ = 0.0;
    double gaussian_ = 0.0;  // variance of the Gaussian steps
    std::vector<LawOnPath> laws_;
    std::vector<double> counts_;
    std::vector<Node> nodes_;
};

// Stationary point of log(e^K - 1) - t eps - log t - log(1+t), by halving in log t: near is enough.
Start start_minus_one(std::span<const SampledStep> steps, double epsilon) noexcept {
    double low = kLeastTilt, high = kLargestOrder;
    Start start;
    for (int turn = 0; turn < 60 && high > low * (1.0 + 1e-6); ++turn) {
        const double t = std::sqrt(low * high);
        const TiltedMoment m = tilted_moment({steps, Direction::remove, kInfinity}, t);
        const double grown = -1.0 / std::expm1(-m.value);  // e^K / (e^K - 1)
        const double slope = m.first * grown - epsilon - 1.0 / t - 1.0 / (1.0 + t);
        const double bend = grown * (m.second - m.first * m.first * (grown - 1.0));
        start = {t, m.value + std::log(-std::expm1(-m.value)),
                 std::max(bend + 1.0 / (t * t), 0.0) + 1.0 / ((1.0 + t) * (1.0 + t))};  // no pole is left at 0
        if (std::fabs(slope) < 0.01 * std::sqrt(start.curvature)) break;
        (slope < 0.0 ? low : high) = t;
    }
    return start;
}

BentContour::BentContour(std::span<const SampledStep> steps, Direction direction, double epsilon) noexcept
    : sign_(direction == Direction::remove ? 1.0 : -1.0), minus_one_(direction == Direction::remove && epsilon > 0.0) {
    if (minus_one_) {
        start_ = start_minus_one(steps, epsilon);
    } else if (const Saddle saddle = saddle_at_epsilon({steps, direction, kInfinity}, epsilon); saddle.tilt > 0.0) {
        start_ = {saddle.tilt, saddle.at.value, saddle.curvature()};
    }
    order_ = order_of(direction, start_.tilt);
    for (const SampledStep& s : steps) {
        const double log_a_here = log_a(s.q, s.sigma, order_).value;
        scale_ += s.count * log_a_here;
        if (s.q == 1.0) {
            gaussian_ += s.count / (s.sigma * s.sigma);
        } else {
            laws_.emplace_back(s.q, s.sigma, log_a_here);
            counts_.push_back(s.count);
        }
    }
    lambda_ = kWidth / std::sqrt(start_.curvature);
}

BentContour::Node BentContour::node_at(double s) const noexcept {
    const Complex z = lambda_ * Complex{(std::cosh(s) - 1.0) * kSine, std::sinh(s) * kCosine};
    const Complex tangent = lambda_ * Complex{std::sinh(s) * kSine, std::cosh(s) * kCosine};
    const Complex alpha = order_ + z;
    // log A of the Gaussian steps is alpha (alpha - 1)/2 times their variance.
    Complex k = scale_ + 0.5 * gaussian_ * z * (2.0 * order_ - 1.0 + z);
    for (std::size_t i = 0; i < laws_.size(); ++i) k += counts_[i] * laws_[i].log_ratio(alpha);
    const Complex kernel = order_ * (order_ - 1.0) / (alpha * (alpha - 1.0)) * tangent;
    if (!minus_one_ || k.real() > 30.0) return {z, kernel * std::exp(k - start_.log_value), false};
    const double grown = std::expm1(k.real()), half_sine = std::sin(0.5 * k.imag());
    const Complex excess{grown - 2.0 * (grown + 1.0) * half_sine * half_sine, (grown + 1.0) * std::sin(k.imag())};
    return {z, kernel * excess * std::exp(-start_.log_value), false};
}

bool BentContour::refine(double epsilon) noexcept {
    nodes_.clear();
    step_ = kFirstStep;
    double largest = 0.0;
    int dead = 0;
    for (int j = 0; j < kMostNodes && dead < 4; ++j) {
        Node node = node_at(j * step_);
        if (j == 0) node.weight *= 0.5;
        const double size = std::abs(node.weight) * std::exp(-sign_ * node.z.real() * epsilon);
        if (!std::isfinite(size)) return false;
        largest = std::max(largest, size);
        dead = size < std::exp(-kDead) * largest ? dead + 1 : 0;
        nodes_.push_back(node);
        end_ = (j + 0.5) * step_;
    }
    for (int turn = 0; turn < kMostHalvings; ++turn) {
        for (Node& node : nodes_) node.odd = false;
        for (double s = 0.5 * step_; s < end_; s += step_) {
            nodes_.push_back(node_at(s));
            nodes_.back().odd = true;
        }
        step_ *= 0.5;
        const Sum here = sum(epsilon);
        if (std::isnan(here.log_value)) return false;
        if (here.error < kConverged * kConverged) return true;
    }
    return true;
}

BentContour::Sum BentContour::sum(double epsilon) const noexcept {
    Complex all = 0.0, even = 0.0, slope = 0.0;
    double size = 0.0;
    for (const Node& node : nodes_) {
        const Complex g = node.weight * std::exp(-sign_ * node.z * epsilon);
        all += g;
        if (!node.odd) even += g;
        slope += g * (sign_ * node.z + start_.tilt);
        size += std::abs(g);
    }
    const double t = start_.tilt, value = all.imag();
    const double change = std::fabs(2.0 * even.imag() / value - 1.0);
    const double base = start_.log_value - t * epsilon - std::log(t) - std::log1p(t);
    return {base + std::log(value * step_ / kPi), -slope.imag() / value, change * change + kRounding * size / value};
}

// Least over t of the epsilon that Chernoff's inequality gives: a start for Newton's method.
double chernoff_epsilon(std::span<const SampledStep> steps, Direction direction, double log_delta) noexcept {
    double best = kInfinity;
    for (double t = 1e-3; t < kLargestOrder; t *= 1.5) {
        const double k = tilted_moment({steps, direction, kInfinity}, t).value;
        const double here = (k - log_delta - std::log1p(t) - t * std::log1p(1.0 / t)) / t;
        if (here > best) break;
        best = here;
    }
    return best;
}

}  // namespace

Estimate bent_delta(std::span<const SampledStep> steps, Direction direction, double epsilon) noexcept {
    BentContour contour(steps, direction, epsilon);
    if (!contour.usable() || !contour.refine(epsilon)) return {kNaN, kNaN};
    const BentContour::Sum s = contour.sum(epsilon);
    return {std::exp(s.log_value), s.error};
}

// Newton for log delta in log epsilon, down from Chernoff's bound and kept within a bracket; a new contour at each turn
// until epsilon stays near it.
Estimate bent_epsilon(std::span<const SampledStep> steps, Direction direction, double delta) noexcept {
    const double log_delta = std::log(delta);
    double epsilon = chernoff_epsilon(steps, direction, log_delta);
    double low = 0.0, high = kInfinity;
    for (int turn = 0; turn < kMostTurns && epsilon > 0.0 && epsilon < kInfinity; ++turn) {
        BentContour contour(steps, direction, epsilon);
        if (!contour.usable()) break;
        if (!contour.refine(epsilon)) {  // far out in the tail, below the rounding errors
            high = epsilon;
            epsilon = low > 0.0 ? std::sqrt(low * high) : 0.05 * high;
            continue;
        }
        BentContour::Sum s = contour.sum(epsilon);
        double residual = s.log_value - log_delta;
        const double placed = epsilon;
        if (std::fabs(residual) < kNear) {  // the contour may serve up to the solution
            for (int i = 0; i < 6 && std::fabs(residual) > 1e-14; ++i) {
                epsilon -= residual / s.slope;
                s = contour.sum(epsilon);
                residual = s.log_value - log_delta;
            }
            if (!(epsilon > 0.0 && std::fabs(residual) < 1e-7)) break;
            if (std::fabs(epsilon - placed) > 0.02 * placed) continue;  // its end was chosen for another epsilon
            return {epsilon, (s.error + std::fabs(residual)) / -s.slope};
        }
        (residual > 0.0 ? low : high) = epsilon;
        const double newton = epsilon * std::exp(std::clamp(-residual / (s.slope * epsilon), -3.0, 3.0));
        const bool inside = newton > low && newton < high;
        epsilon = inside ? newton : (low > 0.0 ? std::sqrt(low * high) : 0.05 * high);
    }
    return {kNaN, kNaN};
}

}  // namespace renyi
