// The error-free transforms against 128-bit integers, the arithmetic against a table, 2^-101 as the header claims.
// Scaled numbers against integers, 5000! and exponents far outside the range of double.
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>

#include "check.hpp"
#include "measure.hpp"
#include "renyi/fp/double_double.hpp"
#include "tables.hpp"

using namespace renyi;

namespace {

__extension__ using Wide = __int128;

Wide integer(double x) { return static_cast<Wide>(x); }

bool is_low_part(DoubleDouble a) { return a.hi + a.lo == a.hi; }

// The number of bits from the first to the last that is set.
int width(double x) {
    if (x == 0.0) return 0;
    int exponent;
    auto m = static_cast<std::uint64_t>(std::ldexp(std::fabs(std::frexp(x, &exponent)), 53));
    int bits = 53;
    for (; m % 2 == 0; m /= 2) --bits;
    return bits;
}

void transforms_are_exact() {
    std::mt19937_64 generator(1);
    const auto mantissa = [&] {
        const double m = static_cast<double>(generator() >> 11) + (generator() % 4 == 0 ? 0.0 : 0x1p52);
        return generator() % 2 ? m : -m;
    };
    for (int i = 0; i < 100000; ++i) {
        const double a = mantissa(), b = mantissa();
        const int shift = static_cast<int>(generator() % 70);
        const double scaled = std::ldexp(a, shift);  // below 2^124

        const DoubleDouble s = two_sum(scaled, b), t = two_sum(b, scaled);
        CHECK(integer(s.hi) + integer(s.lo) == integer(scaled) + integer(b));
        CHECK(s.hi == t.hi && s.lo == t.lo && s.hi == scaled + b && is_low_part(s));

        const bool larger = std::fabs(scaled) >= std::fabs(b);
        const DoubleDouble f = larger ? fast_two_sum(scaled, b) : fast_two_sum(b, scaled);
        CHECK(f.hi == s.hi && f.lo == s.lo);

        const DoubleDouble p = two_prod(a, b);
        CHECK(integer(p.hi) + integer(p.lo) == integer(a) * integer(b));
        CHECK(p.hi == a * b && is_low_part(p));
        // Powers of two pass through, far out as well: up to 2^995 and down to where the error underflows.
        const DoubleDouble high = two_prod(std::ldexp(a, 440), std::ldexp(b, 440));
        const DoubleDouble low = two_prod(std::ldexp(a, -480), std::ldexp(b, -480));
        CHECK(high.hi == std::ldexp(p.hi, 880) && high.lo == std::ldexp(p.lo, 880));
        CHECK(low.hi == std::ldexp(p.hi, -960) && low.lo == std::ldexp(p.lo, -960));

        const DoubleDouble h = split(a);
        CHECK(h.hi + h.lo == a && integer(h.hi) + integer(h.lo) == integer(a));
        CHECK(width(h.hi) <= 26 && width(h.lo) <= 26);
    }
}

void known_cases() {
    DoubleDouble r = two_sum(1.0, 0x1p-60);
    CHECK(r.hi == 1.0 && r.lo == 0x1p-60);
    r = two_prod(1.0 + 0x1p-30, 1.0 - 0x1p-30);
    CHECK(r.hi == 1.0 && r.lo == -0x1p-60);
    r = DoubleDouble{1.0, 0.0} / DoubleDouble{3.0, 0.0};
    CHECK(r.hi == 0x1.5555555555555p-2 && r.lo == 0x1.5555555555555p-56);
    r = DoubleDouble{1.0, 0x1p-70} - DoubleDouble{1.0, -0x1p-70};
    CHECK(r.hi == 0x1p-69 && r.lo == 0.0);
    r = DoubleDouble{0x1p53, 0.5} * 3.0 + -0x1p54;
    CHECK(r.hi == 0x1p53 + 2.0 && r.lo == -0.5);
    r = -DoubleDouble{2.0, -0x1p-60};
    CHECK(r.hi == -2.0 && r.lo == 0x1p-60);
}

void arithmetic_meets_its_bound() {
    check::Worst sum{"sum", 1.0, 0x1p-101}, product{"product", 1.0, 0x1p-101}, ratio{"quotient", 1.0, 0x1p-100};
    check::Worst mixed_sum{"sum with a double", 1.0, 0x1p-101}, mixed_product{"product with a double", 1.0, 0x1p-101};
    const auto note = [](check::Worst& worst, DoubleDouble value, double hi, double lo) {
        CHECK(is_low_part(value));
        const double error = (value.hi - hi) + (value.lo - lo);
        worst.note_error(error == 0.0 ? 0.0 : std::fabs(error / hi) / worst.unit, hi);
    };
    for (const auto& row : table::rows<table::Arithmetic>()) {
        const DoubleDouble a{row.a_hi, row.a_lo}, b{row.b_hi, row.b_lo};
        note(sum, a + b, row.sum_hi, row.sum_lo);
        note(sum, b - (-a), row.sum_hi, row.sum_lo);
        note(product, a * b, row.product_hi, row.product_lo);
        note(ratio, a / b, row.ratio_hi, row.ratio_lo);
        if (row.b_lo == 0.0) {
            note(mixed_sum, a + row.b_hi, row.sum_hi, row.sum_lo);
            note(mixed_product, a * row.b_hi, row.product_hi, row.product_lo);
        }
    }
    for (const check::Worst& worst : {sum, product, ratio, mixed_sum, mixed_product}) REPORT(worst);
}

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
    transforms_are_exact();
    known_cases();
    arithmetic_meets_its_bound();
    factorial();
    sums_of_integers();
    exponents();
    helpers();
    return check::finish();
}
