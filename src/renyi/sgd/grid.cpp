#include "renyi/sgd/grid.hpp"

#include <atomic>
#include <bit>

#include "renyi/fp/multiversion.hpp"
#include "renyi/sgd/threads.hpp"
#include "renyi/special/elementary.hpp"

namespace renyi {

namespace {

// x + 3 2^51 has the rounded x in its low bits.
template <class Real>
RENYI_INLINE bool add_row(const Real* __restrict row, double factor, double inverse_spacing,
                          std::int64_t* __restrict sum, std::size_t count) noexcept {
    std::int64_t outside = 0;
    for (std::size_t j = 0; j < count; ++j) {
        const double x = factor * static_cast<double>(row[j]) * inverse_spacing;
        outside |= __builtin_fabs(x) < 0x1p50 ? 0 : -1;
        sum[j] += std::bit_cast<std::int64_t>(x + kRoundShift) - std::bit_cast<std::int64_t>(kRoundShift);
    }
    return outside == 0;
}

RENYI_MULTIVERSION bool add_part(const float* row, double factor, double inverse_spacing, std::int64_t* sum,
                                 std::size_t count) noexcept {
    return add_row(row, factor, inverse_spacing, sum, count);
}

RENYI_MULTIVERSION bool add_part(const double* row, double factor, double inverse_spacing, std::int64_t* sum,
                                 std::size_t count) noexcept {
    return add_row(row, factor, inverse_spacing, sum, count);
}

template <class Real>
bool add(const Real* rows, const double* factors, std::size_t count, std::size_t dimension, double inverse_spacing,
         std::int64_t* sum, int threads) noexcept {
    constexpr std::size_t kPart = 1 << 12;  // 32 KiB of sums stay in cache over all rows
    std::atomic<bool> inside{true};
    parallel_for((dimension + kPart - 1) / kPart, threads, [&](std::size_t begin, std::size_t end) {
        for (std::size_t first = begin * kPart; first < std::min(dimension, end * kPart); first += kPart)
            for (std::size_t i = 0; i < count; ++i)
                if (factors[i] != 0.0 && !add_part(rows + i * dimension + first, factors[i], inverse_spacing,
                                                   sum + first, std::min(kPart, dimension - first)))
                    inside = false;
    });
    return inside;
}

}  // namespace

bool add_to_grid(const float* rows, const double* factors, std::size_t count, std::size_t dimension,
                 double inverse_spacing, std::int64_t* sum, int threads) noexcept {
    return add(rows, factors, count, dimension, inverse_spacing, sum, threads);
}

bool add_to_grid(const double* rows, const double* factors, std::size_t count, std::size_t dimension,
                 double inverse_spacing, std::int64_t* sum, int threads) noexcept {
    return add(rows, factors, count, dimension, inverse_spacing, sum, threads);
}

}  // namespace renyi
