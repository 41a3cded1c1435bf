#include "renyi/sgd/rows.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <type_traits>

#include "renyi/fp/multiversion.hpp"

namespace renyi {

namespace {

RENYI_INLINE double widen(double x) noexcept { return x; }
RENYI_INLINE float widen(float x) noexcept { return x; }
RENYI_INLINE float widen(Brain x) noexcept { return std::bit_cast<float>(static_cast<std::uint32_t>(x.bits) << 16); }

// Converts binary16 to binary32 by moving the bits: exponents shift by 112, subnormals are normalised by a subtraction,
// the largest exponent stays the largest.
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

// Hides from the compiler that parts are adjacent: otherwise it loads them at once and shuffles them apart, which takes
// longer than converting each from memory.
template <class In>
RENYI_INLINE const In* unrelated(const In* row) noexcept {
#if defined(__GNUC__)
    asm("" : "+r"(row));
#endif
    return row;
}

// Adds the squares of kSumLanes elements, of singles `Width` at a time. Squares of halves and singles are exact in
// double: fused or not, the bits are the same.
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

// Rounds to a multiple of the unit in the last place of shift; does not round where shift is 0.
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

// The functions of the table: one for each pair of types, since only functions, not templates, are cloned.
namespace row_kernel {

// Each register width has its own body, so target_clones, which compiles one body three times, is not used. The bodies
// are called, never pointed to: without optimisation GCC would not choose between them.
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

RowArray::RowArray(const void* from, Element kind, std::ptrdiff_t row_step, const std::vector<std::size_t>& inner,
                   const std::vector<std::ptrdiff_t>& steps, bool aligned)
    : data(static_cast<const char*>(from)), element(kind), row_stride(row_step) {
    for (std::size_t axis = 0; axis < inner.size(); ++axis) {
        size *= inner[axis];
        if (inner[axis] == 1) continue;
        const auto span = static_cast<std::ptrdiff_t>(inner[axis]) * steps[axis];
        if (!shape.empty() && strides.back() == span) {
            shape.back() *= inner[axis];
            strides.back() = steps[axis];
        } else {
            shape.push_back(inner[axis]);
            strides.push_back(steps[axis]);
        }
    }
    const auto item = static_cast<std::ptrdiff_t>(size_of(element));
    rows_are_close = !strides.empty() && std::abs(row_stride) < std::abs(strides.back());
    contiguous = aligned && (shape.empty() || (shape.size() == 1 && strides[0] == item));
}

namespace {

// Copies `count` elements, `step` bytes apart, to contiguous memory.
template <class Bits>
void pack(const char* from, std::ptrdiff_t step, std::size_t count, char* to) noexcept {
    for (const char* const end = to + count * sizeof(Bits); to != end; to += sizeof(Bits), from += step)
        std::memcpy(to, from, sizeof(Bits));
}

// Prefetches the cache lines of some rows that lie closer than elements.
void fetch(const char* from, std::ptrdiff_t row_step, std::size_t rows) noexcept {
#if defined(__GNUC__)
    const std::ptrdiff_t bytes = std::abs(row_step) * static_cast<std::ptrdiff_t>(rows);
    const std::ptrdiff_t next = std::max<std::ptrdiff_t>(std::abs(row_step), 64);
    for (std::ptrdiff_t at = 0; at < bytes; at += next) __builtin_prefetch(from + (row_step < 0 ? -at : at));
#endif
}

constexpr std::size_t kSquare = 4;

// Transposes a square of elements that are adjacent across rows to rows of adjacent elements. Returns false where this
// is not supported.
template <class Bits>
bool transposes(const char* from, std::ptrdiff_t step, char* to) noexcept {
#if defined(__has_builtin)
#if __has_builtin(__builtin_shufflevector)
    if constexpr (sizeof(Bits) == 4) {
        typedef Bits Four __attribute__((vector_size(16)));
        Four in[kSquare];
        for (std::size_t i = 0; i < kSquare; ++i, from += step) std::memcpy(&in[i], from, sizeof in[i]);
        const Four low[] = {__builtin_shufflevector(in[0], in[1], 0, 4, 1, 5),
                            __builtin_shufflevector(in[2], in[3], 0, 4, 1, 5)};
        const Four high[] = {__builtin_shufflevector(in[0], in[1], 2, 6, 3, 7),
                             __builtin_shufflevector(in[2], in[3], 2, 6, 3, 7)};
        const Four out[] = {__builtin_shufflevector(low[0], low[1], 0, 1, 4, 5),
                            __builtin_shufflevector(low[0], low[1], 2, 3, 6, 7),
                            __builtin_shufflevector(high[0], high[1], 0, 1, 4, 5),
                            __builtin_shufflevector(high[0], high[1], 2, 3, 6, 7)};
        for (std::size_t r = 0; r < kSquare; ++r, to += kGatherPitch) std::memcpy(to, &out[r], sizeof out[r]);
        return true;
    }
#endif
#endif
    return false;
}

// Gathers a run along the innermost axis: `count` elements of every row, a stride apart. Where rows lie closer than
// elements, it gathers a few elements of all rows at a time, while the next few are prefetched.
template <class Bits>
void gather_run(const RowArray& array, const char* from, std::size_t rows, std::size_t count, char* to) noexcept {
    const std::ptrdiff_t step = array.strides.empty() ? 0 : array.strides.back();
    const std::ptrdiff_t row_step = array.row_stride;
    const auto at = [&](std::size_t r, std::size_t j) {
        return from + static_cast<std::ptrdiff_t>(r) * row_step + static_cast<std::ptrdiff_t>(j) * step;
    };
    if (!array.rows_are_close) return pack<Bits>(from, step, count, to);  // there is only one row
    const bool adjacent = row_step == sizeof(Bits);
    for (std::size_t j = 0; j < count; j += kSquare) {
        const std::size_t now = std::min(kSquare, count - j), next = std::min(kSquare, count - j - now);
        for (std::size_t i = 0; i < next; ++i) fetch(at(0, j + now + i), row_step, rows);
        std::size_t r = 0;
        if (adjacent && now == kSquare)
            while (r + kSquare <= rows && transposes<Bits>(at(r, j), step, to + r * kGatherPitch + j * sizeof(Bits)))
                r += kSquare;
        for (; r < rows; ++r) pack<Bits>(at(r, j), step, now, to + r * kGatherPitch + j * sizeof(Bits));
    }
}

template <class Bits>
void gather_as(const RowArray& array, std::size_t row, std::size_t rows, std::size_t first, std::size_t n,
               char* scratch) {
    const std::size_t inner = array.shape.empty() ? 1 : array.shape.back();
    while (n != 0) {
        // The address of index `first`, axis by axis from the last.
        const char* from = array.data + static_cast<std::ptrdiff_t>(row) * array.row_stride;
        std::size_t rest = first;
        for (std::size_t axis = array.shape.size(); axis-- > 0; rest /= array.shape[axis])
            from += static_cast<std::ptrdiff_t>(rest % array.shape[axis]) * array.strides[axis];
        const std::size_t count = std::min(n, inner - first % inner);
        gather_run<Bits>(array, from, rows, count, scratch);
        scratch += count * sizeof(Bits);
        first += count;
        n -= count;
    }
}

void gather(const RowArray& array, std::size_t row, std::size_t rows, std::size_t first, std::size_t n,
            char* scratch) noexcept {
    // Rows that lie far apart are gathered one after the other, so that their cache lines stay in the first-level
    // cache.
    const std::size_t some = array.rows_are_close ? rows : 1;
    for (std::size_t r = 0; r < rows; r += some) {
        char* const to = scratch + r * kGatherPitch;
        switch (array.element) {
            case Element::half:
            case Element::brain:
                gather_as<std::uint16_t>(array, row + r, some, first, n, to);
                break;
            case Element::single:
                gather_as<std::uint32_t>(array, row + r, some, first, n, to);
                break;
            case Element::twice:
                gather_as<std::uint64_t>(array, row + r, some, first, n, to);
                break;
        }
    }
}

}  // namespace

TileRows RowReader::read(const RowArray& array, std::size_t row, std::size_t rows, std::size_t first,
                         std::size_t n) noexcept {
    if (array.contiguous) return {array.at(row, first), array.row_stride};
    gather(array, row, rows, first, n, scratch_.data());
    return {scratch_.data(), static_cast<std::ptrdiff_t>(kGatherPitch)};
}

}  // namespace renyi
