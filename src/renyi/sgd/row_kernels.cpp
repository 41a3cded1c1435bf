#include "renyi/sgd/row_kernels.hpp"

#include <bit>

#include "renyi/fp/multiversion.hpp"

namespace renyi {

namespace {

RENYI_INLINE double widen(double x) noexcept { return x; }
RENYI_INLINE float widen(float x) noexcept { return x; }

// Binary16 to binary32 by moving the bits: exponents shift by 112, subnormals are normalised by a subtraction, the
// largest exponent stays the largest.
RENYI_INLINE float widen(Half x) noexcept {
    constexpr std::uint32_t kTop = 0x7c00u << 13, kShift = 112u << 23, kLeast = 113u << 23;
    const std::uint32_t magnitude = (x.bits & 0x7fffu) << 13;
    const std::uint32_t normal = magnitude + kShift + (magnitude >= kTop ? kShift : 0u);
    const float subnormal = std::bit_cast<float>(magnitude + kLeast) - std::bit_cast<float>(kLeast);
    const std::uint32_t found = magnitude < (1u << 23) ? std::bit_cast<std::uint32_t>(subnormal) : normal;
    return std::bit_cast<float>(found | ((x.bits & 0x8000u) << 16));
}

RENYI_INLINE double joined(double* lanes) noexcept {
    for (std::size_t half = kSumLanes / 2; half > 0; half /= 2)
        for (std::size_t i = 0; i < half; ++i) lanes[i] += lanes[i + half];
    return lanes[0];
}

// Into the second-level cache, a cache line for each that is read.
template <class In>
RENYI_INLINE void fetch(const void* ahead, std::size_t j) noexcept {
#if defined(__GNUC__)
    const auto from = reinterpret_cast<std::uintptr_t>(ahead) + j * sizeof(In);
    for (std::size_t line = 0; line < kSumLanes * sizeof(In); line += 64)
        __builtin_prefetch(reinterpret_cast<const void*>(from + line), 0, 2);
#endif
}

template <class In>
RENYI_INLINE double sum_squares_of(const In* __restrict row, std::size_t n, const void* ahead) noexcept {
    double lanes[kSumLanes] = {};
    std::size_t j = 0;
    for (; j + kSumLanes <= n; j += kSumLanes) {
        fetch<In>(ahead, j);
        for (std::size_t i = 0; i < kSumLanes; ++i) {
            const double x = widen(row[j + i]);
            lanes[i] += x * x;
        }
    }
    for (std::size_t i = 0; j + i < n; ++i) {
        const double x = widen(row[j + i]);
        lanes[i] += x * x;
    }
    return joined(lanes);
}

template <class In>
RENYI_INLINE double sum_squares_scaled_of(const In* __restrict row, std::size_t n, double scale) noexcept {
    double lanes[kSumLanes] = {};
    for (std::size_t j = 0; j < n; ++j) {
        const double x = widen(row[j]) * scale;
        lanes[j % kSumLanes] += x * x;
    }
    return joined(lanes);
}

template <class In>
RENYI_INLINE double largest_of(const In* __restrict row, std::size_t n) noexcept {
    double most = 0.0;
    for (std::size_t j = 0; j < n; ++j) {
        const double x = widen(row[j]);
        const double magnitude = x < 0.0 ? -x : x;
        most = most >= magnitude || most != most ? most : magnitude;  // a NaN is taken and kept
    }
    return most;
}

template <class In, class Sum>
RENYI_INLINE void add_of(Sum* __restrict sum, const In* __restrict row, Sum factor, std::size_t n,
                         const void* ahead) noexcept {
    std::size_t j = 0;
    for (; j + kSumLanes <= n; j += kSumLanes) {
        fetch<In>(ahead, j);
        for (std::size_t i = 0; i < kSumLanes; ++i) sum[j + i] += static_cast<Sum>(factor * widen(row[j + i]));
    }
    for (; j < n; ++j) sum[j] += static_cast<Sum>(factor * widen(row[j]));
}

template <class In, class Sum>
RENYI_INLINE void add_scaled_of(Sum* __restrict sum, const In* __restrict row, double factor, double scale,
                                std::size_t n) noexcept {
    for (std::size_t j = 0; j < n; ++j)
        sum[j] += static_cast<Sum>(factor * (scale * static_cast<double>(widen(row[j]))));
}

template <class In, class Sum>
RENYI_INLINE double add_and_sum_squares_of(Sum* __restrict sum, const In* __restrict row, Sum factor,
                                           const In* __restrict other, std::size_t n, const void* ahead) noexcept {
    double lanes[kSumLanes] = {};
    std::size_t j = 0;
    for (; j + kSumLanes <= n; j += kSumLanes) {
        fetch<In>(ahead, j);
        for (std::size_t i = 0; i < kSumLanes; ++i) {
            const double x = widen(other[j + i]);
            lanes[i] += x * x;
        }
        for (std::size_t i = 0; i < kSumLanes; ++i) sum[j + i] += static_cast<Sum>(factor * widen(row[j + i]));
    }
    for (std::size_t i = 0; j + i < n; ++i) {
        const double x = widen(other[j + i]);
        lanes[i] += x * x;
        sum[j + i] += static_cast<Sum>(factor * widen(row[j + i]));
    }
    return joined(lanes);
}

}  // namespace

// What the table points to: one function a pair of types, since only functions, not templates, are cloned.
namespace row_kernel {

#define RENYI_READERS(name, In)                                                                         \
    RENYI_MULTIVERSION double sum_squares_##name(const void* row, std::size_t n, const void* ahead) {   \
        return sum_squares_of(static_cast<const In*>(row), n, ahead);                                   \
    }                                                                                                   \
    RENYI_MULTIVERSION double sum_squares_scaled_##name(const void* row, std::size_t n, double scale) { \
        return sum_squares_scaled_of(static_cast<const In*>(row), n, scale);                            \
    }                                                                                                   \
    RENYI_MULTIVERSION double largest_##name(const void* row, std::size_t n) {                          \
        return largest_of(static_cast<const In*>(row), n);                                              \
    }

#define RENYI_ADDERS(name, In, Sum)                                                                                    \
    RENYI_MULTIVERSION void add_##name(void* sum, const void* row, double factor, std::size_t n, const void* ahead) {  \
        add_of(static_cast<Sum*>(sum), static_cast<const In*>(row), static_cast<Sum>(factor), n, ahead);               \
    }                                                                                                                  \
    RENYI_MULTIVERSION void add_scaled_##name(void* sum, const void* row, double factor, double scale,                 \
                                              std::size_t n) {                                                         \
        add_scaled_of(static_cast<Sum*>(sum), static_cast<const In*>(row), factor, scale, n);                          \
    }                                                                                                                  \
    RENYI_MULTIVERSION double add_and_sum_squares_##name(void* sum, const void* row, double factor, const void* other, \
                                                         std::size_t n, const void* ahead) {                           \
        return add_and_sum_squares_of(static_cast<Sum*>(sum), static_cast<const In*>(row), static_cast<Sum>(factor),   \
                                      static_cast<const In*>(other), n, ahead);                                        \
    }

RENYI_READERS(half, Half)
RENYI_READERS(single, float)
RENYI_READERS(twice, double)
RENYI_ADDERS(half_to_single, Half, float)
RENYI_ADDERS(single_to_single, float, float)
RENYI_ADDERS(twice_to_single, double, float)
RENYI_ADDERS(half_to_twice, Half, double)
RENYI_ADDERS(single_to_twice, float, double)
RENYI_ADDERS(twice_to_twice, double, double)

RENYI_MULTIVERSION void add_sums_single(float* __restrict total, const float* __restrict part, std::size_t n) {
    for (std::size_t j = 0; j < n; ++j) total[j] += part[j];
}

RENYI_MULTIVERSION void add_sums_twice(double* __restrict total, const double* __restrict part, std::size_t n) {
    for (std::size_t j = 0; j < n; ++j) total[j] += part[j];
}

}  // namespace row_kernel

void add_sums(float* total, const float* part, std::size_t n) noexcept { row_kernel::add_sums_single(total, part, n); }
void add_sums(double* total, const double* part, std::size_t n) noexcept { row_kernel::add_sums_twice(total, part, n); }

std::size_t size_of(Element element) noexcept { return std::size_t{2} << static_cast<int>(element); }

const RowKernels& row_kernels(Element element, bool wide_sum) noexcept {
    using namespace row_kernel;
#define RENYI_ROW(name, sum)                                                                  \
    {                                                                                         \
        sum_squares_##name, sum_squares_scaled_##name, largest_##name, add_##name##_to_##sum, \
            add_scaled_##name##_to_##sum, add_and_sum_squares_##name##_to_##sum               \
    }
    static const RowKernels table[3][2] = {{RENYI_ROW(half, single), RENYI_ROW(half, twice)},
                                           {RENYI_ROW(single, single), RENYI_ROW(single, twice)},
                                           {RENYI_ROW(twice, single), RENYI_ROW(twice, twice)}};
#undef RENYI_ROW
    return table[static_cast<int>(element)][wide_sum ? 1 : 0];
}

}  // namespace renyi
