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

// |truth - value| <= error * value; value >= 0. A zero with error 0 is exact, with another error it is too small to
// hold.
struct Enclosed {
    Scaled value;
    double error;
};

constexpr Bracket kNoBracket{kNaN, kNaN};

// The intersection of two brackets of one number; NaN is no bound.
inline Bracket common(Bracket a, Bracket b) noexcept {
    return {std::fmax(a.lower, b.lower), std::fmin(a.upper, b.upper)};
}

// Relative to the upper end.
inline bool is_narrow(Bracket b, double width) noexcept {
    return b.upper < kInfinity && b.upper - b.lower <= width * std::fabs(b.upper);
}

constexpr Enclosed kNotEnclosed{{{kNaN, 0.0}, 0.0}, 0.0};

namespace detail {

inline double times_power_of_two(double x, double exponent) noexcept {
    return std::ldexp(x, static_cast<int>(std::clamp(exponent, -5000.0, 5000.0)));
}

}  // namespace detail

// The nearest double; below the smallest normal the relative error is 1, that is, nothing is claimed: see bounds_of.
inline Certified nearest_of(const Enclosed& e) noexcept {
    const double value = detail::times_power_of_two(e.value.mantissa.hi, e.value.exponent);
    if (e.error == 0.0 && e.value.mantissa.lo == 0.0) return {value, 0.0};
    if (value < kSmallestNormal || !(e.error < 0.5)) return {value, 1.0};
    return {value, (e.error + kUnitRoundoff) / (1.0 - e.error) * (1.0 + 0x1p-40)};
}

// For a value in [0, top]: neighbouring doubles where the error is far below an ulp; [0, smallest normal] below that.
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
