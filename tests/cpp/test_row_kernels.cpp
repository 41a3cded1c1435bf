// The loops over tiles return the same bits whatever instruction set they run with, and wherever in memory a tile
// begins. The other instruction set is the baseline without vectorisation (row_kernels_baseline.cpp).
#include <bit>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include "baseline.hpp"
#include "check.hpp"
#include "random.hpp"
#include "renyi/sgd/rows.hpp"

using namespace renyi;

namespace {

constexpr double kShift = 0x1.8p52 * 0x1p-12;

bool equal(double a, double b) { return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b); }

// The same numbers elsewhere, in every place of a line of the cache.
void moved(const RowKernels& kernels, std::size_t item, const char* row, std::size_t n) {
    const double squares = kernels.sum_squares(row, n), factor = 0.7f;
    const void* from = row;
    std::vector<double> sums(kTile, 0.25);
    kernels.add(sums.data(), &from, &factor, 1, kShift, n);
    std::vector<char> memory((n + 64) * item);
    for (std::size_t place = 0; place * item < 64; ++place) {
        char* const copy = memory.data() + place * item;
        std::memcpy(copy, row, n * item);
        from = copy;
        std::vector<double> found(kTile, 0.25);
        kernels.add(found.data(), &from, &factor, 1, kShift, n);
        CHECK(equal(kernels.sum_squares(copy, n), squares));
        CHECK(std::memcmp(found.data(), sums.data(), sums.size() * sizeof(double)) == 0);
    }
}

// Rows added at once are added one after the other.
void together(const RowKernels& kernels, std::size_t item, const char* data, std::size_t n) {
    const void* rows[kRowsAtOnce];
    double factors[kRowsAtOnce];
    for (std::size_t r = 0; r < kRowsAtOnce; ++r) {
        rows[r] = data + 3 * r * item;
        factors[r] = 0.7f / static_cast<float>(r + 1);
    }
    for (std::size_t count = 0; count <= kRowsAtOnce; ++count) {
        std::vector<double> sums(kTile, 0.25), same(kTile, 0.25);
        kernels.add(sums.data(), rows, factors, count, kShift, n);
        for (std::size_t r = 0; r < count; ++r) kernels.add(same.data(), rows + r, factors + r, 1, kShift, n);
        CHECK(std::memcmp(sums.data(), same.data(), sums.size() * sizeof(double)) == 0);
    }
}

void instruction_sets(int element, bool wide) {
    const RowKernels& kernels = row_kernels(static_cast<Element>(element), wide);
    const std::size_t item = size_of(static_cast<Element>(element)), room = kTile + 3 * kRowsAtOnce;
    std::vector<std::uint16_t> half(2 * room), brain(2 * room);
    std::mt19937 generator(4);
    for (std::uint16_t& bits : half) {
        const auto any = static_cast<std::uint16_t>(generator());
        bits = (any & 0x7c00) == 0x7c00 ? static_cast<std::uint16_t>(any & 0x83ff) : any;  // finite
    }
    for (std::uint16_t& bits : brain) {  // magnitudes in [2^-126, 2^-61) and 0, as sums in single precision take them
        const auto any = static_cast<std::uint16_t>(generator());
        bits = static_cast<std::uint16_t>(any & 0xa0ff);
    }
    const std::vector<float> single = check::normals<float>(2 * room, 1e-3, 6);
    const std::vector<double> twice = check::normals<double>(2 * room, 1e-3, 7);
    const void* starts[] = {half.data(), single.data(), twice.data(), brain.data()};
    const auto* data = static_cast<const char*>(starts[element]);
    for (const std::size_t n : {0ul, 1ul, 31ul, 32ul, 33ul, 1000ul, kTile}) {
        for (const std::size_t shift : {0ul, 1ul, 5ul}) {
            const char *row = data + shift * item, *other = data + (room + shift) * item;
            CHECK(equal(kernels.sum_squares(row, n), baseline::sum_squares(element, row, n)));
            CHECK(equal(kernels.sum_squares_scaled(row, n, 0x1p-9),
                        baseline::sum_squares_scaled(element, row, n, 0x1p-9)));
            CHECK(equal(kernels.largest(row, n), baseline::largest(element, row, n)));
            const void* rows[] = {row, other, row};
            const double factors[] = {0.7f, 0.3f, -1.9f};
            for (const double rounding : {0.0, kShift}) {
                std::vector<double> sums(2 * kTile, 0.5);
                std::vector<double> same = sums;
                kernels.add(sums.data(), rows, factors, 3, rounding, n);
                baseline::add(element, wide, same.data(), rows, factors, 3, rounding, n);
                kernels.add_scaled(sums.data(), other, 0.3, 0.25, rounding, n);
                baseline::add_scaled(element, wide, same.data(), other, 0.3, 0.25, rounding, n);
                CHECK(std::memcmp(sums.data(), same.data(), sums.size() * sizeof(double)) == 0);
            }
            moved(kernels, item, row, n);
            together(kernels, item, row, n);
        }
    }
}

}  // namespace

int main() {
    for (const int element : {0, 1, 2, 3})
        for (const bool wide : {false, true}) instruction_sets(element, wide);
    return check::finish();
}
