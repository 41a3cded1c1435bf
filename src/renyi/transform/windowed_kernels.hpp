// The hot loops over the nodes of a windowed law; arrays are padded with nodes of weight 0 to a multiple of kLanes.
// Fixed summation order: the same bits on every instruction set. Bounds stand in windowed_law.cpp.
#pragma once

#include <cstddef>

#include "renyi/fp/lanes.hpp"

namespace renyi::windowed {

// weight = e^{log_weight + tilt loss - top}; returns the sum.
double tilt_weights(const double* log_weight, const double* loss, std::size_t n, double tilt, double top,
                    double* weight) noexcept;

double largest_exponent(const double* log_weight, const double* loss, std::size_t n, double tilt) noexcept;

// sum weight loss, sum weight (loss - centre)^2.
double first_moment(const double* weight, const double* loss, std::size_t n) noexcept;
double second_moment(const double* weight, const double* loss, std::size_t n, double centre) noexcept;

// Sums of e^{log_weight} times the parts, all >= 0, of E[e^{t L}] - 1 and of its derivative in t (windowed_law.cpp).
struct Excess {
    double value, slope, size;
};
Excess sum_excess(const double* log_weight, const double* loss, std::size_t n, double tilt) noexcept;

// sum weight (cos y d - 1) and sum weight (sin y d - y d) at y = (first + j) step, j = 0 ... kLanes - 1.
void add_excess(const double* weight, const double* d, std::size_t n, double first, double step, double* cosine,
                double* sine) noexcept;

// The same, or sum weight cos y d and sum weight sin y d, by turning e^{i y d} from one ordinate to the next: 15
// products of 3u each, whose error is absolute.
void turn_excess(const double* weight, const double* d, std::size_t n, double first, double step, double* cosine,
                 double* sine) noexcept;
void turn_whole(const double* weight, const double* d, std::size_t n, double first, double step, double* cosine,
                double* sine) noexcept;

// sum weight d^m/m! for m = 2 ... kMoments + 1: the Taylor series of the excess, to 2^-60 where |y d| <= 1.
constexpr int kMoments = 18;
void sum_moments(const double* weight, const double* d, std::size_t n, double* moments) noexcept;

// Sum of weight (e^E - 1), E the logarithm of what the modulus of the integrand is on the line Im x = a against that on
// the axis, for all ordinates beyond y. With p the posteriors of the sampled components in e^{L+} and e^{L-},
// m and arg the modulus and argument of 1 + p (e^{i theta} - 1):
//     E = a^2/2 + weighted log m_+ + slope (log m_+ - log m_-) - y (arg_+ + arg_-) + windows,
// and for every step of the window, at u + i v against u_0:  v^2/2 + log Phi(u) - log Phi(u_0).
struct DecayLine {
    double a, sine, versine;
    double weighted, slope, y;
};
struct DecayStep {
    double sign, width;
    const double *argument, *log_cdf;  // u_0 and log Phi(u_0) at the nodes
};
double sum_decay(const double* weight, const double* above, const double* below, std::size_t n, const DecayLine& line,
                 const DecayStep* steps, int count) noexcept;

}  // namespace renyi::windowed
