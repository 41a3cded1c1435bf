// Scaled numbers against integers, 5000! and exponents far outside the range of double.
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>

#include "check.hpp"
#include "renyi/fp/scaled.hpp"
#include "tables.hpp"

using namespace renyi;

namespace {

Scaled number(double mantissa, double exponent) { return {{mantissa, 0.0}, exponent}; }

bool same(const Scaled& a, double mantissa, double exponent) {  // equal as numbers
    return a.mantissa.lo == 0.0 && std::ldexp(a.mantissa.hi, static_cast<int>(a.exponent - exponent)) == mantissa;
}

void factorial() {
    Scaled product = kScaledOne;
    for (int k = 2; k <= 5000; ++k) product = product * number(k, 0.0);
    const auto truth = table::rows<table::Factorial5000>()[0];
    const int shift = static_cast<int>(product.exponent - truth.exponent);
    const double error =
        (std::ldexp(product.mantissa.hi, shift) - truth.hi) + (std::ldexp(product.mantissa.lo, shift) - truth.lo);
    CHECK_THAT(std::fabs(error), <=, 5000 * 0x1p-101 * truth.hi);

    // and back to 1, through factors given the other way round
    for (int k = 5000; k >= 2; --k)
        product = product * (DoubleDouble{1.0, 0.0} / DoubleDouble{static_cast<double>(k), 0.0});
    const DoubleDouble left = DoubleDouble{std::ldexp(product.mantissa.hi, static_cast<int>(product.exponent)),
                                           std::ldexp(product.mantissa.lo, static_cast<int>(product.exponent))} +
                              -1.0;
    CHECK_THAT(std::fabs(left.hi), <=, 3 * 5000 * 0x1p-101);
}

void sums_of_integers() {
    std::mt19937_64 generator(2);
    for (int i = 0; i < 20000; ++i) {
        const auto part = [&] { return static_cast<std::int64_t>(generator() >> 14) * (generator() % 2 ? 1 : -1); };
        const std::int64_t a = part(), b = part();  // 50 bits
        const int shift = static_cast<int>(generator() % 50), base = static_cast<int>(generator() % 100000) - 50000;
        const Scaled x = number(static_cast<double>(a), base), y = number(static_cast<double>(b), base + shift);
        // a + b 2^shift as hi + lo: below 2^100, so exact in a double-double
        const DoubleDouble truth = two_sum(std::ldexp(static_cast<double>(b), shift), static_cast<double>(a));
        for (const Scaled& sum : {x + y, y + x}) {
            const int back = static_cast<int>(sum.exponent) - base;
            CHECK(std::ldexp(sum.mantissa.hi, back) == truth.hi && std::ldexp(sum.mantissa.lo, back) == truth.lo);
        }
    }
}

void exponents() {
    // A product of numbers whose mantissas all shrink or all grow stays in range and exact.
    for (const double factor : {0x1p-150, 0x1p150, -0x1p-150}) {
        Scaled p = kScaledOne;
        for (int i = 0; i < 1000; ++i) {
            p = p * DoubleDouble{factor, 0.0};
            CHECK(std::fabs(std::log2(std::fabs(p.mantissa.hi))) < 200.0);
        }
        CHECK(std::log2(std::fabs(p.mantissa.hi)) + p.exponent == 1000.0 * std::log2(std::fabs(factor)));
        CHECK(p.mantissa.hi > 0.0);
    }
    const Scaled huge = number(3.0, 1e9), small = number(5.0, -1e9);
    CHECK(same(huge * small, 15.0, 0.0));
    CHECK(same(huge + small, 3.0, 1e9) && same(small + huge, 3.0, 1e9));
    CHECK(same(kScaledZero + small, 5.0, -1e9) && same(small + kScaledZero, 5.0, -1e9));
    CHECK((kScaledZero * huge).mantissa.hi == 0.0 && (kScaledZero + kScaledZero).mantissa.hi == 0.0);
    // Dropped only where it is below 2^-1000 of the other.
    CHECK(same(number(1.0, 0.0) + number(-1.0, 0.0), 0.0, 0.0));
    const Scaled far = number(1.0, 0.0) + number(1.0, -990.0);
    CHECK(far.mantissa.hi == 1.0 && far.mantissa.lo == 0x1p-990);

    const Scaled shifted = normalised({{0x1.8p300, -0x1p240}, 7.0});
    CHECK(shifted.mantissa.hi < 2.0 && shifted.mantissa.hi >= 0.5 &&
          shifted.mantissa.lo / shifted.mantissa.hi == -0x1p240 / 0x1.8p300);
    CHECK(std::ldexp(shifted.mantissa.hi, static_cast<int>(shifted.exponent - 7.0)) == 0x1.8p300);
    const Scaled kept = normalised({{0x1p-150, 0x1p-210}, 3.0});
    CHECK(kept.mantissa.hi == 0x1p-150 && kept.mantissa.lo == 0x1p-210 && kept.exponent == 3.0);
    CHECK(normalised(kScaledZero).exponent == kScaledZero.exponent);
}

void helpers() {
    CHECK(power_of_two(0.0) == 1.0 && power_of_two(-1000.0) == 0x1p-1000 && power_of_two(1023.0) == 0x1p1023);
    CHECK(power_of_two(-1001.0) == 0.0 && power_of_two(-1e300) == 0.0 && power_of_two(5000.0) == 0x1p1023);
    CHECK(ratio(number(3.0, 100000.0), number(4.0, 99999.0)) == 1.5);
    CHECK(ratio(number(-3.0, 0.0), number(4.0, 10.0)) == -0x1.8p-11);
    CHECK(ratio(number(1.0, 1e9), number(1.0, 0.0)) == 0x1p1000);
    CHECK(ratio(kScaledZero, kScaledOne) == 0.0);
    const Scaled a = absolute({{-2.0, 0x1p-60}, 5.0});
    CHECK(a.mantissa.hi == 2.0 && a.mantissa.lo == -0x1p-60 && a.exponent == 5.0);
    CHECK(absolute(number(2.0, 5.0)).mantissa.hi == 2.0);
}

}  // namespace

int main() {
    factorial();
    sums_of_integers();
    exponents();
    helpers();
    return check::finish();
}
