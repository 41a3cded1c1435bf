// exp and log in double-double, for the few scalars per evaluation whose rounding would be multiplied by the order.
//
//   exp_dd(a), |a| < 2^45:     2^exponent * mantissa, relative error <= 2^-80 + 2^-98 |a|; 0 below, NaN above
//   log_dd(a), a > 0 normal:   absolute error <= 2^-79 (1 + |log a| 2^-20)
// exp: a = (64 k + i) log(2)/64 + r, |r| < 0.0055, e^a = 2^k 2^(i/64) e^r; e^r - 1 by its series, in double from r^4/24
// < 2^-34 on. log: a = 2^k m, r = m c - 1 with c near 1/m from a table, |r| < 2^-6.6; log1p(r) by its series, in double
// from r^5/5 < 2^-35 on.
#pragma once

#include <cmath>

#include "renyi/fp/certified.hpp"
#include "renyi/fp/double_double.hpp"
#include "renyi/special/elementary.hpp"
#include "renyi/special/elementary_tables.hpp"

namespace renyi {

constexpr DoubleDouble kLog2DD{0x1.62e42fefa39efp-1, 0x1.abc9e3b39803fp-56};

inline Scaled exp_dd(DoubleDouble a) noexcept {
    if (!(std::fabs(a.hi) < 0x1p45)) return {{a.hi < 0.0 ? 0.0 : kNaN, 0.0}, 0.0};
    const double n = std::nearbyint(a.hi * (64.0 * 0x1.71547652b82fep0));
    const DoubleDouble r = a - kLog2DD * (n * 0x1p-6);
    const double k = std::floor(n * 0x1p-6);
    const DoubleDouble power = kExpTable[static_cast<int>(n - 64.0 * k)];
    constexpr DoubleDouble kSixth{0x1.5555555555555p-3, 0x1.5555555555555p-57};
    const DoubleDouble square = r * r;
    const double tail =
        square.hi * square.hi * (1.0 / 24 + r.hi * (1.0 / 120 + r.hi * (1.0 / 720 + r.hi * (1.0 / 5040 + r.hi * (1.0 / 40320 + r.hi * (1.0 / 362880))))));
    const DoubleDouble m = r + (square * 0.5 + (square * r * kSixth + tail));
    return {power + power * m, k};
}

inline DoubleDouble log_dd(DoubleDouble a) noexcept {
    int exponent;
    const double m = 2.0 * std::frexp(a.hi, &exponent);
    const double scale = std::ldexp(1.0, 1 - exponent);
    const LogEntry entry = kLogTable[static_cast<int>((m - 1.0) * 64.0)];
    const DoubleDouble r = DoubleDouble{m, a.lo * scale} * entry.c + -1.0;
    constexpr DoubleDouble kThird{0x1.5555555555555p-2, 0x1.5555555555555p-56};
    const DoubleDouble square = r * r;
    const DoubleDouble quartic = square * square * -0.25;
    const double x = r.hi;
    const double tail =
        x * quartic.hi * (-4.0 / 5 + x * (4.0 / 6 + x * (-4.0 / 7 + x * (4.0 / 8 + x * (-4.0 / 9 + x * (4.0 / 10))))));
    const DoubleDouble series = r + (square * -0.5 + (square * r * kThird + (quartic + tail)));
    return kLog2DD * (exponent - 1.0) + (entry.minus_log + series);
}

// log1p of a Scaled number s >= 0, relative error 6u.
inline double log1p_of(const Scaled& s) noexcept {
    if (s.mantissa.hi == 0.0) return 0.0;
    const double size = s.exponent + std::ilogb(s.mantissa.hi);
    if (size > 60.0) return s.exponent * kLog2 + lane_log(s.mantissa.hi);
    return lane_log1p(s.mantissa.hi * power_of_two(s.exponent));
}

// The double nearest to exp(a), 0 or inf beyond the range.
inline double exp_of_dd(DoubleDouble a) noexcept {
    if (!(a.hi < 710.0)) return kLog2 * HUGE_VAL;
    if (a.hi < -746.0) return 0.0;
    const Scaled e = exp_dd(a);
    return std::ldexp(e.mantissa.hi, static_cast<int>(e.exponent));
}

}  // namespace renyi
