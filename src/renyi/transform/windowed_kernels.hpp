// The hot loops over the nodes of a windowed law; arrays are padded with nodes of weight 0 to a multiple of kLanes.
// Fixed summation order: the same bits on every instruction set. Errors are in u.
#pragma once

#include <cstddef>

#include "renyi/fp/lanes.hpp"

namespace renyi::windowed {

// The hot loops of the characteristic function of a windowed law; arrays are padded with nodes of weight 0 to a
// multiple of kLanes. Fixed summation order: the same bits on every instruction set. Bounds stand in
// windowed_transform.cpp.
// d = loss - mean and the weights over their sum, with sums of their errors in u: of weight |e^{i y d} - 1 - i y d| it
// is y^2 quadratic, or constant and y linear.
struct NodeArrays {
    const double *weight, *loss, *rounding, *loss_error;
};
struct Centre {
    double sum, mean, tilt, additions;
};
struct TransformErrors {
    double quadratic, linear, constant;
    double moved;  // of weight e^{i y d}: constant and y moved
};
TransformErrors centre(const NodeArrays& nodes, std::size_t n, const Centre& at, double* weight, double* d) noexcept;

// sum weight d^m/m! for m = 2 ... kMoments + 1: the Taylor series of the excess, to 2^-60 where |y d| <= 1.
constexpr int kMoments = 18;
void sum_moments(const double* weight, const double* d, std::size_t n, double* moments) noexcept;

// Rows j = 0 ... kLanes - 1 of cos j step d - 1 and sin j step d, and their weighted sums.
void turn_rows(const double* weight, const double* d, std::size_t n, double step, double* cosine, double* sine,
               double* re, double* im) noexcept;

// weight (cos y d - 1) and weight sin y d, and their sums.
void turn_block(const double* weight, const double* d, std::size_t n, double y, double* cosine, double* sine,
                double& re, double& im) noexcept;

// sum (c + i v)(c' + i v') for the rows c' and v'.
void join(const double* cosine, const double* sine, const double* row_cosine, const double* row_sine, std::size_t n,
          double* re, double* im) noexcept;

constexpr double kBasic = 24.0;  // rounding errors of exp, the log-density and products
constexpr double kOpen = 9.0;    // 1 - Phi(9) < 2^-62: the window is 1

// weight = e^{log_weight + tilt loss - top}; returns the sum.
double tilt_weights(const double* log_weight, const double* loss, std::size_t n, double tilt, double top,
                    double* weight) noexcept;

double largest_exponent(const double* log_weight, const double* loss, std::size_t n, double tilt) noexcept;

// sum weight loss, sum weight (loss - centre)^2.
double first_moment(const double* weight, const double* loss, std::size_t n) noexcept;
double second_moment(const double* weight, const double* loss, std::size_t n, double centre) noexcept;

// sum weight (loss - mean)^2, and of what the sums of weight and of weight loss are off, for |tilt|.
struct Spread {
    double second, error, mean_error;
};
Spread sum_spread(const double* weight, const double* loss, const double* rounding, const double* loss_error,
                  std::size_t n, double mean, double additions, double tilt) noexcept;

// Sums of e^{log_weight} times the parts, all >= 0, of E[e^{t L}] - 1 and of its derivative in t (windowed_law.hpp),
// and their errors.
struct Excess {
    double value, slope, error, slope_error;
};
// Of a law with E[e^-L] = 1, or with E[L] = 0.
Excess sum_excess(const double* log_weight, const double* loss, const double* rounding, const double* loss_error,
                  std::size_t n, double tilt) noexcept;
Excess sum_centred_excess(const double* log_weight, const double* loss, const double* rounding,
                          const double* loss_error, std::size_t n, double tilt) noexcept;

// What a computed loss is off, absolutely, and the logarithm of the density. L+ rises with w by 1 - e^{least - L+} <=
// min(1, L+ - least), and w is off by 2 |w| u, the logarithm by 6 |L+| u. Of two sides both are off by (7 + 2 (c |x| +
// c^2/2)) u of themselves, and |L-| <= |least| where L+ decides.
struct LossFacts {
    double c, least;  // |least|
    bool two_sided, ratio, known;  // losses of which the error is known
};
void bound_losses(const LossFacts& law, const double* x, const double* v, std::size_t n, double* loss_error,
                  double* rounding) noexcept;

// Adds log Phi(u), u = sign (v - level) scale, and what it is off: it changes with u by phi/Phi.
struct StepAt {
    double level, scale, sign;  // scale = 1/width
};
void add_windows(const double* v, const double* loss_error, std::size_t n, const StepAt* steps, int count,
                 double* log_weight, double* rounding) noexcept;

}  // namespace renyi::windowed
