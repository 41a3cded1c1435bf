// Two doubles that enclose an exact value, made from a double-double and its error.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "renyi/fp/certified.hpp"
#include "renyi/fp/double_double.hpp"

namespace renyi {

struct Bracket {
    double lower, upper;
};

// |truth - value| <= error * value; value >= 0. A zero with error 0 is exact; a zero with another error is a value too
// small to represent.
struct Enclosed {
    Scaled value;
    double error;
};

constexpr Bracket kNoBracket{kNaN, kNaN};

// The intersection of two brackets of the same number; NaN stands for no bound.
inline Bracket common(Bracket a, Bracket b) noexcept {
    return {std::fmax(a.lower, b.lower), std::fmin(a.upper, b.upper)};
}

// Whether the width of a bracket, relative to its upper end, is at most `width`.
inline bool is_narrow(Bracket b, double width) noexcept {
    return b.upper < kInfinity && b.upper - b.lower <= width * std::fabs(b.upper);
}

constexpr Enclosed kNotEnclosed{{{kNaN, 0.0}, 0.0}, 0.0};

namespace detail {

inline double times_power_of_two(double x, double exponent) noexcept {
    return std::ldexp(x, static_cast<int>(std::clamp(exponent, -5000.0, 5000.0)));
}

}  // namespace detail

// The nearest double. Below the smallest normal number the relative error is 1, which claims nothing: see bounds_of.
inline Certified nearest_of(const Enclosed& e) noexcept {
    const double value = detail::times_power_of_two(e.value.mantissa.hi, e.value.exponent);
    if (e.error == 0.0 && e.value.mantissa.lo == 0.0) return {value, 0.0};
    if (value < kSmallestNormal || !(e.error < 0.5)) return {value, 1.0};
    return {value, (e.error + kUnitRoundoff) / (1.0 - e.error) * (1.0 + 0x1p-40)};
}

// Returns bounds of a value in [0, top]: neighbouring doubles where the error is far below an ulp; [0, smallest normal]
// for values below the smallest normal number.
inline Bracket bounds_of(const Enclosed& e, double top = 1.0) noexcept {
    const double hi = detail::times_power_of_two(e.value.mantissa.hi, e.value.exponent);
    if (std::isnan(hi)) return kNoBracket;
    const double lo = detail::times_power_of_two(e.value.mantissa.lo, e.value.exponent);
    if (e.error == 0.0 && lo == 0.0) return {hi, hi};
    // Near the bottom of the range the low part is itself rounded.
    const double slack = hi * e.error * (1.0 + 0x1p-40) + std::numeric_limits<double>::denorm_min();
    const double below = lo - slack >= 0.0 ? hi : std::nextafter(hi + (lo - slack), -1.0);
    const double above = lo + slack <= 0.0 ? hi : std::nextafter(hi + (lo + slack), kInfinity);
    return {below < kSmallestNormal ? 0.0 : std::min(below, top), std::min(std::max(above, kSmallestNormal), top)};
}

}  // namespace renyi
