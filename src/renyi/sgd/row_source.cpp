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

// A run along the innermost axis: `count` elements a stride apart, of every row.
template <class Bits>
void gather_run(const RowArray& array, const char* from, std::size_t rows, std::size_t count, char* to) {
    const std::ptrdiff_t step = array.strides.empty() ? 0 : array.strides.back();
    const std::ptrdiff_t row_step = array.row_stride;
    const auto copy = [&](std::size_t r, std::size_t j) {
        std::memcpy(to + r * kGatherPitch + j * sizeof(Bits),
                    from + static_cast<std::ptrdiff_t>(r) * row_step + static_cast<std::ptrdiff_t>(j) * step,
                    sizeof(Bits));
    };
    if (std::abs(step) <= std::abs(row_step)) {
        for (std::size_t r = 0; r < rows; ++r)
            for (std::size_t j = 0; j < count; ++j) copy(r, j);
    } else {
        for (std::size_t j = 0; j < count; ++j)
            for (std::size_t r = 0; r < rows; ++r) copy(r, j);
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
