// The hot loops of the characteristic function of a windowed law; arrays are padded with nodes of weight 0 to a
// multiple of kLanes. Fixed summation order: the same bits on every instruction set. Bounds stand in
// windowed_transform.cpp.
#pragma once

#include <cstddef>

#include "renyi/fp/lanes.hpp"

namespace renyi::windowed {

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

}  // namespace renyi::windowed
