// The log moment generating function of the privacy loss of the Poisson-sampled Gaussian mechanism.
//
//     log A(alpha) = log E_{z ~ mu0}[ (mu(z)/mu0(z))^alpha ],   mu0 = N(0, sigma^2),  mu = (1-q) mu0 + q N(1, sigma^2)
//
// Mironov, Talwar, Zhang 2019 (arXiv 1908.10530): log A(alpha)/(alpha-1) is the Renyi-DP of order alpha > 1
// (remove direction, Theorems 4 and 5); log A(-z) is the log moment of the add direction.
// Domain of every function: q = 0 or in [1e-100, 1], sigma in [1e-100, inf], alpha in [-1e6, 0] or [1, 1e6]; NaN
// outside. The accuracy is proven for sigma in [0.01, 1e6] and q = 0 or q in [1e-12, 1].
#pragma once

#include <complex>
#include <cstddef>

#include "renyi/fp/certified.hpp"

namespace renyi {

// Which of two neighbouring data sets holds the record. remove: P is the law of the output with the record and Q that
// without it; add: the other way round.
enum class Direction { remove, add };

// Equal steps of a composition.
struct SampledStep {
    double q, sigma, count;  // q = 1: the plain Gaussian mechanism
    int records = 1;         // records added or removed together, each sampled by its own coin; more than 1 need q < 1
};

class NodeTable;

struct LogADerivatives {
    Certified value;
    double first;   // d/dalpha   log A
    double second;  // d2/dalpha2 log A, >= 0
};

// Returns log A by the fastest algorithm: closed forms at the limits (q = 0, q = 1, sigma = inf, alpha = 0 or 1), the
// binomial expansion where it converges (sampled_gaussian_expansion.hpp) or alpha is a small integer, the quadrature
// elsewhere. An array is evaluated faster than its points one by one, with the same bits.
Certified log_a(double q, double sigma, double alpha) noexcept;
void log_a(const double* q, const double* sigma, const double* alpha, std::size_t size, Certified* out) noexcept;
std::complex<double> log_a(double q, double sigma, std::complex<double> alpha) noexcept;

// Three independent algorithms for log A.
Certified log_a_binomial(double q, double sigma, double alpha) noexcept;    // integer alpha >= 1, sigma >= 1e-3
Certified log_a_series(double q, double sigma, double alpha) noexcept;      // see sampled_gaussian_series.cpp
Certified log_a_quadrature(double q, double sigma, double alpha) noexcept;  // the whole domain

LogADerivatives log_a_derivatives(double q, double sigma, double alpha) noexcept;

// The same bits, faster where a table is kept for several orders of one (q, sigma).
LogADerivatives log_a_derivatives_kept(double q, double sigma, double alpha, NodeTable* table) noexcept;

// log_a_derivatives over the part of mu0 with u = z/sigma <= limit, for alpha > 1 and 0 < q < 1; alpha may exceed 1e6.
LogADerivatives log_a_below(double q, double sigma, double alpha, double limit) noexcept;

// The same for 0 < alpha < 1 and 0 < q <= 1, where log A <= 0; right to about 1e-14 q absolutely.
LogADerivatives log_a_between(double q, double sigma, double alpha) noexcept;

// The doubles nearest to log A(alpha) and to the Renyi divergence log A(alpha)/(alpha-1) of the sampled Gaussian, by
// Ziv's strategy: the trapezoidal sum in double-double with a proven bound of its error, some 2^-70 relatively. NaN
// where this error does not decide the rounding, outside of alpha > 1 (the divergence: >= 1), 1e-12 <= q < 1, 0.05 <=
// sigma <= 1e6, and where exponents of doubles overflow; callers then need more digits.
double log_a_nearest(double q, double sigma, double alpha) noexcept;
double rdp_sampled_gaussian_nearest(double q, double sigma, double alpha) noexcept;

// The Renyi divergence log A(alpha)/(alpha-1) for alpha >= 1; at alpha = 1 the Kullback-Leibler divergence.
Certified rdp_sampled_gaussian(double q, double sigma, double alpha) noexcept;
void rdp_sampled_gaussian(const double* q, const double* sigma, const double* alpha, std::size_t size,
                          Certified* out) noexcept;

}  // namespace renyi
