// cos t - 1, sin t - t, the argument and e^z - 1 - z against long double; erfcx over a table and densely in extended
// precision; binomial masses and tails against sums of exact terms, and where symmetry gives them.
#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <random>

#include "check.hpp"
#include "measure.hpp"
#include "renyi/fp/double_double.hpp"
#include "renyi/special/binomial.hpp"
#include "renyi/special/elementary.hpp"
#include "renyi/special/normal.hpp"
#include "tables.hpp"

using namespace renyi;

namespace {

constexpr double kU = 0x1p-53;

void excesses() {
    std::mt19937_64 random(1);
    std::uniform_real_distribution<double> exponent(-40.0, 19.9), sign(-1.0, 1.0);
    for (int i = 0; i < 20000; ++i) {
        const double t = std::copysign(std::exp2(exponent(random)), sign(random));
        const CircularExcess e = circular_excess(t);
        const long double half = std::sin(0.5L * t), cosine = -2.0L * half * half;
        // sin t - t by its series where the difference of long doubles would cancel
        long double sine = std::sin(static_cast<long double>(t)) - t;
        if (std::fabs(t) < 0.5) {
            long double term = t;
            sine = 0.0L;
            for (int k = 1; k < 14; ++k)
                sine += term *= -static_cast<long double>(t) * t / (2.0L * k * (2.0L * k + 1.0L));
        }
        const bool small = std::fabs(t) < 0.78;
        const double cosine_bound = small ? 6.0 * kU * static_cast<double>(-cosine) : 8.0 * kU;
        CHECK_THAT(std::fabs(static_cast<double>(e.cosine - cosine)), <=, cosine_bound);
        const double sine_bound =
            small ? 6.0 * kU * static_cast<double>(std::fabs(sine)) : 4.0 * kU * (1.0 + std::fabs(t));
        CHECK_THAT(std::fabs(static_cast<double>(e.sine - sine)), <=, sine_bound);
    }
}

void arguments() {
    std::mt19937_64 random(2);
    std::uniform_real_distribution<double> angle(-1.5707, 1.5707), size(-20.0, 20.0);
    for (int i = 0; i < 5000; ++i) {
        const double r = std::exp2(size(random)), a = angle(random);
        const double x = r * std::cos(a), y = r * std::sin(a);
        const long double truth = std::atan2(static_cast<long double>(y), static_cast<long double>(x));
        CHECK_THAT(std::fabs(static_cast<double>(lane_argument(y, x) - truth)), <=,
                   16.0 * kU * static_cast<double>(std::fabs(truth)));
    }
}

void complex_phi() {
    std::mt19937_64 random(3);
    std::uniform_real_distribution<double> size(-20.0, 6.0), sign(-1.0, 1.0);
    for (int i = 0; i < 5000; ++i) {
        const double a = std::copysign(std::exp2(size(random)), sign(random));
        const double b = std::copysign(std::exp2(size(random)), sign(random));
        const ComplexLane f = lane_phi(a, b);
        const long double e = std::exp(static_cast<long double>(a));
        const long double half = std::sin(0.5L * b);
        const long double re = (std::expm1(static_cast<long double>(a)) - a) - 2.0L * e * half * half;
        const long double im = e * std::sin(static_cast<long double>(b)) - b;
        // long double itself loses up to 2^-64 |z|
        const long double scale =
            64.0L * kU * std::max(1.0L, e) * (1.0L * a * a + 1.0L * b * b) + 0x1p-60L * (std::fabs(a) + std::fabs(b));
        CHECK_THAT(std::fabs(static_cast<double>(f.re - re)), <=, static_cast<double>(scale));
        CHECK_THAT(std::fabs(static_cast<double>(f.im - im)), <=, static_cast<double>(scale));
    }
}

// x^2 is split so that its rounding is not multiplied by e^(x^2).
long double erfcx_truth(double x) {
    const DoubleDouble square = two_prod(x, x);
    return std::exp(static_cast<long double>(square.hi)) * (1.0L + square.lo) * std::erfc(static_cast<long double>(x));
}

// To 12u on [0, 40].
void scaled_tails() {
    constexpr double kBound = 12.0;
    constexpr double kPoleLeaves = 0x1.921fb54442d18p2;  // pi / h
    check::Worst from_table{"erfcx, table", kBound}, below{"erfcx below pi/h", kBound},
        above{"erfcx above pi/h", kBound};
    for (const auto& row : table::rows<table::Erfcx>()) from_table.relative(erfcx(row.x), row.hi, row.lo, row.x);
    REPORT(from_table);

    CHECK_THAT(erfcx(0.0), ==, 1.0);
    if constexpr (check::kExtended) {
        std::mt19937_64 generator(4);
        std::uniform_real_distribution<double> whole(0.0, 40.0), near_zero(0.0, 2.0),
            near_pole(kPoleLeaves - 0.1, kPoleLeaves + 0.1);
        for (int i = 0; i < 100000; ++i) {
            for (const double x : {whole(generator), near_zero(generator), near_pole(generator)}) {
                (x < kPoleLeaves ? below : above).relative(erfcx(x), erfcx_truth(x), x);
            }
        }
        REPORT(below);
        REPORT(above);
    }

    // It falls, and stays between its elementary bounds 2/sqrt(pi) / (x + sqrt(x^2 + 2)) and 2/sqrt(pi) / (x + sqrt(x^2
    // + 4/pi)).
    constexpr double kPi = 0x1.921fb54442d18p1;
    for (int i = 0; i <= 4000; ++i) {
        const double x = 0.01 * i, value = erfcx(x), slack = 1.0 + 16.0 * 0x1p-53;
        CHECK_THAT(erfcx(x + 0.01), <, value);
        CHECK_THAT(value * slack, >=, 2.0 / std::sqrt(kPi) / (x + std::sqrt(x * x + 2.0)));
        CHECK_THAT(value, <=, slack * 2.0 / std::sqrt(kPi) / (x + std::sqrt(x * x + 4.0 / kPi)));
    }
}

void check_near(Certified found, long double truth) {
    const long double slack = 4e-19L * truth;
    CHECK(found.relative_error < 1e-9);
    CHECK(std::fabs(static_cast<long double>(found.value) - truth) <= found.relative_error * truth + slack);
}

// C(n, k) a^k b^(n-k) / (a+b)^n in long double, n small.
long double term(int n, int k, int a, int b) {
    long double mass = 1.0L;
    for (int i = 1; i <= k; ++i) mass = mass * (n - k + i) / i * a / (a + b);
    for (int i = 0; i < n - k; ++i) mass = mass * b / (a + b);
    return mass;
}

void small_populations() {
    for (const int n : {1, 2, 7, 40, 60}) {
        for (const int a : {1, 8, 15}) {
            const double q = a / 16.0;
            for (int k = 0; k <= n; ++k) {
                long double below = 0.0L, from = 0.0L;
                for (int j = 0; j < k; ++j) below += term(n, j, a, 16 - a);
                for (int j = n; j >= k; --j) from += term(n, j, a, 16 - a);
                check_near(binomial_mass(n, q, k), term(n, k, a, 16 - a));
                const BinomialTails tails = binomial_tails(n, q, k);
                if (k > 0) check_near(tails.below, below);
                check_near(tails.from, from);
            }
        }
    }
}

// P[X < (n+1)/2] = 1/2 for odd n and q = 1/2.
void large_populations() {
    for (const double n : {1001.0, 1000001.0, 10000000001.0}) {
        const BinomialTails tails = binomial_tails(n, 0.5, 0.5 * (n + 1.0));
        check_near(tails.below, 0.5L);
        check_near(tails.from, 0.5L);
    }
}

void edges() {
    CHECK(binomial_tails(5.0, 0.25, 0.0).below.value == 0.0);
    CHECK(binomial_tails(5.0, 0.25, 6.0).from.value == 0.0);
    CHECK(binomial_tails(5.0, 1.0, 5.0).from.value == 1.0);
    CHECK(binomial_mass(5.0, 1.0, 5.0).value == 1.0);
    CHECK(binomial_mass(5.0, 0.25, -1.0).value == 0.0);
}

}  // namespace

int main() {
    excesses();
    arguments();
    complex_phi();
    scaled_tails();
    small_populations();
    large_populations();
    edges();
    return check::finish();
}
