// Double-doubles with a binary exponent of their own: products and sums that neither overflow nor underflow.
#pragma once

#include <algorithm>
#include <cmath>

#include "renyi/fp/double_double.hpp"

namespace renyi {

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

// 2^exponent, 0 where it would be below 2^-1000.
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
