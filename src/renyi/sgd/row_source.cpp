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
    rows_are_close = !strides.empty() && std::abs(row_stride) < std::abs(strides.back());
    contiguous = aligned && (shape.empty() || (shape.size() == 1 && strides[0] == item));
}

namespace {

// `count` elements `step` bytes apart, side by side.
template <class Bits>
void pack(const char* from, std::ptrdiff_t step, std::size_t count, char* to) noexcept {
    for (const char* const end = to + count * sizeof(Bits); to != end; to += sizeof(Bits), from += step)
        std::memcpy(to, from, sizeof(Bits));
}

// The lines of memory of some rows, where they lie closer than elements.
void fetch(const char* from, std::ptrdiff_t row_step, std::size_t rows) noexcept {
#if defined(__GNUC__)
    const std::ptrdiff_t bytes = std::abs(row_step) * static_cast<std::ptrdiff_t>(rows);
    const std::ptrdiff_t next = std::max<std::ptrdiff_t>(std::abs(row_step), 64);
    for (std::ptrdiff_t at = 0; at < bytes; at += next) __builtin_prefetch(from + (row_step < 0 ? -at : at));
#endif
}

constexpr std::size_t kSquare = 4;

// A square of elements that lie side by side across rows, to rows of elements side by side. False where it is not done.
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

// A run along the innermost axis: `count` elements a stride apart, of every row. Where rows lie closer than elements,
// a few elements of all rows at a time, while the next few are fetched.
template <class Bits>
void gather_run(const RowArray& array, const char* from, std::size_t rows, std::size_t count, char* to) noexcept {
    const std::ptrdiff_t step = array.strides.empty() ? 0 : array.strides.back();
    const std::ptrdiff_t row_step = array.row_stride;
    const auto at = [&](std::size_t r, std::size_t j) {
        return from + static_cast<std::ptrdiff_t>(r) * row_step + static_cast<std::ptrdiff_t>(j) * step;
    };
    if (!array.rows_are_close) return pack<Bits>(from, step, count, to);  // of the only row
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

void gather(const RowArray& array, std::size_t row, std::size_t rows, std::size_t first, std::size_t n,
            char* scratch) noexcept {
    // Rows that lie far apart one after the other: their lines of memory stay in the first-level cache meanwhile.
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
