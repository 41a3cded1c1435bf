// erfcx to 12u on [0, 40], over the table and densely in extended precision.
#include <cmath>
#include <random>

#include "check.hpp"
#include "measure.hpp"
#include "renyi/fp/double_double.hpp"
#include "renyi/special/normal.hpp"
#include "tables.hpp"

using namespace renyi;

namespace {

// x^2 is split so that its rounding is not multiplied by e^(x^2).
long double truth(double x) {
    const DoubleDouble square = two_prod(x, x);
    return std::exp(static_cast<long double>(square.hi)) * (1.0L + square.lo) * std::erfc(static_cast<long double>(x));
}

}  // namespace

int main() {
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
                (x < kPoleLeaves ? below : above).relative(erfcx(x), truth(x), x);
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
    return check::finish();
}
