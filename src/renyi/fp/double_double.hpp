// Double-double arithmetic: an unevaluated sum hi + lo with |lo| <= ulp(hi)/2, about 104 significant bits.
//
// Dekker 1971; Joldes, Muller, Popescu 2017 (relative error of a sum or product at most 2^-101 each).
// No fused multiply-add is assumed, so results are the same on every machine. Valid for |x| < 2^995.
// Scaled: a double-double with a separate binary exponent, whose products and sums neither overflow nor underflow.
#pragma once

#include <algorithm>
#include <cmath>

#include "renyi/fp/multiversion.hpp"

namespace renyi {

struct DoubleDouble {
    double hi;
    double lo;
};

constexpr DoubleDouble kInverseRoot2PiInTwo{0x1.9884533d43651p-2, -0x1.cbc0d30ebfd15p-56};  // to 2^-108

RENYI_INLINE DoubleDouble fast_two_sum(double a, double b) noexcept {  // |a| >= |b|
    const double s = a + b;
    return {s, b - (s - a)};
}

RENYI_INLINE DoubleDouble two_sum(double a, double b) noexcept {
    const double s = a + b;
    const double t = s - a;
    return {s, (a - (s - t)) + (b - t)};
}

// a = hi + lo with 26 bits each (Veltkamp).
RENYI_INLINE DoubleDouble split(double a) noexcept {
    const double t = a * 134217729.0;
    const double hi = t - (t - a);
    return {hi, a - hi};
}

RENYI_INLINE DoubleDouble two_prod(double a, double b) noexcept {
    const double p = a * b;
    const DoubleDouble x = split(a);
    const DoubleDouble y = split(b);
    return {p, ((x.hi * y.hi - p) + x.hi * y.lo + x.lo * y.hi) + x.lo * y.lo};
}

RENYI_INLINE DoubleDouble operator-(DoubleDouble a) noexcept { return {-a.hi, -a.lo}; }

RENYI_INLINE DoubleDouble operator+(DoubleDouble a, DoubleDouble b) noexcept {
    DoubleDouble s = two_sum(a.hi, b.hi);
    const DoubleDouble t = two_sum(a.lo, b.lo);
    s = fast_two_sum(s.hi, s.lo + t.hi);
    return fast_two_sum(s.hi, s.lo + t.lo);
}

RENYI_INLINE DoubleDouble operator+(DoubleDouble a, double b) noexcept {
    const DoubleDouble s = two_sum(a.hi, b);
    return fast_two_sum(s.hi, s.lo + a.lo);
}

RENYI_INLINE DoubleDouble operator-(DoubleDouble a, DoubleDouble b) noexcept { return a + (-b); }

RENYI_INLINE DoubleDouble operator*(DoubleDouble a, DoubleDouble b) noexcept {
    const DoubleDouble p = two_prod(a.hi, b.hi);
    return fast_two_sum(p.hi, p.lo + (a.hi * b.lo + a.lo * b.hi));
}

RENYI_INLINE DoubleDouble operator*(DoubleDouble a, double b) noexcept {
    const DoubleDouble p = two_prod(a.hi, b);
    return fast_two_sum(p.hi, p.lo + a.lo * b);
}

RENYI_INLINE DoubleDouble operator/(DoubleDouble a, DoubleDouble b) noexcept {
    const double q1 = a.hi / b.hi;
    const DoubleDouble r = a - b * q1;
    const double q2 = r.hi / b.hi;
    const DoubleDouble s = r - b * q2;
    return fast_two_sum(q1, q2) + s.hi / b.hi;
}

struct Scaled {  // mantissa 2^exponent
    DoubleDouble mantissa;
    double exponent;  // an integer
};

constexpr Scaled kScaledOne{{1.0, 0.0}, 0.0};
constexpr Scaled kScaledZero{{0.0, 0.0}, -1e300};

// Brings the mantissa back near 1 when it has drifted; exact.
inline Scaled normalised(Scaled a) noexcept {
    int shift;
    std::frexp(a.mantissa.hi, &shift);
    if (a.mantissa.hi == 0.0 || std::abs(shift) < 200) return a;
    return {{std::ldexp(a.mantissa.hi, -shift), std::ldexp(a.mantissa.lo, -shift)}, a.exponent + shift};
}

// 2^exponent; 0 if that is below 2^-1000.
inline double power_of_two(double exponent) noexcept {
    return exponent < -1000.0 ? 0.0 : std::ldexp(1.0, static_cast<int>(std::min(exponent, 1023.0)));
}

inline Scaled operator+(const Scaled& a, const Scaled& b) noexcept {
    if (b.exponent > a.exponent) return b + a;
    const double scale = power_of_two(b.exponent - a.exponent);
    return {a.mantissa + DoubleDouble{b.mantissa.hi * scale, b.mantissa.lo * scale}, a.exponent};
}

inline Scaled operator*(const Scaled& a, const Scaled& b) noexcept {
    return normalised({a.mantissa * b.mantissa, a.exponent + b.exponent});
}

inline Scaled operator*(const Scaled& a, DoubleDouble b) noexcept { return normalised({a.mantissa * b, a.exponent}); }

inline Scaled absolute(const Scaled& a) noexcept { return a.mantissa.hi < 0.0 ? Scaled{-a.mantissa, a.exponent} : a; }

// a/b to double precision, saturating.
inline double ratio(const Scaled& a, const Scaled& b) noexcept {
    return a.mantissa.hi / b.mantissa.hi *
           std::ldexp(1.0, static_cast<int>(std::clamp(a.exponent - b.exponent, -1000.0, 1000.0)));
}

}  // namespace renyi
