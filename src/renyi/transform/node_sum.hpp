// Sums over the nodes of a vertical line z_j = t + i y_j, y_j = j h, j = 1, 2, ...: with
// c_j = M(z_j)/(z_j (z_j + shift)) in units of M(t)/(t (t + shift)), turned by a centre,
//     value = 1/2 + sum_j Re(c_j e^{i y_j d}),   slope = -t/2 - sum_j Re(z_j c_j e^{i y_j d}).
// Each turn is a product e^{i y_g d} e^{i r h d}, the first factor of a group of kLanes nodes and the second of a place
// in the group, so that a node costs one product.
#pragma once

#include <cmath>
#include <cstddef>
#include <numbers>
#include <vector>

#include "renyi/fp/certified.hpp"

namespace renyi {

// log(h/(pi |t| (t + shift))), the logarithm of the factor of a sum over the nodes of a line, and the rounding error of
// the logarithms and of their sum with an exponent.
struct LineFactor {
    double log, rounding;
};

inline LineFactor line_factor(double t, double step, double shift) noexcept {
    const double of_step = std::log(step / std::numbers::pi);
    const double of_t = std::log(std::fabs(t)), of_shifted = std::log(t + shift);
    const double size = std::fabs(of_step) + std::fabs(of_t) + std::fabs(of_shifted);
    return {of_step - of_t - of_shifted, (kSystemError + 4.0 * kUnitRoundoff) * (1.0 + size)};
}

class NodeSum {
public:
    struct Sum {
        double value, slope;
        double error;   // of the value
        double kernel;  // 1/2 + sum |t (t + shift)/(z_j (z_j + shift))|
    };

    // Starts a line at t with step h, without nodes; shift is 1 or 0.
    void begin(double t, double step, double shift = 1.0);
    // Adds M(z_j)/M(t), turned by the centre, and its error, in ascending order of j; in all a multiple of kLanes
    // nodes.
    void add(double re, double im, double error);
    std::size_t size() const noexcept { return re_.size(); }

    // The integral of M(z) e^{-z eps}/(z (z + shift)) by the rule, the slope of its logarithm in eps, and an error:
    // `log_value` is log M(t) - t eps with its error, `quadrature` the error of M(z_j) and e^log_tail a bound of M(z)
    // beyond the nodes, both relative to M(t).
    struct Reading {
        double value, slope, error;
    };
    Reading read(double centre, double epsilon, double log_value, double log_error, double quadrature,
                 double log_tail) const noexcept;
    // The aliases that Chernoff's bound at another tilt leaves.
    double alias(double tilt, double log_chernoff) const noexcept {
        return std::exp(log_chernoff) / std::expm1(std::fabs(t_ - tilt) * (2.0 * std::numbers::pi / step_));
    }

    // The sums at d = drift, a difference from a number of size `from`.
    Sum at(double drift, double from) const noexcept;

private:
    double t_ = 0.0, step_ = 0.0, shift_ = 1.0;
    std::vector<double> re_, im_;  // of c_j
    double kernel_ = 0.5, error_ = 0.0;
    double size_ = 0.0, size_by_y_ = 0.0;  // sum |c_j|, sum y_j |c_j|
};

}  // namespace renyi
