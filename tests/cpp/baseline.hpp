// Kernels a second time, for the baseline instruction set without vectorisation (see CMakeLists.txt), to compare the bits
// with. Plain signatures, so that the two sets share no types.
#pragma once

#include <cstddef>
#include <cstdint>

namespace baseline {

// Of the quadrature.

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

// Of a line of the transform.

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

// Of noise.

void noise(bool gaussian, const std::uint32_t* key, std::uint64_t first, double scale, double* numbers,
           std::size_t count);
void noise(bool gaussian, const std::uint32_t* key, std::uint64_t first, double scale, float* numbers,
           std::size_t count);

// Over tiles of rows.

double sum_squares(int element, const void* row, std::size_t n);
double sum_squares_scaled(int element, const void* row, std::size_t n, double scale);
double largest(int element, const void* row, std::size_t n);
void add(int element, bool wide_sum, void* sum, const void* const* rows, const double* factors, std::size_t count,
         double shift, std::size_t n);
void add_scaled(int element, bool wide_sum, void* sum, const void* row, double factor, double scale, double shift,
                std::size_t n);

}  // namespace baseline
