// The hot loops of the tilted law: sums of exponentials over its nodes, and the nodes themselves. Fixed summation order.
#pragma once

#include <cstddef>
#include <vector>

#include "renyi/fp/lanes.hpp"

namespace renyi {

// Sums over nodes k of w_k (e^{y z_k} - 1 - y z_k) at equally spaced ordinates y, Re z_k <= 0, w_k and z_k complex:
// what a characteristic function minus its linear part is on a rule of quadrature.
//
// With E_a = e^{a z} - 1 and F_a = E_a - a z,
//     E_{a+b} = E_a + E_b + E_a E_b,   F_{a+b} = F_a + F_b + E_a E_b,
// so that ordinates in groups of kPowers cost an exponential a node and group, and a product an ordinate.
//
// Rounding, a node, in units of u = 2^-53, with x = |y z| and m(x) = min(x^2/2, 2 + 2 x): circular_excess and the
// product y z leave F_a right to 40 m(x_a) and E_a to 36 x_a, and what is three products deep to 54 x_a. As |E_a| <=
// min(x_a, 2), a product E_a E_b adds 93 x_a x_b, or 108 x where that is less. Since x_a^2/2 + x_b^2/2 + x_a x_b =
// (x_a + x_b)^2/2, every F is right to kPowerRounding m(x), however small x is: nothing is left over from a difference of
// large numbers.

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

// The hot loops of TiltedLaw: the nodes of its integrals and what is summed over them.
//
// Bounds: see sampled_gaussian_tilted.cpp.
namespace renyi::tilted {

// Nodes on the real axis, a multiple of kLanes of them, and their weights under the tilted law relative to the mode.
struct Nodes {
    std::vector<double> v, weight;  // u - mode
    std::vector<double> t;          // l - l(mode)
    std::vector<double> posterior;  // of the sampled component

    std::size_t count() const noexcept { return v.size(); }
    void resize(std::size_t count);
};

// What the kernels need of a TiltedLaw.
struct Node {
    double alpha, c, mode, p, one_minus_p;
    double logit;  // log(p / one_minus_p), which may be beyond the range of their exponentials
};

// A line Im u = b = height, and versine and sine of b/sigma.
struct Line {
    double height, versine, sine;

    Line(double b, double c) noexcept;
};

// Turns weights of quadrature at the nodes v into those under the law, and fills in the rest.
void fill(const Node& at, Nodes& nodes) noexcept;

// The same nodes on a line: complex weights, the argument of 1+x, and l - l(mode).
struct Shifted {
    double *re, *im, *argument, *loss;
};
void shift(const Nodes& nodes, double alpha, double mode, const Line& line, Shifted out) noexcept;

double sum_weights(const Nodes& nodes) noexcept;
double sum_losses(const Nodes& nodes) noexcept;
double sum_posterior(const Nodes& nodes) noexcept;

// E[e^E - 1] of the decay bound on a line: E = b^2/2 + alpha log m - y a with m and a the modulus and argument of
//     (1+x)_b / (1+x) = 1 + r (e^{i theta} - 1),   r the posterior at the node, theta = b/sigma <= pi/2,
// and atan s >= 3 s / (1 + 2 sqrt(1 + s^2)) (Shafer 1966) for a.
double sum_decay(const Nodes& nodes, double alpha, double y, const Line& line) noexcept;

}  // namespace renyi::tilted
