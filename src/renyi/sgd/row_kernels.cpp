#include "renyi/sgd/row_kernels.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <type_traits>

#include "renyi/fp/multiversion.hpp"

namespace renyi {

namespace {

RENYI_INLINE double widen(double x) noexcept { return x; }
RENYI_INLINE float widen(float x) noexcept { return x; }
RENYI_INLINE float widen(Brain x) noexcept { return std::bit_cast<float>(static_cast<std::uint32_t>(x.bits) << 16); }

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
#if defined(__GNUC__)
#pragma GCC unroll 5  // to stay in registers
#endif
    for (std::size_t half = kSumLanes / 2; half > 0; half /= 2)
        for (std::size_t i = 0; i < half; ++i) lanes[i] += lanes[i + half];
    return lanes[0];
}

// A compiler that knows parts to lie side by side loads them at once and shuffles them apart, which takes longer than
// to convert each from memory.
template <class In>
RENYI_INLINE const In* unrelated(const In* row) noexcept {
#if defined(__GNUC__)
    asm("" : "+r"(row));
#endif
    return row;
}

// Singles Width at a time. Squares of halves and singles are exact in double: fused or not, the bits are the same.
template <std::size_t Width, bool Fused, class In>
RENYI_INLINE void add_squares(double* __restrict lanes, const In* __restrict row) noexcept {
    constexpr std::size_t kStep = std::is_same_v<In, float> ? Width : kSumLanes;
    constexpr bool kFused = Fused && !std::is_same_v<In, double>;
#if defined(__GNUC__)
#pragma GCC unroll 16
#endif
    for (std::size_t first = 0; first < kSumLanes; first += kStep) {
        const In* const some = unrelated(row + first);
        for (std::size_t i = first; i < first + kStep; ++i) {
            const double x = widen(some[i - first]);
            lanes[i] = kFused ? std::fma(x, x, lanes[i]) : lanes[i] + x * x;
        }
    }
}

template <std::size_t Width, bool Fused, class In>
RENYI_INLINE double sum_squares_of(const In* __restrict row, std::size_t n) noexcept {
    double lanes[kSumLanes] = {};
    std::size_t j = 0;
    for (; j + kSumLanes <= n; j += kSumLanes) {
        add_squares<Width, Fused>(lanes, row + j);
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

// To a multiple of the unit in the last place of shift, or not at all where that is 0.
RENYI_INLINE double rounded(double product, double shift) noexcept { return (product + shift) - shift; }
RENYI_INLINE float rounded(float product, double) noexcept { return product; }

template <std::size_t Rows, class In, class Sum>
RENYI_INLINE void add_rows(Sum* __restrict sum, const void* const* from, const double* by, double shift,
                           std::size_t n) noexcept {
    const In* rows[Rows];
    Sum factors[Rows];
    for (std::size_t r = 0; r < Rows; ++r) {
        rows[r] = static_cast<const In*>(from[r]);
        factors[r] = static_cast<Sum>(by[r]);
    }
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC ivdep
#endif
    for (std::size_t j = 0; j < n; ++j) {
        Sum total = sum[j];
        for (std::size_t r = 0; r < Rows; ++r)
            total += rounded(static_cast<Sum>(factors[r] * widen(rows[r][j])), shift);
        sum[j] = total;
    }
}

template <class In, class Sum>
RENYI_INLINE void add_of(Sum* sum, const void* const* rows, const double* factors, std::size_t count, double shift,
                         std::size_t n) noexcept {
    static_assert(kRowsAtOnce == 8);
    if (count >= 8) return add_rows<8, In>(sum, rows, factors, shift, n);
    if (count >= 4) {
        add_rows<4, In>(sum, rows, factors, shift, n);
        rows += 4, factors += 4, count -= 4;
    }
    if (count >= 2) {
        add_rows<2, In>(sum, rows, factors, shift, n);
        rows += 2, factors += 2, count -= 2;
    }
    if (count >= 1) add_rows<1, In>(sum, rows, factors, shift, n);
}

template <class In, class Sum>
RENYI_INLINE void add_scaled_of(Sum* __restrict sum, const In* __restrict row, double factor, double scale,
                                double shift, std::size_t n) noexcept {
    for (std::size_t j = 0; j < n; ++j)
        sum[j] += rounded(static_cast<Sum>(factor * (scale * static_cast<double>(widen(row[j])))), shift);
}

}  // namespace

// What the table points to: one function a pair of types, since only functions, not templates, are cloned.
namespace row_kernel {

// One body for each width of registers, so not by target_clones, which compiles one body three times. They are called,
// never pointed to: unoptimised, GCC would not choose between them.
#if defined(RENYI_HAS_CLONES)
#define RENYI_EACH_WIDTH(body, ...)                                                                             \
    __attribute__((target("arch=x86-64-v4"))) body(8, true, __VA_ARGS__)                                        \
        __attribute__((target("arch=x86-64-v3"))) body(4, true, __VA_ARGS__) __attribute__((target("default"))) \
        body(kSumLanes, false, __VA_ARGS__)
#else
#define RENYI_EACH_WIDTH(body, ...) body(kSumLanes, false, __VA_ARGS__)
#endif

#define RENYI_SUM_SQUARES(width, fused, name, In)                            \
    double read_##name(const void* row, std::size_t n) {                     \
        return sum_squares_of<width, fused>(static_cast<const In*>(row), n); \
    }

#define RENYI_READERS(name, In)                                                                         \
    RENYI_EACH_WIDTH(RENYI_SUM_SQUARES, name, In)                                                       \
    double sum_squares_##name(const void* row, std::size_t n) { return read_##name(row, n); }           \
    RENYI_MULTIVERSION double sum_squares_scaled_##name(const void* row, std::size_t n, double scale) { \
        return sum_squares_scaled_of(static_cast<const In*>(row), n, scale);                            \
    }                                                                                                   \
    RENYI_MULTIVERSION double largest_##name(const void* row, std::size_t n) {                          \
        return largest_of(static_cast<const In*>(row), n);                                              \
    }

#define RENYI_ADDERS(name, In, Sum)                                                                                  \
    RENYI_MULTIVERSION void add_##name(void* sum, const void* const* rows, const double* factors, std::size_t count, \
                                       double shift, std::size_t n) {                                                \
        add_of<In>(static_cast<Sum*>(sum), rows, factors, count, shift, n);                                          \
    }                                                                                                                \
    RENYI_MULTIVERSION void add_scaled_##name(void* sum, const void* row, double factor, double scale, double shift, \
                                              std::size_t n) {                                                       \
        add_scaled_of(static_cast<Sum*>(sum), static_cast<const In*>(row), factor, scale, shift, n);                 \
    }

RENYI_READERS(half, Half)
RENYI_READERS(single, float)
RENYI_READERS(twice, double)
RENYI_READERS(brain, Brain)
RENYI_ADDERS(half_to_single, Half, float)
RENYI_ADDERS(single_to_single, float, float)
RENYI_ADDERS(twice_to_single, double, float)
RENYI_ADDERS(brain_to_single, Brain, float)
RENYI_ADDERS(half_to_twice, Half, double)
RENYI_ADDERS(single_to_twice, float, double)
RENYI_ADDERS(twice_to_twice, double, double)
RENYI_ADDERS(brain_to_twice, Brain, double)

RENYI_MULTIVERSION void add_sums_single(float* __restrict total, const float* __restrict part, std::size_t n) {
    for (std::size_t j = 0; j < n; ++j) total[j] += part[j];
}

RENYI_MULTIVERSION void add_sums_twice(double* __restrict total, const double* __restrict part, std::size_t n) {
    for (std::size_t j = 0; j < n; ++j) total[j] += part[j];
}

}  // namespace row_kernel

void add_sums(float* total, const float* part, std::size_t n) noexcept { row_kernel::add_sums_single(total, part, n); }
void add_sums(double* total, const double* part, std::size_t n) noexcept { row_kernel::add_sums_twice(total, part, n); }

const RowKernels& row_kernels(Element element, bool wide_sum) noexcept {
    using namespace row_kernel;
#define RENYI_ROW(name, sum)                                                                  \
    {                                                                                         \
        sum_squares_##name, sum_squares_scaled_##name, largest_##name, add_##name##_to_##sum, \
            add_scaled_##name##_to_##sum                                                      \
    }
    static const RowKernels table[4][2] = {{RENYI_ROW(half, single), RENYI_ROW(half, twice)},
                                           {RENYI_ROW(single, single), RENYI_ROW(single, twice)},
                                           {RENYI_ROW(twice, single), RENYI_ROW(twice, twice)},
                                           {RENYI_ROW(brain, single), RENYI_ROW(brain, twice)}};
#undef RENYI_ROW
    return table[static_cast<int>(element)][wide_sum ? 1 : 0];
}

}  // namespace renyi
