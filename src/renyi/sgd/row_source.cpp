#include "renyi/sgd/row_source.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace renyi {

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
    contiguous = aligned && (shape.empty() || (shape.size() == 1 && strides[0] == item));
}

namespace {

constexpr std::size_t kLine = 64;  // bytes

// `count` elements `step` bytes apart, side by side.
template <class Bits>
void pack(const char* from, std::ptrdiff_t step, std::size_t count, char* to) noexcept {
    for (const char* const end = to + count * sizeof(Bits); to != end; to += sizeof(Bits), from += step)
        std::memcpy(to, from, sizeof(Bits));
}

// Lines that are read next, into the second-level cache.
void fetch(const char* from, std::ptrdiff_t step, std::size_t count) noexcept {
#if defined(__GNUC__)
    for (; count != 0; --count, from += step) __builtin_prefetch(from, 0, 2);
#endif
}

// A run along the innermost axis: `count` elements a stride apart, of every row. Where rows lie closer than elements,
// a few elements of all rows at a time: their lines of memory stay in the first-level cache, the next ones are fetched.
template <class Bits>
void gather_run(const RowArray& array, const char* from, std::size_t rows, std::size_t count, char* to) noexcept {
    const std::ptrdiff_t step = array.strides.empty() ? 0 : array.strides.back();
    const std::ptrdiff_t row_step = array.row_stride;
    const bool close = std::abs(step) <= std::abs(row_step);
    const std::size_t some = close ? count : kLine / sizeof(Bits);
    for (std::size_t first = 0; first < count; first += some) {
        const std::size_t now = std::min(some, count - first), next = std::min(some, count - first - now);
        const char* row = from + static_cast<std::ptrdiff_t>(first) * step;
        for (std::size_t r = 0; r < rows; ++r, row += row_step) {
            if (r % (kLine / sizeof(Bits)) == 0) fetch(row + static_cast<std::ptrdiff_t>(now) * step, step, next);
            pack<Bits>(row, step, now, to + r * kGatherPitch + first * sizeof(Bits));
        }
    }
}

template <class Bits>
void gather_as(const RowArray& array, std::size_t row, std::size_t rows, std::size_t first, std::size_t n,
               char* scratch) {
    const std::size_t inner = array.shape.empty() ? 1 : array.shape.back();
    while (n != 0) {
        // Where the index `first` is, axis by axis from the last.
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

}  // namespace

void gather(const RowArray& array, std::size_t row, std::size_t rows, std::size_t first, std::size_t n,
            char* scratch) noexcept {
    switch (array.element) {
        case Element::half:
            return gather_as<std::uint16_t>(array, row, rows, first, n, scratch);
        case Element::single:
            return gather_as<std::uint32_t>(array, row, rows, first, n, scratch);
        case Element::twice:
            return gather_as<std::uint64_t>(array, row, rows, first, n, scratch);
    }
}

}  // namespace renyi
