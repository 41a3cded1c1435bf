#include "renyi/sgd/rows.hpp"

#include <algorithm>
#include <atomic>
#include <bit>

#include "renyi/fp/multiversion.hpp"
#include "renyi/sgd/threads.hpp"
#include "renyi/special/elementary.hpp"

namespace renyi {

namespace {

// The low bits of x + 3 2^51 are those of the rounded x.
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

}  // namespace

template <class Real>
bool add_to_grid(const Real* rows, const double* factors, std::size_t count, std::size_t dimension,
                 double inverse_spacing, std::int64_t* sum, int threads) noexcept {
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

template bool add_to_grid(const float*, const double*, std::size_t, std::size_t, double, std::int64_t*, int) noexcept;
template bool add_to_grid(const double*, const double*, std::size_t, std::size_t, double, std::int64_t*, int) noexcept;

namespace {

constexpr std::size_t kColumns = 256;  // a multiple of the lanes, within the first-level cache; affects time alone

// Columns of the gradients at some times of one record.
template <class In>
struct Times {
    const In* gradients;
    const std::int64_t* order;
    std::size_t count, columns;
};

template <class In>
RENYI_INLINE void gather(const Times<In>& times, std::size_t first, std::size_t n, double* __restrict row) noexcept {
    for (std::size_t j = 0; j < n; ++j) row[j] = 0.0;
    for (std::size_t t = 0; t < times.count; ++t) {
        const In* __restrict const g =
            times.gradients + static_cast<std::size_t>(times.order[t]) * times.columns + first;
        for (std::size_t j = 0; j < n; ++j) row[j] += static_cast<double>(g[j]);
    }
}

template <class In>
RENYI_INLINE void square(const Times<In>& times, double* __restrict lanes) noexcept {
    double row[kColumns];
    for (std::size_t first = 0; first < times.columns; first += kColumns) {
        const std::size_t n = std::min(kColumns, times.columns - first);
        gather(times, first, n, row);
        const std::size_t padded = (n + kLookupLanes - 1) / kLookupLanes * kLookupLanes;
        std::fill(row + n, row + padded, 0.0);
        for (std::size_t j = 0; j < padded; j += kLookupLanes)
            for (std::size_t i = 0; i < kLookupLanes; ++i) lanes[i] += row[j + i] * row[j + i];
    }
}

template <class In>
RENYI_INLINE void add(const Times<In>& times, std::size_t first, std::size_t n, double weight, double shift,
                      double* __restrict sum) noexcept {
    double row[kColumns];
    gather(times, first, n, row);
    for (std::size_t j = 0; j < n; ++j) sum[j] += (weight * row[j] + shift) - shift;
}

RENYI_MULTIVERSION void square_times(const Times<float>& times, double* lanes) noexcept { square(times, lanes); }
RENYI_MULTIVERSION void square_times(const Times<double>& times, double* lanes) noexcept { square(times, lanes); }
RENYI_MULTIVERSION void add_times(const Times<float>& times, std::size_t first, std::size_t n, double weight,
                                  double shift, double* sum) noexcept {
    add(times, first, n, weight, shift, sum);
}
RENYI_MULTIVERSION void add_times(const Times<double>& times, std::size_t first, std::size_t n, double weight,
                                  double shift, double* sum) noexcept {
    add(times, first, n, weight, shift, sum);
}

// Calls body(token, its times) for each token of a record.
template <class In, class Body>
void for_tokens(const Lookups& task, std::size_t row, const Body& body) {
    const std::int64_t* const tokens = task.tokens + row * task.times;
    const std::int64_t* const order = task.order + row * task.times;
    const In* const gradients = static_cast<const In*>(task.gradients) + row * task.times * task.columns;
    for (std::size_t first = 0, end = 0; first < task.times; first = end) {
        const std::int64_t token = tokens[order[first]];
        while (end < task.times && tokens[order[end]] == token) ++end;
        body(static_cast<std::size_t>(token), Times<In>{gradients, order + first, end - first, task.columns});
    }
}

template <class In>
void square_rows(const Lookups& task, double* squares) noexcept {
    parallel_for(task.rows, static_cast<int>(task.threads), [&](std::size_t first, std::size_t end) {
        const IeeeMode mode;
        for (std::size_t row = first; row < end; ++row) {
            double lanes[kLookupLanes] = {};
            for_tokens<In>(task, row, [&](std::size_t, const Times<In>& times) { square_times(times, lanes); });
            for (std::size_t half = kLookupLanes / 2; half > 0; half /= 2)
                for (std::size_t i = 0; i < half; ++i) lanes[i] += lanes[i + half];
            squares[row] = lanes[0];
        }
    });
}

// Every thread has its own columns, and processes all rows.
template <class In>
void add_rows(const Lookups& task, const double* weights, double spacing, double* sum) noexcept {
    const double shift = 0x1.8p52 * spacing;
    parallel_for(task.columns, static_cast<int>(task.threads), [&](std::size_t begin, std::size_t end) {
        const IeeeMode mode;
        for (std::size_t row = 0; row < task.rows; ++row) {
            if (weights[row] == 0.0) continue;
            for_tokens<In>(task, row, [&](std::size_t token, const Times<In>& times) {
                for (std::size_t first = begin; first < end; first += kColumns)
                    add_times(times, first, std::min(kColumns, end - first), weights[row], shift,
                              sum + token * task.columns + first);
            });
        }
    });
}

}  // namespace

void lookup_squares(const Lookups& task, double* squares) noexcept {
    if (task.element == Element::single) {
        square_rows<float>(task, squares);
    } else {
        square_rows<double>(task, squares);
    }
}

void add_lookups(const Lookups& task, const double* weights, double spacing, double* sum) noexcept {
    if (task.element == Element::single) {
        add_rows<float>(task, weights, spacing, sum);
    } else {
        add_rows<double>(task, weights, spacing, sum);
    }
}

}  // namespace renyi
