// Reading a contour that is placed: the trapezoidal sum, its errors, and the brackets of delta and epsilon.
#include <algorithm>
#include <cmath>

#include "renyi/curve/contour.hpp"

namespace renyi {

namespace {

constexpr double kPi = 0x1.921fb54442d18p1;
constexpr double kSlopeRounding = 0.5;  // of K', as a part of TiltedLaw::rounding
constexpr double kStraight = 1e-7;      // width in log delta over which the slope does not change by a quarter
constexpr int kMostWidenings = 24;

}  // namespace

Contour::Sum Contour::sum(double epsilon) const noexcept {
    const double first = total([](const Group& g) { return g.at.first; });
    const double second = total([](const Group& g) { return g.at.second; });
    const double count = total([](const Group& g) { return g.total_count; });
    const double value_at = total([](const Group& g) { return g.at.value; });
    const double drift = first - epsilon, unit = t_ * (t_ + 1.0), root = std::sqrt(count * second);
    double value = 0.5, slope = -0.5 * t_, error = 0.0;
    for (std::size_t j = 0; j < nodes_; ++j) {
        const double y = static_cast<double>(j + 1) * step_;
        const double angle = total([j](const Group& g) { return g.phase[j]; }) + y * drift;
        // unit / (z (z+1)) with z = t + i y
        const double re = unit - y * y, im = y * (2.0 * t_ + 1.0);
        const double norm = re * re + im * im;
        const double size = std::exp(total([j](const Group& g) { return g.log_modulus[j]; })) * unit / norm;
        const double cosine = std::cos(angle), sine = std::sin(angle);
        const double real = size * (re * cosine + im * sine), imaginary = size * (re * sine - im * cosine);
        value += real;
        slope -= t_ * real - y * imaginary;
        // sum count E min(y^2 d^2/2, 2 + 2 |y d|), by Cauchy-Schwarz
        const double size_of_log = std::min(0.5 * y * y * second, 2.0 * count + 2.0 * y * root);
        const double exponent = 4.0 * std::fabs(angle) + kSlopeRounding * rounding_ * y * std::fabs(first);
        error += size * std::sqrt(norm) * (16.0 + exponent + rounding_ * size_of_log);
    }
    const double y = static_cast<double>(nodes_) * step_;
    const double tail = std::exp(total([](const Group& g) { return g.log_tail; })) * unit / (step_ * y);
    const double exponent = value_at - t_ * epsilon;
    const double absolute = total([](const Group& g) { return g.at.error; }) +
                            2.0 * kUnitRoundoff * (std::fabs(value_at) + t_ * std::fabs(epsilon));
    return {exponent - std::log(t_) - std::log1p(t_) + std::log(step_ / kPi) + std::log(value), slope / value,
            kUnitRoundoff * (error / value + 16.0 + std::fabs(exponent)) + absolute + tail / value};
}

double Contour::log_aliasing(double epsilon) const noexcept {
    const double period = 2.0 * kPi / step_;
    const auto bound = [&](double s, double value) {
        const double ratio = std::exp(-std::fabs(t_ - s) * period);
        return value - s * epsilon + log_kernel_peak(s) + std::log(ratio / (1.0 - ratio));
    };
    const double a = bound(below_, total([](const Group& g) { return g.below_value; }));
    const double b = bound(above_, total([](const Group& g) { return g.above_value; }));
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
    double epsilon = guess_;
    Sum s = sum(epsilon);
    for (int i = 0; i < 20; ++i) {
        const double move = (log_delta - s.log_value) / s.slope;
        if (!std::isfinite(move) || !(s.slope < 0.0)) return kNoBracket;
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
