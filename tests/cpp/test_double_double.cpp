// The error-free transforms against 128-bit integers, the arithmetic against a table, 2^-101 as the header claims.
#include <cmath>
#include <cstdint>
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

}  // namespace

int main() {
    transforms_are_exact();
    known_cases();
    arithmetic_meets_its_bound();
    return check::finish();
}
