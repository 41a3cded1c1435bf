// Plain signatures, so that the two sets of kernels share no types.
#pragma once

#include <cstddef>

namespace baseline {

// Rows: weight, frequency, and imaginary weight and damping, or null.
void exponential_sums(const double* const (&rows)[4], std::size_t count, double step, double first, double* re,
                      double* im);

// What sum_line needs, for the type of either set of kernels. Rows: log_modulus and phase of both transforms; terms:
// times, t, step, drift, rounding, variance, flat, steep, mean.
template <class Terms>
Terms line_terms(const double* const (&rows)[4], std::size_t count, const double (&terms)[9]) {
    return {{rows[0], rows[1]}, {rows[2], rows[3]}, count,    terms[0], terms[1], terms[2],
            terms[3],           terms[4],           terms[5], terms[6], terms[7], terms[8]};
}

// out: value, slope, error.
void sum_line(const double* const (&rows)[4], std::size_t count, const double (&terms)[9], double (&out)[3]);

// law: alpha, c, mode, p, 1 - p; rows v and weight in, weight, t and posterior out.
double tilted_nodes(const double (&law)[5], const double* v, double* weight, double* t, double* posterior,
                    std::size_t count, double y, double height);

}  // namespace baseline
