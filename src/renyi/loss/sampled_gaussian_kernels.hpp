// The inner loops of the quadrature of log A: blocks of 16 nodes, no allocation, fixed summation order.
//
// Notation (u = z/sigma, c = 1/sigma, n = standard normal density without 1/sqrt(2 pi)):
//   w = u c - c^2/2,  x = q expm1(w),  y = 1 + x,  l = log y
// With b = s = alpha - 1 and m = n y, g = n ((1+x) log1p(x) - x)     for alpha > 1,
//      b = |alpha|, s = alpha and m = n,   g = n (x - log1p(x))      for alpha < 0 (Direction::add),
// the integrand of A - 1 is  n ((1+x)^alpha - 1 - alpha x) = b g + m phi(s l):  every piece is >= 0.
#pragma once

#include <cstddef>

#include "renyi/fp/double_double.hpp"
#include "renyi/fp/lanes.hpp"
#include "renyi/loss/sampled_gaussian.hpp"

namespace renyi {

// c = 1/sigma and c^2/2, to double-double precision.
struct InverseNoise {
    double c, c_lo;
    DoubleDouble half_square;
};

RENYI_INLINE InverseNoise inverse_of(double sigma) noexcept {
    const double c = 1.0 / sigma;
    const DoubleDouble product = two_prod(c, sigma), square = two_prod(c, c);
    const double c_lo = ((1.0 - product.hi) - product.lo) * c;
    return {c, c_lo, fast_two_sum(0.5 * square.hi, 0.5 * square.lo + c * c_lo)};
}

// (q, sigma) and the grid u_j = j h. h has 12 significant bits and c1 26,
// so that u_j, u_j^2 and u_j c1 are exact for |j| < 2^14.
struct Grid {
    double q, one_minus_q;
    double c, c1, c2, c3;         // c = c1 + c2 + c3 to double-double precision
    DoubleDouble half_c_squared;  // c^2/2
    double h;
    // The other members are functions of these.
    bool operator==(const Grid& o) const noexcept { return q == o.q && c == o.c && c3 == o.c3 && h == o.h; }
};

Grid make_grid(double q, double sigma, double h) noexcept;
double round_step(double h, int bits = 12) noexcept;  // rounds down to `bits` significant bits; h > 0 and normal

struct NodeArrays {
    double *l, *g, *m;
};

// Fills nodes j0 ... j0 + 16 blocks - 1. n is 0 beyond |u| = 37.6. Requires w <= 700 where n is not 0.
void fill_nodes(const Grid& grid, Direction direction, double j0, std::size_t blocks, NodeArrays out) noexcept;

// A cache of the nodes of one grid for alpha > 1: they do not depend on the order.
class NodeTable {
public:
    // Returns nodes as fill_nodes computes them; null pointers if some are beyond the table.
    NodeArrays nodes(const Grid& grid, double j0, std::size_t blocks) noexcept;

private:
    static constexpr int kMost = 512;  // nodes on either side of u = 0

    NodeArrays at(int j) noexcept { return {l_ + kMost + j, g_ + kMost + j, m_ + kMost + j}; }

    Grid grid_{};
    int first_ = 0, last_ = 0;  // nodes first_ <= j < last_ are filled
    double l_[2 * kMost], g_[2 * kMost], m_[2 * kMost];
};

// Sums over nodes: value = sum m phi(s l); slope = sum m l expm1(s l);
// first, second = sum m e^(s l) (l - center)^(1, 2). Requires s l <= 700.
struct NodeSums {
    double value, slope, first, second;
};

double sum_phi(const double* l, const double* m, std::size_t blocks, double s) noexcept;
NodeSums sum_phi_derivatives(const double* l, const double* m, std::size_t blocks, double s, double center) noexcept;
double sum_plain(const double* g, std::size_t blocks) noexcept;
double sum_products(const double* a, const double* b, std::size_t blocks) noexcept;

// The far peak, relative to its reference node u_c (see sampled_gaussian_quadrature.cpp).
struct FarPeak {
    double alpha, beta;  // order of the integrand; alpha - 1
    double tilt;         // the order whose integrand exp(tilt l - u^2/2) weighs the nodes: alpha or 1
    double c, h;
    double u;               // u_c
    double drift;           // u_c - tilt c
    double p, one_minus_p;  // posterior weight of the sampled component at u_c: q e^w / y and (1-q) / y
    double logit;           // log(p / (1-p))
    bool extreme;   // |logit| > 500: the smaller of p and 1-p is negligible at u_c and may be below the smallest double
    double l;       // log y at u_c
    double center;  // shift of the derivative sums
    bool derivatives = true;  // if false, slope, first and second are not computed
};

struct FarSums {
    double value;  // sum of exp(E - E_c) times the positive-form factor
    double slope, first, second;
    double exponent;  // sum of value terms times the magnitude of the exponents that were added to form E
    double last;      // the value of the outermost node of the call
};

// Sums over up to 16 nodes i = i0, i0 + step, ... at u_c + i h; step = +1 or -1.
FarSums sum_far(const FarPeak& peak, Direction direction, double i0, double step, int count) noexcept;

}  // namespace renyi
