// The loops over tiles for the baseline instruction set, without vectorisation: to compare the bits with.
#pragma once

#include <cstddef>

namespace baseline {

double sum_squares(int element, const void* row, std::size_t n);
double sum_squares_scaled(int element, const void* row, std::size_t n, double scale);
double largest(int element, const void* row, std::size_t n);
void add(int element, bool wide_sum, void* sum, const void* const* rows, const double* factors, std::size_t count,
         double shift, std::size_t n);
void add_scaled(int element, bool wide_sum, void* sum, const void* row, double factor, double scale, double shift,
                std::size_t n);

}  // namespace baseline
