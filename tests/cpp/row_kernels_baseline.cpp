// The loops over tiles a second time, see baseline.hpp and CMakeLists.txt, in a namespace of their own.
#include "baseline.hpp"

#include "renyi/fp/multiversion.hpp"

#undef RENYI_HAS_CLONES
#undef RENYI_MULTIVERSION
#define RENYI_MULTIVERSION
#define renyi renyi_baseline
#include "renyi/sgd/rows.cpp"
#undef renyi

namespace baseline {

namespace {

const renyi_baseline::RowKernels& kernels(int element, bool wide_sum) {
    return renyi_baseline::row_kernels(static_cast<renyi_baseline::Element>(element), wide_sum);
}

}  // namespace

double sum_squares(int element, const void* row, std::size_t n) { return kernels(element, true).sum_squares(row, n); }

double sum_squares_scaled(int element, const void* row, std::size_t n, double scale) {
    return kernels(element, true).sum_squares_scaled(row, n, scale);
}

double largest(int element, const void* row, std::size_t n) { return kernels(element, true).largest(row, n); }

void add(int element, bool wide_sum, void* sum, const void* const* rows, const double* factors, std::size_t count,
         double shift, std::size_t n) {
    kernels(element, wide_sum).add(sum, rows, factors, count, shift, n);
}

void add_scaled(int element, bool wide_sum, void* sum, const void* row, double factor, double scale, double shift,
                std::size_t n) {
    kernels(element, wide_sum).add_scaled(sum, row, factor, scale, shift, n);
}

}  // namespace baseline
