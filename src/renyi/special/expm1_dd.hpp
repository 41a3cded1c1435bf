// expm1 and log1p in double-double, relatively accurate near 0, and exp to all of its digits.
//
//   expm1_dd(x), x <= 700           absolute error: expm1_dd_error(x), below 2^-90 of the result
//   exp_fine(x), |x| <= 700         relative error <= 2^-97
//   log1p_dd(z, y), y = 1 + z > 0   relative error <= 2^-78 for |z| < 2^-6; beyond, absolute error as of log_dd, below
//                                   2^-72 of the result
// exp: x = (64 k + i) log(2)/64 + r as in exp_dd, |r| < 0.0055, with e^r - 1 in double-double up to r^5/120; what
// follows, r^6/720 < 2^-46 r, is right to 2^-51 of itself. log1p near 0 by its series, in double from s^5/5 < 2^-29 s
// on.
#pragma once

#include <cmath>

#include "renyi/special/elementary_dd.hpp"

namespace renyi {

// The value of a Scaled number within the range of double.
inline DoubleDouble unscaled(const Scaled& s) noexcept {
    const int exponent = static_cast<int>(s.exponent);
    return {std::ldexp(s.mantissa.hi, exponent), std::ldexp(s.mantissa.lo, exponent)};
}

namespace detail {

struct ExpParts {
    int n;           // x = n log(2)/64 + r
    DoubleDouble p;  // e^r - 1
};

inline ExpParts exp_parts(double x) noexcept {
    const double n = std::nearbyint(x * (64.0 * 0x1.71547652b82fep0));
    const DoubleDouble r = DoubleDouble{x, 0.0} - kLog2DD * (n * 0x1p-6);
    constexpr DoubleDouble kSixth{0x1.5555555555555p-3, 0x1.5555555555555p-57};
    constexpr DoubleDouble k120th{0x1.1111111111111p-7, 0x1.1111111111111p-63};
    const double h = r.hi;
    const double tail = 1.0 / 720 + h * (1.0 / 5040 + h * (1.0 / 40320 + h * (1.0 / 362880 + h * (1.0 / 3628800))));
    // r + r^2 (1/2 + r (1/6 + r (1/24 + r (1/120 + r tail))))
    DoubleDouble s = k120th + h * tail;
    s = kSixth * 0.25 + r * s;
    s = kSixth + r * s;
    s = DoubleDouble{0.5, 0.0} + r * s;
    return {static_cast<int>(n), r + r * r * s};
}

inline DoubleDouble power_of_parts(int n) noexcept {
    const int k = n >> 6;
    const DoubleDouble t = kExpTable[n & 63];
    return {std::ldexp(t.hi, k), std::ldexp(t.lo, k)};
}

}  // namespace detail

inline DoubleDouble exp_fine(double x) noexcept {
    const detail::ExpParts e = detail::exp_parts(x);
    const DoubleDouble power = detail::power_of_parts(e.n);
    return power + power * e.p;
}

inline DoubleDouble expm1_dd(double x) noexcept {
    if (x < -700.0) return {-1.0, 0.0};
    const detail::ExpParts e = detail::exp_parts(x);
    if (e.n == 0) return e.p;
    const DoubleDouble power = detail::power_of_parts(e.n);
    return (power + -1.0) + power * e.p;
}

inline double expm1_dd_error(double x) noexcept {
    const double size = std::fabs(x), square = x * x;
    return size < 0.005 ? size * (0x1p-99 + size * square * square * 0x1p-59) : lane_exp(x) * 0x1p-97;
}

// z and y = 1 + z, both in double-double: each is used where it is the more accurate of the two.
inline DoubleDouble log1p_dd(DoubleDouble z, DoubleDouble y) noexcept {
    if (std::fabs(z.hi) >= 0x1p-6) return log_dd(y);
    // 2 artanh(s) = 2 (s + s^3/3 + s^5/5 + ...), |s| < 2^-6.9
    constexpr DoubleDouble kThird{0x1.5555555555555p-2, 0x1.5555555555555p-56};
    const DoubleDouble s = z / (z + 2.0);
    const DoubleDouble square = s * s;
    const double w = square.hi;
    const double tail = w * w * (1.0 / 5 + w * (1.0 / 7 + w * (1.0 / 9 + w * (1.0 / 11))));
    const DoubleDouble cubic = square * kThird + tail;
    return (s + s * cubic) * 2.0;
}

}  // namespace renyi
