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
//   alpha < 0   as in step_add (sampled_gaussian_grid.hpp), times e^{y a/sigma}, for a <= pi sigma/2;
// hence steps 2 pi a / (target + growth) with a proven aliasing error 2 e^-target (Trefethen, Weideman 2014, Thm 5.1).
//
// Decay: the same integral on the line Im u = b has modulus at most
//     J_b(y) = E[ e^{b^2/2} |(1+x)_b/(1+x)|^alpha e^{-y arg (1+x)_b} ],
// decreasing in y because 0 <= arg (1+x)_b: one value bounds |A(alpha + i y')| for every y' >= y. Its integrand is
// analytic where the lines b above and b below it are within the strip, and bounded there by growth(strip).
#pragma once

#include "renyi/loss/sampled_gaussian_tilted_kernels.hpp"
#include "renyi/loss/sampled_gaussian_kernels.hpp"
#include "renyi/loss/sampled_gaussian_law.hpp"

namespace renyi {

// The nodes of one law for a stretch of ordinates: scratch space, laid anew for every law.
struct TiltedLine {
    tilted::Nodes nodes;
    ExponentialSums sums;
    double spacing = 0.0;
    double weight = 0.0;  // of all nodes
};

class TiltedLaw {
public:
    // Order alpha > 1 for Direction::remove, < 0 for Direction::add; mean = E l; log_count enters the accuracy: errors
    // are small against 1/count. The law is that of u <= limit, where the integrand has died down.
    TiltedLaw(double q, double sigma, Direction direction, double alpha, double mean, double log_count,
              double limit) noexcept;

    // E l from the nodes, right to 32u of l, and from now on the mean that d refers to.
    double recentre(TiltedLine& line);

    // Lays the nodes that serve every ordinate up to y, multiples of a step.
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

    // How many nodes serve the ordinates up to y.
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
    bool edge_;           // the tilted law does not die down before the limit
};

}  // namespace renyi
