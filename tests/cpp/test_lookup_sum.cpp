// Gradients of an embedding: norms and sums against a table for each record, and the same bits for any threads.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <numeric>
#include <vector>

#include "check.hpp"
#include "renyi/sgd/rows.hpp"

using namespace renyi;

namespace {

constexpr std::size_t kTable = 7;

struct Problem {
    std::size_t rows, times, columns;
    std::vector<std::int64_t> tokens, order;
    std::vector<float> gradients;

    // Small integers: sums are exact whatever their order.
    Problem(std::size_t r, std::size_t t, std::size_t c) : rows(r), times(t), columns(c) {
        std::uint32_t state = 1;
        const auto next = [&] { return (state = state * 1664525u + 1013904223u) >> 16; };
        for (std::size_t i = 0; i < r * t; ++i) tokens.push_back(next() % kTable);
        for (std::size_t i = 0; i < r * t * c; ++i)
            gradients.push_back(static_cast<float>(static_cast<int>(next() % 9) - 4));
        order.resize(r * t);
        for (std::size_t i = 0; i < r; ++i) {
            const auto first = order.begin() + static_cast<std::ptrdiff_t>(i * t);
            std::iota(first, first + static_cast<std::ptrdiff_t>(t), 0);
            std::stable_sort(first, first + static_cast<std::ptrdiff_t>(t), [&](std::int64_t a, std::int64_t b) {
                return tokens[i * t + static_cast<std::size_t>(a)] < tokens[i * t + static_cast<std::size_t>(b)];
            });
        }
    }

    Lookups task(std::size_t threads) const {
        return {rows, times, columns, tokens.data(), order.data(), gradients.data(), Element::single, threads};
    }

    std::vector<double> table_of(std::size_t row) const {
        std::vector<double> table(kTable * columns);
        for (std::size_t t = 0; t < times; ++t)
            for (std::size_t j = 0; j < columns; ++j)
                table[static_cast<std::size_t>(tokens[row * times + t]) * columns + j] +=
                    static_cast<double>(gradients[(row * times + t) * columns + j]);
        return table;
    }
};

void compare(const Problem& given) {
    std::vector<double> squares(given.rows), weights(given.rows), wanted(kTable * given.columns);
    lookup_squares(given.task(1), squares.data());
    for (std::size_t row = 0; row < given.rows; ++row) {
        const std::vector<double> table = given.table_of(row);
        CHECK(squares[row] == std::inner_product(table.begin(), table.end(), table.begin(), 0.0));
        weights[row] = static_cast<double>(row % 3) * 0.37;
        for (std::size_t i = 0; i < table.size(); ++i)
            wanted[i] += std::nearbyint(weights[row] * table[i] / 0x1p-20) * 0x1p-20;
    }
    for (const std::size_t threads : {1, 2, 5}) {
        std::vector<double> again(given.rows), sum(kTable * given.columns);
        lookup_squares(given.task(threads), again.data());
        add_lookups(given.task(threads), weights.data(), 0x1p-20, sum.data());
        CHECK(again == squares);
        CHECK(sum == wanted);
    }
}

}  // namespace

int main() {
    compare({1, 1, 1});
    compare({5, 9, 3});
    compare({4, 30, 16});
    compare({3, 4, 700});
    return check::finish();
}
