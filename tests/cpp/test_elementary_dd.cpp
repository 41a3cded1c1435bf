// The bounds stated in special/elementary_dd.hpp, over a table made in ball arithmetic.
#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "check.hpp"
#include "measure.hpp"
#include "renyi/special/elementary_dd.hpp"
#include "tables.hpp"

using namespace renyi;
using check::Worst;

namespace {

// 2^-80 + 2^-98 |a|, relative
void exponentials() {
    Worst small{"exp_dd, |a| < 700", 1.0}, large{"exp_dd, |a| < 2^45", 1.0};
    for (const auto& row : table::rows<table::ExpDD>()) {
        const Scaled e = exp_dd({row.hi, row.lo});
        const int shift = static_cast<int>(e.exponent - row.exponent);
        CHECK(e.exponent == std::nearbyint(e.exponent) && std::abs(shift) <= 1);
        const double error =
            (std::ldexp(e.mantissa.hi, shift) - row.exp_hi) + (std::ldexp(e.mantissa.lo, shift) - row.exp_lo);
        const double bound = 0x1p-80 + 0x1p-98 * std::fabs(row.hi);
        (std::fabs(row.hi) < 700.0 ? small : large).note_error(std::fabs(error / row.exp_hi) / bound, row.hi);
    }
    REPORT(small);
    REPORT(large);
    CHECK(exp_dd({-0x1p46, 0.0}).mantissa.hi == 0.0 && exp_dd({-HUGE_VAL, 0.0}).mantissa.hi == 0.0);
    CHECK(std::isnan(exp_dd({0x1p46, 0.0}).mantissa.hi) && std::isnan(exp_dd({std::nan(""), 0.0}).mantissa.hi));
}

// 2^-79 (1 + |log a| 2^-20), absolute
void logarithms() {
    Worst worst{"log_dd", 1.0};
    for (const auto& row : table::rows<table::LogDD>()) {
        const DoubleDouble l = log_dd({row.hi, row.lo});
        const double error = (l.hi - row.log_hi) + (l.lo - row.log_lo);
        worst.note_error(std::fabs(error) / (0x1p-79 * (1.0 + std::fabs(row.log_hi) * 0x1p-20)), row.hi);
    }
    REPORT(worst);
    // Every entry of the table of logarithms, at both ends of its cell.
    Worst cells{"log_dd, cells", 1.0, 0x1p-64};
    if constexpr (check::kExtended) {
        for (int i = 0; i < 64; ++i) {
            for (const double m : {1.0 + i / 64.0, std::nextafter(1.0 + (i + 1) / 64.0, 0.0)}) {
                const DoubleDouble l = log_dd({m, 0.0});
                const long double truth = std::log(static_cast<long double>(m));
                cells.note_error(static_cast<double>(std::fabs((l.hi - truth) + l.lo)) / 0x1p-64, m);
            }
        }
        REPORT(cells);
    }
}

// exp and log were made by different series from different tables: one undoes the other.
void they_are_inverse() {
    std::mt19937_64 generator(6);
    std::uniform_real_distribution<double> wide(-600.0, 600.0), narrow(-1.0, 1.0);
    Worst worst{"log_dd of exp_dd", 1.0};
    for (int i = 0; i < 20000; ++i) {
        const double hi = i % 2 ? wide(generator) : narrow(generator);
        const DoubleDouble a = fast_two_sum(hi, hi * narrow(generator) * 0x1p-54);
        const Scaled e = exp_dd(a);
        const double power = power_of_two(e.exponent);
        const DoubleDouble back = log_dd({e.mantissa.hi * power, e.mantissa.lo * power}) - a;
        const double bound = 0x1p-80 + 0x1p-98 * std::fabs(hi) + 0x1p-79 * (1.0 + std::fabs(hi) * 0x1p-20);
        worst.note_error(std::fabs(back.hi) / bound, hi);
    }
    REPORT(worst);
}

// The double nearest to exp(a): the error is at most half a unit.
void rounded_exponentials() {
    Worst worst{"exp_of_dd, half units", 1.0 + 0x1p-20};
    const auto check_one = [&](double value, double hi, double lo, double at) {
        const double unit = std::nextafter(value, HUGE_VAL) - value;
        const double below = value - std::nextafter(value, 0.0);
        worst.note_error(std::fabs((value - hi) - lo) / (0.5 * (value > hi ? below : unit)), at);
    };
    for (const auto& row : table::rows<table::ExpDD>()) {
        if (std::fabs(row.hi) > 700.0) continue;
        const int k = static_cast<int>(row.exponent);
        check_one(exp_of_dd({row.hi, row.lo}), std::ldexp(row.exp_hi, k), std::ldexp(row.exp_lo, k), row.hi);
    }
    for (const auto& row : table::rows<table::Exp>()) {
        if (std::fabs(row.t) < 600.0) check_one(exp_of_dd({row.t, 0.0}), row.exp_hi, row.exp_lo, row.t);
    }
    REPORT(worst);
    CHECK(exp_of_dd({710.0, 0.0}) == HUGE_VAL && exp_of_dd({1e300, 0.0}) == HUGE_VAL);
    CHECK(exp_of_dd({-746.0, 0.0}) == 0.0 && exp_of_dd({-1e300, 0.0}) == 0.0);
    CHECK_THAT(exp_of_dd({-744.0, 0.0}), ==, 0x1p-1073);  // 1.9 of the smallest doubles
    CHECK_THAT(exp_of_dd({709.78, 0.0}), >, 0x1.fep1023);
}

// 8u where exponent and mantissa cancel, 4u otherwise.
void log1p_of_scaled() {
    Worst worst{"log1p_of", 8.0}, small{"log1p_of small", 4.0};
    for (const auto& row : table::rows<table::Log1pOf>())
        worst.relative(log1p_of({{row.hi, row.lo}, row.exponent}), row.log1p_hi, row.log1p_lo, row.hi);
    REPORT(worst);
    // The same number, its size moved from the exponent to the mantissa.
    for (const auto& row : table::rows<table::Log1p>()) {
        if (!(row.x > 0x1p-700 && row.x < 0x1p700)) continue;
        const int size = std::ilogb(row.x);
        for (const int shift : {-199, -60, 0, 60, 199}) {
            const Scaled s{{std::ldexp(row.x, shift - size), 0.0}, static_cast<double>(size - shift)};
            small.relative(log1p_of(s), row.log1p_hi, row.log1p_lo, row.x);
        }
    }
    REPORT(small);
    CHECK(log1p_of(kScaledZero) == 0.0 && log1p_of({{0.0, 0.0}, 5.0}) == 0.0);
    // Far beyond the range of double: 1e9 log 2.
    CHECK_THAT(std::fabs(log1p_of({{1.0, 0.0}, 1e9}) / (1e9 * kLog2) - 1.0), <=, 4.0 * 0x1p-53);
}

}  // namespace

int main() {
    exponentials();
    logarithms();
    they_are_inverse();
    rounded_exponentials();
    log1p_of_scaled();
    return check::finish();
}
