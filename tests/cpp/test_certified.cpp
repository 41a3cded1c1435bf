// lower and upper enclose every truth that a certificate allows: checked in 128-bit integers, not in floating point.
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <random>

#include "check.hpp"
#include "renyi/fp/certified.hpp"

using namespace renyi;

namespace {

__extension__ using Wide = __int128;

// x 2^shift as an integer; exact for the arguments used here.
Wide integer(double x, int shift) { return static_cast<Wide>(std::ldexp(x, shift)); }

constexpr double kStep = 0x1p-52;

// value in [2^52, 2^53), e = count 2^-k with count < 2^10: |truth - value| <= e |truth| puts the truth in
// [value / (1+e), value / (1-e)]. End points times 2^k (1 +- e), in units of 1/4, stay below 2^(53+2+64+8).
void encloses(double value, int count, int k) {
    const Certified c{value, std::ldexp(count, -k)};
    const Wide one = Wide{1} << k;
    const Wide exact = integer(value, 2) * one;
    const double low = lower(c), high = upper(c);
    CHECK(integer(low, 2) * (one + count) <= exact);
    CHECK(integer(high, 2) * (one - count) >= exact);
    // and not by much more: the widening, and two steps
    const double slack = c.relative_error * (1.0 + 0x1p-18) + 4.0 * kStep;
    CHECK_THAT(value - low, <=, value * slack);
    CHECK_THAT(high - value, <=, value * slack);
    // the mirror image
    const Certified n{-value, c.relative_error};
    CHECK_THAT(lower(n), ==, -high);
    CHECK_THAT(upper(n), ==, -low);
    // powers of two change nothing
    for (const int shift : {-1000, -52, 300, 900}) {
        CHECK_THAT(lower({std::ldexp(value, shift), c.relative_error}), ==, std::ldexp(low, shift));
        CHECK_THAT(upper({std::ldexp(value, shift), c.relative_error}), ==, std::ldexp(high, shift));
    }
}

}  // namespace

int main() {
    std::mt19937_64 generator(3);
    for (int i = 0; i < 200000; ++i) {
        const double value = 0x1p52 + static_cast<double>(generator() >> 12);
        const int k = 31 + static_cast<int>(generator() % 33);  // e from 2^-63 to 2^-21
        encloses(value, 1 + static_cast<int>(generator() % 1023), k);
    }
    for (int k = 31; k <= 63; ++k) {
        for (const int count : {1, 2, 3, 512, 1023}) {
            for (const double value : {0x1p52, 0x1p52 + 1.0, 0x1.8p52, 0x1p53 - 2.0, 0x1p53 - 1.0})
                encloses(value, count, k);
        }
    }

    // Exact values stay exact, signs and special values included.
    for (const double value : {1.0, -1.0, 0.0, -0.0, 0x1p-1074, -0x1.fffffffffffffp1023, kInfinity, -kInfinity}) {
        CHECK_THAT(lower({value, 0.0}), ==, value);
        CHECK_THAT(upper({value, 0.0}), ==, value);
    }
    CHECK(std::isnan(lower(kOutsideDomain)) && std::isnan(upper(kOutsideDomain)));
    CHECK(std::isnan(lower({kNaN, 1e-10})) && std::isnan(upper({kNaN, 1e-10})));
    for (const double e : {0x1p-53, 1e-10}) {
        CHECK_THAT(lower({0.0, e}), ==, 0.0);  // a relative error of zero is zero
        CHECK_THAT(upper({0.0, e}), ==, 0.0);
    }

    // At the smallest doubles a step is a whole unit, at the largest it leads to infinity; a zero is never crossed.
    constexpr double kTiny = std::numeric_limits<double>::denorm_min();
    CHECK(lower({kTiny, 0x1p-50}) >= 0.0 && lower({kTiny, 0x1p-50}) <= kTiny);
    CHECK_THAT(upper({kTiny, 0x1p-50}), >=, kTiny);
    CHECK_THAT(upper({-kTiny, 0x1p-50}), <=, 0.0);
    CHECK_THAT(lower({-kTiny, 0x1p-50}), <=, -kTiny);
    constexpr double kLargest = std::numeric_limits<double>::max();
    CHECK_THAT(upper({kLargest, 0x1p-50}), ==, kInfinity);
    CHECK_THAT(lower({kLargest, 0x1p-50}), <, kLargest);
    // Any error at all is a reason to widen.
    CHECK_THAT(lower({1.0, 0x1p-1074}), <, 1.0);
    CHECK_THAT(upper({1.0, 0x1p-1074}), >, 1.0);
    return check::finish();
}
