// exp, log, cos, sin and their cancellation-free relatives, and Lambert's W, as branch-free inline functions that
// vectorise.
//
// Inner loops use these functions, which give the same bits everywhere; scalar code may use the system's functions
// under the assumption of fp/certified.hpp. Every function is a polynomial with rational (Taylor) coefficients after an
// exact argument reduction. Bounds are in units of u = 2^-53; tests/cpp/test_elementary.cpp checks them against ball
// arithmetic.
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
//   cos t - 1    6u   relative for |t| < pi/4, else 4u + 2^-52 absolute, |t| <= 2^20: t = k pi/2 + r with
//                 |r| <= pi/4 (1 + 2^-30), pi/2 in three parts (33 + 33 + 53 bits: k times the first two is exact)
//   sin t - t    6u   relative for |t| < pi/4, else 4u |t| absolute, |t| <= 2^20
//   argument     8u   relative, of a complex number in the right half-plane
//   W            8u (1 + |log y|)/(1 + W) relative: the principal Lambert W, W e^W = y > 0
#pragma once

#include <bit>
#include <cstdint>

#include "renyi/fp/multiversion.hpp"

namespace renyi {

constexpr double kLog2 = 0x1.62e42fefa39efp-1;
constexpr double kLog2Hi = 0x1.62e42fefap-1;  // 37 bits: k * kLog2Hi is exact for |k| < 2^16
constexpr double kLog2Lo = 0x1.cf79abc9e3b3ap-40;
constexpr double kRoundShift = 0x1.8p52;  // adding it rounds to an integer

// condition ? a : b by masking: otherwise g++ splits the loop body into two paths and runs both.
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

// e^t; 0 for t <= -708, so that the result is a normal number or 0.
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

// log(1 + x) for 1 + x > 0: the sum is rounded, x is not.
RENYI_INLINE double lane_log1p(double x) noexcept { return log_of(reduce_log(1.0 + x, x)); }

RENYI_INLINE double lane_expm1(double t) noexcept {
    const double clamped = t > -708.0 ? t : -708.0;
    return expm1_of(reduce_exp(clamped));
}

struct CircularExcess {
    double cosine;  // cos t - 1
    double sine;    // sin t - t
};

RENYI_INLINE CircularExcess circular_excess(double t) noexcept {
    const double shifted = t * 0x1.45f306dc9c883p-1 + kRoundShift;
    const double k = shifted - kRoundShift;
    const double r = ((t - k * 0x1.921fb544p0) - k * 0x1.0b4611a6p-34) - k * 0x1.3198a2e037073p-69;
    const double z = r * r;
    const double z2 = z * z;
    const double z4 = z2 * z2;
    // sin r - r = r z s,  cos r - 1 = -z/2 + z^2 c
    const double s = ((-1.0 / 6 + z * (1.0 / 120)) + z2 * (-1.0 / 5040 + z * (1.0 / 362880))) +
                     z4 * ((-1.0 / 39916800 + z * (1.0 / 6227020800.0)) +
                           z2 * (-1.0 / 1307674368000.0 + z * (1.0 / 355687428096000.0)));
    const double c = ((1.0 / 24 + z * (-1.0 / 720)) + z2 * (1.0 / 40320 + z * (-1.0 / 3628800))) +
                     z4 * ((1.0 / 479001600 + z * (-1.0 / 87178291200.0)) +
                           z2 * (1.0 / 20922789888000.0 + z * (-1.0 / 6402373705728000.0)));
    const double sine_tail = r * z * s;
    const double cosine_tail = z2 * c - 0.5 * z;
    const auto quadrant = std::bit_cast<std::uint64_t>(shifted);
    const bool odd = (quadrant & 1u) != 0, negative_sine = (quadrant & 2u) != 0;
    const bool negative_cosine = ((quadrant + 1u) & 2u) != 0;
    const double sine_r = r + sine_tail, cosine_r = 1.0 + cosine_tail;
    const double sine = select(odd, cosine_r, sine_r), cosine = select(odd, sine_r, cosine_r);
    const bool small = k == 0.0;
    return {select(small, cosine_tail, select(negative_cosine, -cosine, cosine) - 1.0),
            select(small, sine_tail, select(negative_sine, -sine, sine) - t)};
}

// Argument of x + i y for x >= 0, by three halvings of the angle.
RENYI_INLINE double lane_argument(double y, double x) noexcept {
    const double modulus = __builtin_sqrt(x * x + y * y);
    const double t1 = y / (x + modulus);
    const double t2 = t1 / (1.0 + __builtin_sqrt(1.0 + t1 * t1));
    const double t = t2 / (1.0 + __builtin_sqrt(1.0 + t2 * t2));
    const double z = t * t;
    double sum = -1.0 / 23;
    sum = sum * z + 1.0 / 21;
    sum = sum * z - 1.0 / 19;
    sum = sum * z + 1.0 / 17;
    sum = sum * z - 1.0 / 15;
    sum = sum * z + 1.0 / 13;
    sum = sum * z - 1.0 / 11;
    sum = sum * z + 1.0 / 9;
    sum = sum * z - 1.0 / 7;
    sum = sum * z + 1.0 / 5;
    sum = sum * z - 1.0 / 3;
    return 8.0 * (t + t * z * sum);
}

struct ComplexLane {
    double re, im;
};

// e^z - 1 - z, each part relative to |z|^2.
RENYI_INLINE ComplexLane lane_phi(double re, double im) noexcept {
    const double clamped = re > -700.0 ? (re < 700.0 ? re : 700.0) : -700.0;
    const ExpReduction e = reduce_exp(clamped);
    const CircularExcess c = circular_excess(im);
    const double grown = expm1_of(e);
    return {phi_of(e) + (clamped - re) + exp_of(e) * c.cosine, grown * im + exp_of(e) * c.sine};
}

// The principal Lambert W of y = e^log_y, for |log_y| <= 1e15; y is used where log_y <= 1 only.
//
// Two steps of Fritsch, Shafer, Crowley 1973 on z = log y - log w - w, each of fourth order. The starting values have
// an error of at most 27 %: y/(1 + y) for y <= e, and log y - log log y + log log y/log y beyond. W(y) is y^(1/(1+W))
// to first order, and z carries the rounding of log y.
RENYI_INLINE double lane_lambert_w(double log_y, double y) noexcept {
    const double above = log_y > 1.0 ? log_y : 1.0;
    const double log_above = lane_log(above);
    const double small = y / (1.0 + y);
    double w = select(log_y > 1.0, (above - log_above) + log_above / above, small);
    for (int step = 0; step < 2; ++step) {
        const double z = (log_y - lane_log(w)) - w;
        const double q = 2.0 * (1.0 + w) * (1.0 + w + (2.0 / 3.0) * z);
        w += w * (z / (1.0 + w)) * ((q - z) / (q - 2.0 * z));
    }
    return w;
}

}  // namespace renyi
