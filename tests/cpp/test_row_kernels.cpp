// The loops over tiles return the same bits whatever instruction set they run with, and wherever in memory a tile
// begins. The other instruction set is the baseline without vectorisation (row_kernels_baseline.cpp).
#include <bit>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include "check.hpp"
#include "renyi/sgd/row_kernels.hpp"
#include "row_kernels_baseline.hpp"

using namespace renyi;

namespace {

template <class In>
std::vector<In> numbers(std::size_t count, double scale, unsigned seed) {
    std::mt19937_64 generator(seed);
    std::normal_distribution<double> normal;
    std::vector<In> values(count);
    for (In& value : values) value = static_cast<In>(scale * normal(generator));
    return values;
}

bool equal(double a, double b) { return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b); }

// The same numbers elsewhere, in every place of a line of the cache.
void moved(const RowKernels& kernels, std::size_t item, const char* row, const char* other, std::size_t n) {
    std::vector<double> sums(kTile, 0.25);
    const double squares = kernels.add_and_sum_squares(sums.data(), row, 0.7f, other, n, nullptr);
    std::vector<char> memory((n + 64) * item);
    for (std::size_t place = 0; place * item < 64; ++place) {
        char* const copy = memory.data() + place * item;
        std::memcpy(copy, row, n * item);
        std::vector<double> found(kTile, 0.25);
        CHECK(equal(kernels.add_and_sum_squares(found.data(), copy, 0.7f, other, n, nullptr), squares));
        CHECK(std::memcmp(found.data(), sums.data(), sums.size() * sizeof(double)) == 0);
        std::memcpy(copy, other, n * item);
        CHECK(equal(kernels.sum_squares(copy, n, nullptr), squares));
    }
}

void instruction_sets(int element, bool wide) {
    const RowKernels& kernels = row_kernels(static_cast<Element>(element), wide);
    const std::size_t item = size_of(static_cast<Element>(element)), room = kTile + 7;
    std::vector<std::uint16_t> half(2 * room);
    std::mt19937 generator(4);
    for (std::uint16_t& bits : half) {
        const auto any = static_cast<std::uint16_t>(generator());
        bits = (any & 0x7c00) == 0x7c00 ? static_cast<std::uint16_t>(any & 0x83ff) : any;  // finite
    }
    const std::vector<float> single = numbers<float>(2 * room, 1e-3, 6);
    const std::vector<double> twice = numbers<double>(2 * room, 1e-3, 7);
    const void* starts[] = {half.data(), single.data(), twice.data()};
    const auto* data = static_cast<const char*>(starts[element]);
    for (const std::size_t n : {0ul, 1ul, 31ul, 32ul, 33ul, 1000ul, kTile}) {
        for (const std::size_t shift : {0ul, 1ul, 5ul}) {
            const char *row = data + shift * item, *other = data + (room + shift) * item;
            CHECK(equal(kernels.sum_squares(row, n, nullptr), baseline::sum_squares(element, row, n)));
            CHECK(equal(kernels.sum_squares_scaled(row, n, 0x1p-9),
                        baseline::sum_squares_scaled(element, row, n, 0x1p-9)));
            CHECK(equal(kernels.largest(row, n), baseline::largest(element, row, n)));
            std::vector<double> sums(2 * kTile, 0.5);
            std::vector<double> same = sums;
            const double factor = 0.7f;
            kernels.add(sums.data(), row, factor, n, nullptr);
            baseline::add(element, wide, same.data(), row, factor, n);
            kernels.add_scaled(sums.data(), other, 0.3, 0.25, n);
            baseline::add_scaled(element, wide, same.data(), other, 0.3, 0.25, n);
            CHECK(equal(kernels.add_and_sum_squares(sums.data(), row, factor, other, n, nullptr),
                        baseline::add_and_sum_squares(element, wide, same.data(), row, factor, other, n)));
            CHECK(std::memcmp(sums.data(), same.data(), sums.size() * sizeof(double)) == 0);
            moved(kernels, item, row, other, n);
        }
    }
}

}  // namespace

int main() {
    for (const int element : {0, 1, 2})
        for (const bool wide : {false, true}) instruction_sets(element, wide);
    return check::finish();
}
