// Plain signatures, so that the two sets of kernels share no types.
#pragma once

#include <cstddef>

namespace baseline {

void fill_nodes(const double (&grid)[3], bool remove, double j0, std::size_t blocks, double* l, double* g,
                double* m);  // q, sigma, h
double sum_phi(const double* l, const double* m, std::size_t blocks, double s);
void sum_phi_derivatives(const double* l, const double* m, std::size_t blocks, double s, double center,
                         double (&out)[4]);
double sum_plain(const double* g, std::size_t blocks);
// peak: alpha, beta, tilt, c, h, u, drift, p, one_minus_p, logit, l, center
void sum_far(const double (&peak)[12], bool extreme, bool remove, double i0, double step, int count, double (&out)[6]);

int expansion_of(double q, double sigma, double alpha);
void log_a_expanded(int expansion, double q, double sigma, double alpha, double (&out)[2]);  // value, relative error

}  // namespace baseline
