// exp, log and their cancellation-free relatives, as branch-free inline functions that vectorise.
//
// Hot loops and kernels take these, which give the same bits everywhere; scalars beside them take the system's functions
// under the assumption of fp/certified.hpp. Every function is a polynomial with rational (Taylor) coefficients after an
// exact argument reduction; bounds are in units of u = 2^-53 and are checked against ball arithmetic in
// tests/cpp/test_elementary.cpp.
//
//   reduce_exp   t = k log 2 + r, |r| <= 0.3467; tail = e^r - 1 - r to 3u relative (truncation r^14/14! < 2^-53 r^2/2)
//   exp          3u   relative, |t| <= 708
//   expm1        6u   relative, t in [-708, 708]
//   phi          16u  relative: phi(t) = e^t - 1 - t. For k = 0 it *is* the tail. At the next k the three terms of
//                 (2^k - 1)(1 + r) - k log 2 + 2^k tail cancel by at most a factor 13 (k = -1, r = log(2)/2).
//   reduce_log   y = 2^k (1 + f), f in [sqrt(1/2) - 1, sqrt(2) - 1]; tail = log1p(f) - f to 5u relative, by
//                 s = f/(2+f) and the odd series (truncation s^23 2/23 < 2^-60)
//   log          2u   relative for k != 0, and for k = 0 of log1p(x) when the caller passes x = y - 1 exactly
//   log1pmx      16u  relative: log1p(x) - x (same factor as phi)
#pragma once

#include <bit>
#include <cstdint>

#include "renyi/fp/multiversion.hpp"

namespace renyi {

constexpr double kLog2 = 0x1.62e42fefa39efp-1;
constexpr double kLog2Hi = 0x1.62e42fefap-1;  // 37 bits: k * kLog2Hi is exact for |k| < 2^16
constexpr double kLog2Lo = 0x1.cf79abc9e3b3ap-40;
constexpr double kRoundShift = 0x1.8p52;  // adding it rounds to an integer

// condition ? a : b by masking: g++ would rather split the loop body into two paths and run both.
RENYI_INLINE double select(bool condition, double a, double b) noexcept {
    const std::uint64_t mask = std::uint64_t{0} - static_cast<std::uint64_t>(condition);
    return std::bit_cast<double>((std::bit_cast<std::uint64_t>(a) & mask) | (std::bit_cast<std::uint64_t>(b) & ~mask));
}

struct ExpReduction {
    double k;  // an integer
    double r;
    double tail;   // e^r - 1 - r
    double scale;  // 2^k
};

RENYI_INLINE ExpReduction reduce_exp(double t) noexcept {
    const double shifted = t * 0x1.71547652b82fep0 + kRoundShift;
    const double k = shifted - kRoundShift;
    const double r = (t - k * kLog2Hi) - k * kLog2Lo;
    const double r2 = r * r;
    const double r4 = r2 * r2;
    const double p0 = (1.0 / 2) + r * (1.0 / 6);
    const double p1 = (1.0 / 24) + r * (1.0 / 120);
    const double p2 = (1.0 / 720) + r * (1.0 / 5040);
    const double p3 = (1.0 / 40320) + r * (1.0 / 362880);
    const double p4 = (1.0 / 3628800) + r * (1.0 / 39916800);
    const double p5 = (1.0 / 479001600) + r * (1.0 / 6227020800.0);
    const double q0 = p0 + r2 * p1;
    const double q1 = p2 + r2 * p3;
    const double q2 = p4 + r2 * p5;
    const double tail = r2 * (q0 + r4 * (q1 + r4 * q2));
    const auto bits = (std::bit_cast<std::uint64_t>(shifted) + 1023u) << 52;
    return {k, r, tail, std::bit_cast<double>(bits)};
}

RENYI_INLINE double exp_of(ExpReduction e) noexcept { return e.scale * (1.0 + (e.r + e.tail)); }

RENYI_INLINE double expm1_of(ExpReduction e) noexcept { return (e.scale - 1.0) + e.scale * (e.r + e.tail); }

RENYI_INLINE double phi_of(ExpReduction e) noexcept {
    const double s1 = e.scale - 1.0;
    return ((s1 - e.k * kLog2Hi) + (s1 * e.r - e.k * kLog2Lo)) + e.scale * e.tail;
}

// Smallest argument of lane_exp that keeps the result a normal number; below it the result is 0.
RENYI_INLINE double lane_exp(double t) noexcept {
    const double clamped = t > -708.0 ? t : -708.0;
    const double value = exp_of(reduce_exp(clamped));
    return t > -708.0 ? value : 0.0;
}

struct LogReduction {
    double k;     // an integer
    double f;     // y = 2^k (1 + f)
    double tail;  // log1p(f) - f
};

// log of y = 1 + x > 0 (normal); x is y - 1 to full relative precision and used where y is near 1.
RENYI_INLINE LogReduction reduce_log(double y, double x) noexcept {
    constexpr std::uint64_t kSqrtHalf = 0x3fe6a09e667f3bcdULL;
    constexpr std::uint64_t kOne = 0x3ff0000000000000ULL;
    const auto bits = std::bit_cast<std::uint64_t>(y) + (kOne - kSqrtHalf);
    const auto biased = bits >> 52;
    const double m = std::bit_cast<double>((bits & 0x000fffffffffffffULL) + kSqrtHalf);
    const double k = std::bit_cast<double>(biased + 0x4338000000000000ULL - 1023u) - kRoundShift;
    const double f = select(biased == 1023u, x, m - 1.0);
    const double s = f / (2.0 + f);
    const double z = s * s;
    const double z2 = z * z;
    const double z4 = z2 * z2;
    const double p0 = (2.0 / 3) + z * (2.0 / 5);
    const double p1 = (2.0 / 7) + z * (2.0 / 9);
    const double p2 = (2.0 / 11) + z * (2.0 / 13);
    const double p3 = (2.0 / 15) + z * (2.0 / 17);
    const double p4 = (2.0 / 19) + z * (2.0 / 21);
    const double big_r = z * ((p0 + z2 * p1) + z4 * ((p2 + z2 * p3) + z4 * p4));
    const double half_square = 0.5 * f * f;
    return {k, f, s * (half_square + big_r) - half_square};
}

RENYI_INLINE double log_of(LogReduction l) noexcept { return l.k * kLog2Hi + (l.f + (l.tail + l.k * kLog2Lo)); }

// log1p(x) - x
RENYI_INLINE double log1pmx_of(LogReduction l, double x) noexcept {
    const double difference = (l.k * kLog2Hi - x) + l.f;  // 0 exactly where k = 0, since f is x there
    return difference + (l.tail + l.k * kLog2Lo);
}

RENYI_INLINE double lane_log(double y) noexcept { return log_of(reduce_log(y, y - 1.0)); }

// For 1 + x > 0: 1 + x is rounded, x is not.
RENYI_INLINE double lane_log1p(double x) noexcept { return log_of(reduce_log(1.0 + x, x)); }

RENYI_INLINE double lane_expm1(double t) noexcept {
    const double clamped = t > -708.0 ? t : -708.0;
    return expm1_of(reduce_exp(clamped));
}

}  // namespace renyi
