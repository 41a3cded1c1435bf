// Poisson samples gap by gap, in the fast way and in double-double; samples of fixed size and permutations against
// uniform laws; ends by name.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <numeric>
#include <vector>

#include "check.hpp"
#include "renyi/sgd/rows.hpp"
#include "renyi/sgd/samplers.hpp"

using namespace renyi;

namespace {

bool increasing_below(const std::vector<std::int64_t>& members, std::int64_t population) {
    const bool strict = std::adjacent_find(members.begin(), members.end(), std::greater_equal<>()) == members.end();
    return strict && (members.empty() || (members.front() >= 0 && members.back() < population));
}

// Every gap of a batch against floor(E / c) in long double from the same words.
void gaps_one_by_one(double rate) {
    WordSource words({{6}, 0});
    WordSource same = words;
    const auto members = poisson_sample(words, static_cast<std::int64_t>(2000 / rate), rate);
    const long double c = -std::log1p(-static_cast<long double>(rate));
    std::int64_t next = 0;
    int wrong = 0, undecided = 0;
    for (const auto member : members) {
        const std::uint64_t high = same.next64(), low = same.next64() | 1u;
        const bool flipped = (high >> 63) != 0;
        const std::uint64_t h = flipped ? ~high : high, l = flipped ? ~low | 1u : low;
        const long double v =
            std::ldexp(static_cast<long double>(h), -64) + std::ldexp(static_cast<long double>(l), -128);
        const long double gap = (flipped ? -std::log1p(-v) : -std::log(v)) / c;
        const long double distance = std::fabs(gap - std::rint(gap));
        if (distance <= 8 * std::numeric_limits<long double>::epsilon() * gap)
            ++undecided;
        else
            wrong += static_cast<std::int64_t>(std::floor(gap)) != member - next;
        next = member + 1;
    }
    CHECK_THAT(std::fabs(static_cast<double>(members.size()) - 2000), <, 5 * 45.0);
    CHECK(wrong == 0);
    CHECK_THAT(undecided, <, 20.0);
}

void poisson_ends() {
    WordSource words({{3}, 0});
    CHECK(poisson_sample(words, 1000, 0.0).empty());
    CHECK(poisson_sample(words, 1000, 5e-324).empty());
    CHECK(poisson_sample(words, 1000, 1e-300).empty());
    std::vector<std::int64_t> all(1000);
    std::iota(all.begin(), all.end(), 0);
    CHECK(poisson_sample(words, 1000, 1.0) == all);
    CHECK(poisson_sample(words, 1000, std::nextafter(1.0, 0.0)) == all);
    CHECK(poisson_sample(words, 1, 0.5).size() <= 1);
    // As many as the largest population gives at 2^-43, far apart: gaps are taken in double-double there.
    const auto far = poisson_sample(words, kLargestPopulation, 0x1p-43);
    CHECK(increasing_below(far, kLargestPopulation));
    CHECK_THAT(std::fabs(static_cast<double>(far.size()) - 1024), <, 5 * 32.0);
    int odd = 0;
    for (const auto m : far) odd += m % 2 != 0;
    CHECK_THAT(std::fabs(odd - static_cast<double>(far.size()) / 2), <, 5 * 16.0);
}

void subsets() {
    WordSource words({{4}, 0});
    std::map<std::vector<std::int64_t>, int> seen;
    for (int i = 0; i < 20000; ++i) ++seen[choose(words, 6, 3)];
    CHECK(seen.size() == 20);
    double chi_square = 0.0;
    for (const auto& [subset, count] : seen) chi_square += (count - 1e3) * (count - 1e3) / 1e3;
    CHECK_THAT(chi_square, <, 58.0);                                          // 19 degrees of freedom
    for (const std::int64_t size : {1, 20, 31250, 31251, 500000, 1000000}) {  // by table, by bits
        const auto members = choose(words, 1000000, size);
        CHECK(increasing_below(members, 1000000) && static_cast<std::int64_t>(members.size()) == size);
        double sum = 0.0;
        for (const auto m : members) sum += static_cast<double>(m) - 499999.5;
        CHECK_THAT(std::fabs(sum), <=, 5 * 288675.0 * std::sqrt(static_cast<double>(size)));
    }
    CHECK(choose(words, 1, 1) == std::vector<std::int64_t>{0});
    std::vector<std::int64_t> repeated(60000);
    choose_repeated(words, 6, repeated.data(), repeated.size());
    double faces = 0.0;
    for (std::int64_t face = 0; face < 6; ++face)
        faces += std::pow(static_cast<double>(std::count(repeated.begin(), repeated.end(), face)) - 1e4, 2) / 1e4;
    CHECK_THAT(faces, <, 31.0);  // 5 degrees of freedom
}

void permutations() {
    WordSource words({{5}, 0});
    std::map<std::array<std::int64_t, 4>, int> seen;
    for (int i = 0; i < 24000; ++i) {
        std::array<std::int64_t, 4> order{0, 1, 2, 3};
        shuffle(words, order.data(), order.size());
        ++seen[order];
    }
    CHECK(seen.size() == 24);
    double chi_square = 0.0;
    for (const auto& [order, count] : seen) chi_square += (count - 1e3) * (count - 1e3) / 1e3;
    CHECK_THAT(chi_square, <, 64.0);  // 23 degrees of freedom
}

void grid() {
    const std::vector<float> rows{0.25f, -0.75f, 1.25f, 1e9f, -2.5f, 3.0f};  // two rows of three
    const double factors[] = {2.0, 0.5};
    std::vector<std::int64_t> sum{100, 0, 0};
    CHECK(add_to_grid(rows.data(), factors, 2, 3, 1.0, sum.data(), 2));
    CHECK((sum == std::vector<std::int64_t>{100 + 0 + 500000000, -2 - 1, 2 + 2}));  // ties to even
    const double not_used[] = {2.0, 0.0};
    std::vector<float> bad = rows;
    bad[4] = NAN;
    sum.assign(3, 0);
    CHECK(add_to_grid(bad.data(), not_used, 2, 3, 1.0, sum.data(), 1) && sum[1] == -2);
    CHECK(!add_to_grid(bad.data(), factors, 2, 3, 1.0, sum.data(), 1));
    CHECK(!add_to_grid(rows.data(), factors, 2, 3, 0x1p22, sum.data(), 1));  // 5e8 spacings 2^-22 are too many
}

}  // namespace

int main() {
    for (const double rate : {0.9, 0.5, 0.3, 0x1p-7, 0.0077, 1e-3, 1e-6, 1e-10, 0x1p-40, 3e-13}) gaps_one_by_one(rate);
    poisson_ends();
    subsets();
    permutations();
    grid();
    return check::finish();
}
