// The privacy loss of one Poisson-sampled Gaussian step under its tilted law, on a vertical line of the transform.
//
// With l = log mu/mu0, the law tilted to order alpha has the density n(u) (1+x)^alpha / A(alpha), and
//     A(alpha + i y) / A(alpha) = e^{i y m} (1 + R + i I),   m = E l,  d = l - m,
//     R = E[cos(y d) - 1],   I = E[sin(y d) - y d]          (E d = 0).
// R sums terms of one sign and |I| <= y^2 Var/2, so log of the bracket is right relative to y^2 Var however close to 1
// the characteristic function is: it may be multiplied by a billion steps.
//
// Trapezoidal rule in u = u_m + v, u_m the highest mode, t = l - l(u_m) = log1p(p_m expm1(v/sigma)). On Im u = a
//   alpha > 0   |integrand| <= e^{a^2/2 + y a/sigma} times the one on the axis, since |1+x| <= its real value and
//               |arg(1+x)| <= a/sigma, for a < pi sigma, where the branch points are;
//   alpha < 0   as in step_add (sampled_gaussian_quadrature.hpp), times e^{y a/sigma}, for a <= pi sigma/2;
// hence steps 2 pi a / (target + growth) with a proven aliasing error 2 e^-target (Trefethen, Weideman 2014, Thm 5.1).
//
// Decay: the same integral on the line Im u = b has modulus at most
//     J_b(y) = E[ e^{b^2/2} |(1+x)_b/(1+x)|^alpha e^{-y arg (1+x)_b} ],
// decreasing in y because 0 <= arg (1+x)_b: one value bounds |A(alpha + i y')| for every y' >= y. Its integrand is
// analytic where the lines b above and b below it are within the strip, and bounded there by growth(strip).
#pragma once

#include <cstddef>
#include <vector>

#include "renyi/fp/lanes.hpp"
#include "renyi/loss/sampled_gaussian_kernels.hpp"
#include "renyi/loss/sampled_gaussian_quadrature.hpp"

namespace renyi {

// Sums over nodes k of w_k (e^{y z_k} - 1 - y z_k) at equally spaced ordinates y, Re z_k <= 0, w_k and z_k complex:
// a characteristic function minus its linear part, by a rule of quadrature.
//
// With E_a = e^{a z} - 1 and F_a = E_a - a z,
//     E_{a+b} = E_a + E_b + E_a E_b,   F_{a+b} = F_a + F_b + E_a E_b,
// so that ordinates in groups of kPowers cost an exponential a node and group, and a product an ordinate.
//
// Rounding, a node, in units of u = 2^-53, x = |y z| and m(x) = min(x^2/2, 2 + 2 x): circular_excess and the product
// y z leave F_a right to 40 m(x_a) and E_a to 36 x_a, and what is three products deep to 54 x_a. As |E_a| <= min(x_a,
// 2), a product E_a E_b adds 93 x_a x_b, or 108 x where that is less. Since x_a^2/2 + x_b^2/2 + x_a x_b = (x_a +
// x_b)^2/2, every F is right to kPowerRounding m(x), however small x is: large numbers are never
// subtracted.

constexpr int kPowers = 8;                // ordinates that share an exponential
constexpr double kPowerRounding = 120.0;  // in units of u, as above

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

// The loops of TiltedLaw: the nodes of its integrals and the sums over them. Bounds: sampled_gaussian_tilted.cpp.
namespace renyi::tilted {

// Nodes on the real axis, a multiple of kLanes of them, and their weights under the tilted law relative to the mode.
struct Nodes {
    std::vector<double> v, weight;  // u - mode
    std::vector<double> t;          // l - l(mode)
    std::vector<double> posterior;  // of the sampled component

    std::size_t count() const noexcept { return v.size(); }
    void resize(std::size_t count);
};

// The parameters of a TiltedLaw that the kernels use.
struct Node {
    double alpha, c, mode, p, one_minus_p;
    double logit;  // log(p / one_minus_p), which may be beyond the range of their exponentials
};

// A line Im u = b = height, and versine and sine of b/sigma.
struct Line {
    double height, versine, sine;

    Line(double b, double c) noexcept;
};

// Turns weights of quadrature at the nodes v into those under the law, and fills in t and posterior.
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

namespace renyi {

// The nodes of one law for a range of ordinates: scratch space, filled anew for every law.
struct TiltedLine {
    tilted::Nodes nodes;
    ExponentialSums sums;
    double spacing = 0.0;
    double weight = 0.0;  // of all nodes
};

class TiltedLaw {
public:
    // Order alpha > 1 for Direction::remove, < 0 for Direction::add, between 0 and 1 for tilts in (-1, 0) of either.
    // mean = E l; log_count enters the accuracy: errors are small against 1/count. The law is that of u <= limit.
    TiltedLaw(double q, double sigma, Direction direction, double alpha, double mean, double log_count,
              double limit) noexcept;

    // E l from the nodes, right to 32u of l; d refers to this mean from now on.
    double recentre(TiltedLine& line);

    // Places the nodes that serve every ordinate up to y, multiples of a step.
    void lay(double y, double step, TiltedLine& line) const;

    // Adds count times log (1 + R + i I) at y = (first + j) step, j = 0 ... kLanes - 1; the loss is -l for
    // Direction::add.
    void add_log_characteristic(TiltedLine& line, double first, double count, double* log_modulus,
                                double* phase) const noexcept;

    // An upper bound of log |A(alpha + i y')/A(alpha)| for all y' >= y, <= 0.
    double log_decay(const TiltedLine& line, double y) const noexcept;

    // Relative rounding error of R and I up to y against y^2 Var, in units of u: weights far from the origin are
    // exponentials of differences of large numbers, and on a shifted line they are larger.
    double rounding(double y) const noexcept;

    // The same of E l, relative to l.
    double rounding_of_mean() const noexcept;

    // The number of nodes for the ordinates up to y.
    double cost(double y) const noexcept;

private:
    struct Window {
        double first, last;  // of v
    };

    double far() const noexcept;
    double edge_weight() const noexcept;
    double growth(double a) const noexcept;
    double strip() const noexcept;
    double step_for(double y) const noexcept;
    bool shifts(double y) const noexcept;
    double spacing_for(double y) const noexcept;
    void lay_nodes(double h, TiltedLine& line) const;
    void lay_grid(double h, tilted::Nodes& nodes) const;
    void lay_panels(double h, tilted::Nodes& nodes) const;

    SampledGaussianLaw law_;
    Direction direction_;
    double alpha_;
    double mode_, p_, one_minus_p_;  // p: posterior of the sampled component at the mode
    double loss_, centre_;           // l(u_m); l(u_m) - mean
    double target_;
    double shift_, shifted_step_;  // the line Im u = shift_, for large y
    Window windows_[2];
    int window_count_;
    double panel_ = 0.0;  // largest half-width of a panel, if there is an edge:
    bool edge_;           // the tilted law is not negligible at the limit
};

}  // namespace renyi
