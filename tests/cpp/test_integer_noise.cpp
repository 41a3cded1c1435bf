// Exact Bernoulli variables of probability e^-x against intervals, the integers they rest on, and moments of the
// discrete Gaussian and Laplace laws.
#include <cmath>
#include <cstdint>
#include <vector>

#include "check.hpp"
#include "renyi/sgd/discrete_noise.hpp"

using namespace renyi;

namespace {

void naturals() {
    const auto power = [](std::uint64_t n) { return Natural(n) * Natural(n); };
    const std::uint64_t big = 0xffffffffffffffff;
    CHECK(!(power(big) + Natural(big) + Natural(big) < Natural(big).shifted(2) + Natural(big)));
    CHECK(
        !(Natural(big).shifted(2) + Natural(big) < power(big) + Natural(big) + Natural(big)));  // n^2 + 2n = n 2^64 + n
    CHECK((power(big) - Natural(1) < power(big)) && !(power(big) < power(big)));
    CHECK((power(big) - power(big)).is_zero() && Natural().shifted(3).is_zero() && (Natural() * Natural(7)).is_zero());
    CHECK(!(Natural(5).times_power_of_two(67) < Natural(5).shifted(2) * Natural(8)));
    CHECK(!(Natural(5).shifted(2) * Natural(8) < Natural(5).times_power_of_two(67)));
    CHECK(Natural(big) + Natural(1) - Natural(1) < Natural(1).shifted(2));
}

// The first word alone decides unless it is floor(e^-x 2^64).
void comparisons() {
    WordSource words({{1}, 0});
    struct Case {
        std::uint64_t p, q, floor;
    };
    // floor(2^64 e^-(p/q)) by 50-digit arithmetic.
    for (const Case& c :
         {Case{1, 1, 6786177901268885274u}, Case{1, 2, 11188515852577165299u}, Case{1, 3, 13217669706954385033u},
          Case{7, 2, 557043403687188861u}, Case{1, 1000, 18428306549934190034u}, Case{2, 3, 9470874197855498412u},
          Case{355, 113, 797155877981339994u}, Case{10, 1, 837480885292947u}, Case{40, 1, 78u}, Case{43, 1, 3u},
          Case{44, 1, 1u}, Case{45, 1, 0u}, Case{700, 1, 0u}}) {
        const Fraction x{Natural(c.p), Natural(c.q)};
        if (c.floor > 0) CHECK(is_below_exp(words, c.floor - 1, x));
        CHECK(!is_below_exp(words, c.floor + 1, x));
        if (c.floor > 0) CHECK(is_below_exp(words, 0, x) || c.floor == 0);
    }
    CHECK(is_below_exp(words, ~std::uint64_t{0}, {Natural(0), Natural(3)}));
    // The word in doubt is decided by the next bits: with probability frac(2^64 / e), here 0.729962.
    int below = 0;
    constexpr int kTrials = check::cases(2500);
    for (int i = 0; i < kTrials; ++i) below += is_below_exp(words, 6786177901268885274u, {Natural(1), Natural(1)});
    CHECK_THAT(std::fabs(below - kTrials * 0.729962), <, 2.5 * std::sqrt(kTrials));
    // Very unlikely, and decided without a long series.
    CHECK(!is_below_exp(words, 0, {Natural(1).shifted(8), Natural(1)}));
}

// The exact path, taken every time, has the law of the fast one.
void both_paths() {
    WordSource words({{2}, 0});
    for (const auto& [p, q] : {std::pair{1, 1}, {1, 3}, {7, 2}, {1, 1000}}) {
        const Fraction x{Natural(static_cast<std::uint64_t>(p)), Natural(static_cast<std::uint64_t>(q))};
        const double probability = std::exp(-static_cast<double>(p) / q);
        constexpr int kTrials = check::cases(5000);
        int fast = 0, exact = 0;
        for (int i = 0; i < kTrials; ++i) {
            fast += bernoulli_exp(words, static_cast<double>(p) / q, 0x1p-50, [&] { return x; });
            exact += bernoulli_exp(words, static_cast<double>(p) / q, 100.0, [&] { return x; });
        }
        const double five_sigma = 5 * std::sqrt(kTrials * probability * (1 - probability));
        CHECK_THAT(std::fabs(fast - kTrials * probability), <, five_sigma);
        CHECK_THAT(std::fabs(exact - kTrials * probability), <, five_sigma);
    }
}

// The same integers on any number of threads; their laws are compared in Python.
template <class Law>
void threads(double scale) {
    constexpr std::size_t kCount = 100000;
    std::vector<std::int64_t> y(kCount), again(kCount);
    const ChaChaStream stream{{3, static_cast<std::uint32_t>(1000 * scale)}, 0};
    const Law noise(scale);
    add_integer_noise(stream, noise, y.data(), kCount, 1);
    add_integer_noise(stream, noise, again.data(), kCount, 3);
    CHECK(y == again);
}

// Of the square the variance is given.
template <class Law>
void moments(double scale, double variance, double of_square) {
    constexpr std::size_t kCount = 100000;
    std::vector<std::int64_t> y(kCount);
    add_integer_noise({{4}, 0}, Law(scale), y.data(), kCount, 2);
    double first = 0.0, second = 0.0;
    for (const auto v : y) {
        const double z = static_cast<double>(v) / scale;
        first += z, second += z * z;
    }
    CHECK_THAT(std::fabs(first / kCount), <, 5 * std::sqrt(variance / kCount));
    CHECK_THAT(std::fabs(second / kCount - variance), <, 5 * std::sqrt(of_square / kCount));
}

}  // namespace

int main() {
    naturals();
    comparisons();
    both_paths();
    for (const double scale : {kSmallestScale, 0.25, 0.5, 1.0, 1.41421356, 1.5, 3.0, 100.7, 4096.0}) {
        threads<DiscreteGaussian>(scale);
        threads<DiscreteLaplace>(scale);
    }
    for (const double scale : {1e6, 3e9, kLargestScale}) {
        moments<DiscreteGaussian>(scale, 1.0, 2.0);
        moments<DiscreteLaplace>(scale, 2.0, 20.0);
    }
    return check::finish();
}
