// With y the distance over root = scale n^(1/2) and z = x/root the loss is
//
//     (n+1)/2 log(1 + 4 k v/(root (1 + z^2))),   k = 1/(2 root), v = x + 1/2,
//
// largest at v = (root^2 + 1/4)^(1/2). Log densities have the slope (n+1) z/(z^2 + root^2), singular at +-i root.
//
// Tails. Beyond y >= 2^10 the mass is root y^-n S(y), S(y) = sum_k binom(-(n+1)/2, k) y^-2k/(n + 2k), and for n < 107
// six terms leave (54 2^-20)^6 of it. Of both densities the masses have the ratio (y_far/y_near)^n S(y_near)/S(y_far).
#include "renyi/pair/student.hpp"

#include <algorithm>
#include <cmath>
#include <memory>

#include "renyi/pair/even_noise.hpp"

namespace renyi {

namespace {

constexpr double kDeepest = 740.0;
constexpr double kFar = 0x1p10, kFewDegrees = 107.0;

class Student {
public:
    Student(double degrees, double width)
        : degrees_(degrees),
          root_(width * std::sqrt(degrees)),
          tail_from(degrees < kFewDegrees ? kFar * root_ : kInfinity) {}

    OutputPoint at(double x, bool) const noexcept { return {scale * deep_exp(-depth(x)), loss(x)}; }
    double loss(double x) const noexcept {
        const double z = std::fabs(x) / root_, v = (x + 0.5) / root_, k = 2.0 / root_;
        const double excess = z <= 1.0 ? k * v / (1.0 + z * z) : k * (v / z) / (z + 1.0 / z);
        return 0.5 * (degrees_ + 1.0) * lane_log1p(excess);
    }

    bool fits(double c, double w) const noexcept { return fits_one(std::fabs(c), w) && fits_one(c + 1.0, w); }

    // The logarithm to 8u; a place wrong by u |x| moves it by (n+1) y^2/(1 + y^2) u at most.
    double mass_error(double a, double b) const noexcept {
        const double far = std::max(std::fabs(a), std::fabs(b)), y = std::min(far / root_, 1.0);
        return kUnitRoundoff * (32.0 + 8.0 * depth(far) + 2.0 * (degrees_ + 1.0) * y * y);
    }
    double loss_error(double a, double b) const noexcept {
        double error = 0.0;
        for (const double x : {a, b}) {
            const double slope = (x + 1.0) / (root_ * root_ + (x + 1.0) * (x + 1.0)) - x / (root_ * root_ + x * x);
            error = std::max(error, 40.0 * loss(x) + 4.0 * (degrees_ + 1.0) * std::fabs(x * slope));
        }
        return kUnitRoundoff * error;
    }

    std::vector<double> breaks() const {
        const double half = kDeepest / degrees_;  // (1 + y^2)^(-n/2) = e^-kDeepest
        const double reach = root_ * (half < 300.0 ? std::sqrt(std::expm1(2.0 * half)) : std::exp(half));
        const double turn = std::hypot(root_, 0.5) - 0.5;
        if (turn < reach) return {-0.5, turn, reach};
        return {-0.5, reach};
    }

    Span tail(double x) const noexcept {
        const double near = x / root_, apart = lane_log1p(1.0 / x), squared = 1.0 / (near * near);
        double term = 1.0, sum_near = 1.0 / degrees_, more = 0.0;  // more: S(near) - S(far)
        for (int k = 1; k <= 6; ++k) {
            term *= -(0.5 * (degrees_ + 1.0) + k - 1.0) / k * squared;
            sum_near += term / (degrees_ + 2.0 * k);
            more -= term / (degrees_ + 2.0 * k) * lane_expm1(-2.0 * k * apart);
        }
        const double mean = degrees_ * apart - lane_log1p(-more / sum_near), high = loss(x);
        const double p = scale * root_ * deep_exp(-degrees_ * lane_log(near)) * sum_near;
        const double mass_error = kUnitRoundoff * (32.0 + 8.0 * degrees_ * lane_log(near));
        return {0.0, std::min(mean, high), high, p, p * lane_exp(-mean), mass_error, 32.0 * kUnitRoundoff * high};
    }

    double scale = 1.0;
    static constexpr bool bounded = true;

private:
    // (n+1)/2 log(1 + y^2)
    double depth(double x) const noexcept {
        const double y = std::fabs(x) / root_;
        const double log = y <= 1.0 ? lane_log1p(y * y) : 2.0 * lane_log(y) + lane_log1p(1.0 / y / y);
        return 0.5 * (degrees_ + 1.0) * log;
    }

    // (n+1) |z|/|z^2 + root^2| on the disc of radius 8 w, half the sum of the inverse distances to the poles at most.
    bool fits_one(double d, double w) const noexcept {
        const double away = std::hypot(d, root_) - 8.0 * w;
        return away > 0.0 && 4.0 * w * (degrees_ + 1.0) * std::min(1.0, (d + 8.0 * w) / away) <= away;
    }

    double degrees_, root_;

public:
    double tail_from;
};

}  // namespace

PairPointer student_noise(double degrees, double scale) {
    return std::make_shared<const EvenNoise<Student>>(Student(degrees, scale));
}

}  // namespace renyi
