// Sums over nodes k of w_k (e^{y z_k} - 1 - y z_k) at equally spaced ordinates y, Re z_k <= 0, w_k and z_k complex:
// what a characteristic function minus its linear part is on a rule of quadrature.
//
// With E_a = e^{a z} - 1 and F_a = E_a - a z,
//     E_{a+b} = E_a + E_b + E_a E_b,   F_{a+b} = F_a + F_b + E_a E_b,
// so that ordinates in groups of kPowers cost an exponential a node and group, and a product an ordinate.
//
// Rounding, a node, in units of u = 2^-53, with x = |y z| and m(x) = min(x^2/2, 2 + 2 x): circular.hpp and the product
// y z leave F_a right to 40 m(x_a) and E_a to 36 x_a, and what is three products deep to 54 x_a. As |E_a| <= min(x_a,
// 2), a product E_a E_b adds 93 x_a x_b, or 108 x where that is less. Since x_a^2/2 + x_b^2/2 + x_a x_b = (x_a +
// x_b)^2/2, every F is right to kPowerRounding m(x), however small x is: nothing is left over from a difference of
// large numbers.
#pragma once

#include <cstddef>
#include <vector>

#include "renyi/fp/lanes.hpp"

namespace renyi {

constexpr int kPowers = 8;                // ordinates that share an exponential
constexpr double kPowerRounding = 120.0;  // see above

struct ComplexSum {
    double re = 0.0, im = 0.0;
};

class ExponentialSums {
public:
    // count is a multiple of kLanes. The rows below are to be filled in before set_step: w, and z = -damping + i
    // frequency. Undamped nodes have real weights; they cost half as much.
    void resize(std::size_t count, bool damped);

    std::size_t count() const noexcept { return weight.size(); }

    void set_step(double step) noexcept;

    // The sums at y = (first + j) step, j = 0 ... kLanes - 1.
    void at(double first, double* re, double* im) noexcept;

    std::vector<double> weight, weight_im, damping, frequency;

private:
    struct Row {
        double *re, *im;
    };

    Row row(int b) noexcept;
    ComplexSum fill(Row row, double y) noexcept;
    void weigh(Row row) noexcept;
    ComplexSum product(Row a, Row b) const noexcept;

    double step_ = 0.0;
    std::vector<double> table_;      // E_b, b = 1 ... kPowers - 1 steps, and w E of a group
    ComplexSum sums_[kPowers] = {};  // of the F_b
};

}  // namespace renyi
