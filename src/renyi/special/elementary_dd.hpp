// exp, log, expm1 and log1p in double-double, for the few scalars per evaluation whose rounding errors the order
// multiplies, and sums of such terms without overflow.
//
//   exp_dd(a), |a| < 2^45:          2^exponent * mantissa, relative error <= 2^-80 + 2^-98 |a|; 0 below, NaN above
//   log_dd(a), a > 0 normal:        absolute error <= 2^-79 (1 + |log a| 2^-20)
//   exp_fine(x), |x| <= 700:        relative error <= 2^-97
//   expm1_dd(x), x <= 700:          absolute error: expm1_dd_error(x), below 2^-90 of the result
//   log1p_dd(z, y), y = 1 + z > 0:  relative error <= 2^-78 for |z| < 2^-6; beyond, absolute error as of log_dd, below
//                                   2^-72 of the result
//   scaled_expm1(a), 0 <= a < 2^60: relative error 8u; where a > 2^46 also the error of the argument, 2^-100 a
// exp: a = (64 k + i) log(2)/64 + r, |r| < 0.0055, e^a = 2^k 2^(i/64) e^r; e^r - 1 by its series, in double from r^4/24
// < 2^-34 on. log: a = 2^k m, r = m c - 1 with c near 1/m from a table, |r| < 2^-6.6; log1p(r) by its series, in double
// from r^5/5 < 2^-35 on. expm1: the same reduction, with e^r - 1 in double-double up to r^5/120; the following terms,
// r^6/720 < 2^-46 r, have a relative error of 2^-51. log1p near 0 by its series, in double from s^5/5 < 2^-29 s on.
#pragma once

#include <algorithm>
#include <cmath>

#include "renyi/fp/certified.hpp"
#include "renyi/fp/double_double.hpp"
#include "renyi/special/elementary.hpp"
#include "renyi/special/tables.hpp"

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
        square.hi * square.hi *
        (1.0 / 24 +
         r.hi * (1.0 / 120 + r.hi * (1.0 / 720 + r.hi * (1.0 / 5040 + r.hi * (1.0 / 40320 + r.hi * (1.0 / 362880))))));
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

// log y, from z and y = 1 + z, both in double-double: the more accurate of the two is used.
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

// e^a - 1 with a binary exponent of its own: expm1_of or exp_of (6u, 3u) and the product with the low part.
inline Scaled scaled_expm1(DoubleDouble a) noexcept {
    if (a.hi < 300.0) {
        const ExpReduction e = reduce_exp(a.hi);
        return normalised({{expm1_of(e) + exp_of(e) * a.lo, 0.0}, 0.0});
    }
    const double k = std::nearbyint(a.hi * 0x1.71547652b82fep0);
    const DoubleDouble r = a - kLog2DD * k;
    const double value = exp_of(reduce_exp(r.hi));
    return {{value + value * r.lo, 0.0}, k};
}

constexpr double kLargestExponent = 0x1p50;  // largest argument of scaled_expm1

// Bounds the error of log(e^K - 1), or of log(c e^K - 1) with c <= 3: the true K is within K e / (1-e), and
// d log(c e^K - 1) <= 1.5 (1/K + 1) dK.
inline double log_error(Certified k) noexcept {
    return 1.5 * (1.0 + k.value) * (k.relative_error / (1.0 - k.relative_error));
}

// x > 0 as a Scaled number; x may be subnormal.
inline Scaled scaled(double x) noexcept {
    int shift;
    const double m = std::frexp(x, &shift);
    return {{m, 0.0}, static_cast<double>(shift)};
}

inline double log_of(const Scaled& s) noexcept { return lane_log(s.mantissa.hi) + s.exponent * kLog2; }

// The excess A - 1 of a bound log A, as a sum of non-negative terms with their errors.
class Excess {
public:
    void add(const Scaled& term, double error) noexcept {
        const double before = sum_.exponent;
        sum_ = sum_ + term;
        errors_ *= power_of_two(before - sum_.exponent);
        errors_ += term.mantissa.hi * power_of_two(term.exponent - sum_.exponent) * error;
        largest_error_ = std::max(largest_error_, error);
    }

    double log_total() const noexcept { return sum_.mantissa.hi == 0.0 ? -kInfinity : log_of(sum_); }

    // log A. A relative error e of A - 1 moves it by e (A-1)/A, which is at most e and at most e log A; the weighted
    // mean of the terms' errors bounds e where all of them are small. `rounding` is a further error of each term. A
    // value that would underflow is replaced by an interval that begins below 0.
    Certified log_moment(double rounding) const noexcept {
        if (sum_.mantissa.hi == 0.0) return {0.0, 0.0};
        const double value = log1p_of(sum_), mean = errors_ / sum_.mantissa.hi;
        if (value < 0x1p-990) return {0x1p-990, 1.0 - 0x1p-22};
        const double e = rounding + (largest_error_ < 0x1p-7 ? 1.01 * mean : largest_error_);
        return {value, 8.0 * kUnitRoundoff + e * std::min(1.0, 1.0 / value)};
    }

private:
    Scaled sum_ = kScaledZero;
    double errors_ = 0.0;  // sum of terms times errors, in units of 2^(exponent of the sum)
    double largest_error_ = 0.0;
};

// log(1 + r (e^K - 1)), 0 <= r <= 1. Beyond 2^50 it is K + log r to a relative e^-(2^49).
inline Certified log_mixture(double r, Certified k) noexcept {
    if (r == 0.0 || k.value == 0.0) return {0.0, 0.0};
    if (r == 1.0 || !(k.value < kLargestExponent)) {
        if (r == 1.0 || k.value == kInfinity) return k;
        return {k.value + log_of(scaled(r)), k.relative_error * (1.0 + 0x1p-30) + 4.0 * kUnitRoundoff};
    }
    Excess excess;
    excess.add(scaled(r) * scaled_expm1({k.value, 0.0}), log_error(k));
    return excess.log_moment(12.0 * kUnitRoundoff);
}

}  // namespace renyi
