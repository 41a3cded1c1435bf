// Reading a contour that is placed: the trapezoidal sum, its errors, and the brackets of delta and epsilon.
#include <algorithm>
#include <cmath>

#include "renyi/curve/contour.hpp"
#include "renyi/curve/contour_sum.hpp"
#include "renyi/transform/hockey_stick_kernel.hpp"

namespace renyi {

namespace {

constexpr double kPi = 0x1.921fb54442d18p1;
constexpr double kStraight = 1e-7;  // width in log delta over which the slope does not change by a quarter
constexpr int kMostWidenings = 24;
constexpr double kLongest = 2.0;  // of Newton's steps, in deviations of the tilted sum

}  // namespace

Contour::Sum Contour::sum(double epsilon) const noexcept {
    const double first = total([](const Group& g) { return g.at.first; });
    const double second = total([](const Group& g) { return g.at.second; });
    const double count = total([](const Group& g) { return g.total_count; });
    const double value_at = total([](const Group& g) { return g.at.value; });
    const Group &fixed = groups_[0], &repeated = groups_[1];
    const LineSums line = sum_line({{fixed.log_modulus.data(), repeated.log_modulus.data()},
                                    {fixed.phase.data(), repeated.phase.data()},
                                    nodes_,
                                    repeated.times,
                                    t_,
                                    step_,
                                    first - epsilon,
                                    rounding_,
                                    second,
                                    2.0 * count,  // sum count E min(y^2 d^2/2, 2 + 2 |y d|), by Cauchy-Schwarz
                                    2.0 * std::sqrt(count * second),
                                    rounding_of_mean_ * std::fabs(first)});
    const double value = 0.5 + line.value, unit = t_ * (t_ + 1.0);
    const double y = static_cast<double>(nodes_) * step_;
    const double tail = std::exp(total([](const Group& g) { return g.log_tail; })) * unit / (step_ * y);
    const double exponent = value_at - t_ * epsilon;
    const double absolute = total([](const Group& g) { return g.at.error; }) +
                            2.0 * kUnitRoundoff * (std::fabs(value_at) + t_ * std::fabs(epsilon));
    return {exponent - std::log(t_) - std::log1p(t_) + std::log(step_ / kPi) + std::log(value),
            (line.slope - 0.5 * t_) / value,
            kUnitRoundoff * (line.error / value + 16.0 + std::fabs(exponent)) + absolute + tail / value};
}

double Contour::log_aliasing(double epsilon) const noexcept {
    const double period = 2.0 * kPi / step_;
    const auto log_bound = [&](const Bound& bound) {
        const double s = bound.tilt, ratio = std::exp(-std::fabs(t_ - s) * period);
        return value_of(bound) - s * epsilon + log_kernel_peak(s) + std::log(ratio / (1.0 - ratio));
    };
    const double a = log_bound(below_), b = log_bound(above_);
    return std::max(a, b) + std::log1p(std::exp(-std::fabs(a - b))) + 1e-9;
}

Bracket Contour::delta(double epsilon) const noexcept {
    if (nodes_ == 0) return kNoBracket;
    const Sum s = sum(epsilon);
    const double alias = std::exp(log_aliasing(epsilon) - s.log_value) + kUnitRoundoff;
    const double value = std::exp(s.log_value), beyond = total([](const Group& g) { return g.beyond; });
    const double upper = std::max(value * (1.0 + s.error) + beyond, kSmallestNormal);
    return {std::max(0.0, value * (1.0 - s.error - alias)), std::isnan(upper) ? 1.0 : std::min(upper, 1.0)};
}

// Newton on the fixed contour, then outward by what the bracket of log delta is wide: along the slope where that is
// next to nothing, and checked where it is not.
Bracket Contour::epsilon(double delta) const noexcept {
    if (nodes_ == 0) return kNoBracket;
    const double log_delta = std::log(delta);
    // Where delta is next to 1 its logarithm is flat, and Newton's step far beyond the sum.
    const double farthest = kLongest * std::sqrt(total([](const Group& g) { return g.at.second; }));
    double epsilon = guess_;
    Sum s = sum(epsilon);
    for (int i = 0; i < 20; ++i) {
        const double newton = (log_delta - s.log_value) / s.slope, move = std::clamp(newton, -farthest, farthest);
        if (!std::isfinite(newton) || !(s.slope < 0.0)) return kNoBracket;
        if (std::fabs(move * s.slope) < 1e-13) break;
        epsilon += move;
        s = sum(epsilon);
    }
    const double slack = 8.0 * kUnitRoundoff * (1.0 + std::fabs(log_delta));
    const double residual = s.log_value - log_delta;
    const double alias = std::exp(log_aliasing(epsilon) - s.log_value);
    const double beyond = total([](const Group& g) { return g.beyond; }) / delta;
    const double excess = std::max(residual, 0.0) + s.error + slack + beyond;
    const double deficit = std::max(-residual, 0.0) + s.error + alias + slack;
    if (!(excess + deficit < kInfinity)) return kNoBracket;
    const Bracket found{epsilon - 1.25 * deficit / -s.slope, epsilon + 1.25 * excess / -s.slope};
    return excess + deficit < kStraight ? found : widened(delta, found);
}

// Moves both ends outward until delta there is certainly on the right side.
Bracket Contour::widened(double delta, Bracket around) const noexcept {
    const double width = around.upper - around.lower;
    int turns = kMostWidenings;
    for (double move = width; turns > 0 && !(this->delta(around.upper).upper <= delta); --turns, move *= 2.0)
        around.upper += move;
    for (double move = width; turns > 0 && !(this->delta(around.lower).lower >= delta); --turns, move *= 2.0)
        around.lower -= move;
    return turns > 0 ? around : kNoBracket;
}

}  // namespace renyi
