// exp and log in double-double, for the few scalars per evaluation whose rounding would be multiplied by the order.
//
//   exp_dd(a), |a| <= 2^30:  2^exponent * mantissa, relative error <= 2^-88 + 2^-104 |a|
//   log_dd(a), a > 0 normal: absolute error <= 2^-88 (1 + |log a|)
// Method: a = k log 2 + r, Taylor of expm1(r / 2^8), eight squarings of 1 + m kept as m; log by one Newton step
// from the double logarithm (quadratic: (4e-16)^2 is far below the bound). Source: Joldes et al. 2017 for the arithmetic.
#pragma once

#include <cmath>

#include "renyi/fp/scaled.hpp"
#include "renyi/special/elementary.hpp"

namespace renyi {

constexpr DoubleDouble kLog2DD{0x1.62e42fefa39efp-1, 0x1.abc9e3b39803fp-56};

inline DoubleDouble expm1_small_dd(DoubleDouble r) noexcept {  // |r| <= 0.35
    r = {r.hi * 0x1p-8, r.lo * 0x1p-8};
    DoubleDouble sum{0.0, 0.0};
    for (int i = 10; i >= 1; --i) sum = (sum + 1.0) * r / DoubleDouble{static_cast<double>(i), 0.0};
    for (int i = 0; i < 8; ++i) sum = sum * 2.0 + sum * sum;
    return sum;
}

inline Scaled exp_dd(DoubleDouble a) noexcept {
    const double k = std::nearbyint(a.hi * 0x1.71547652b82fep0);
    return {expm1_small_dd(a - kLog2DD * k) + 1.0, k};
}

inline DoubleDouble log_dd(DoubleDouble a) noexcept {
    const double y = lane_log(a.hi);
    const Scaled e = exp_dd({-y, 0.0});
    const double scale = std::ldexp(1.0, static_cast<int>(e.exponent));
    const DoubleDouble d = DoubleDouble{a.hi * scale, a.lo * scale} * e.mantissa + -1.0;
    return d + y + -0.5 * d.hi * d.hi;
}

// log1p of a Scaled number s >= 0, relative error 4u.
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
