// Exponential variables and points on the unit circle from random words, branch-free so that they vectorise.
//
// exponential_of(high, low) = -log U with U = (2 j + 1) / 2^64, j of 63 bits: the words without the lowest bit of low,
// which is free for a sign. For U > 1/2 the logarithm is log1p(-(1 - U)), with 1 - U of the same form (all bits
// flipped), so the result is relatively accurate at both ends: from 2^-64 to 44.36.
//   double   4u relative (u = 2^-53): rounding of U, then lane_log
//   float    6u relative (u = 2^-24), the same steps: y = 2^k (1 + f), s = f / (2 + f), |s| <= 0.1716, odd series
//            (truncation s^10 2/11 < 2^-27)
// point_of(word[, low]): an angle of the lattice of 2^32 (double: 2^64) equidistant ones, t in (-pi/4, pi/4) and the
// two leading bits to turn and mirror; sine and cosine by Taylor polynomials, each within 3u.
#pragma once

#include <bit>
#include <cstdint>

#include "renyi/fp/multiversion.hpp"
#include "renyi/special/elementary.hpp"

namespace renyi {

// a where the mask is all ones, b where it is zero.
RENYI_INLINE float blend(std::uint32_t mask, float a, float b) noexcept {
    return std::bit_cast<float>((std::bit_cast<std::uint32_t>(a) & mask) | (std::bit_cast<std::uint32_t>(b) & ~mask));
}

RENYI_INLINE double blend(std::uint32_t mask, double a, double b) noexcept {
    const auto wide = static_cast<std::uint64_t>(static_cast<std::int64_t>(static_cast<std::int32_t>(mask)));
    return std::bit_cast<double>((std::bit_cast<std::uint64_t>(a) & wide) | (std::bit_cast<std::uint64_t>(b) & ~wide));
}

// All ones where the leading bit is set. An arithmetic shift: with a comparison in its place g++ does not vectorise.
RENYI_INLINE std::uint32_t leading_bit(std::uint32_t word) noexcept {
    return static_cast<std::uint32_t>(static_cast<std::int32_t>(word) >> 31);
}

// The smaller of U and 1 - U, and which of the two it is. All conversions are from signed 32-bit integers: the only
// ones that every instruction set has for vectors.
template <class Real>
struct FoldedUniform {
    Real v;                 // (0, 1/2]
    std::uint32_t flipped;  // a mask: all ones where v = 1 - U
};

template <class Real>
RENYI_INLINE FoldedUniform<Real> fold(std::uint32_t high, std::uint32_t low) noexcept {
    const std::uint32_t mask = leading_bit(high);
    const auto h = static_cast<std::int32_t>(high ^ mask);
    const auto l = static_cast<std::int32_t>((low ^ mask) >> 1);
    return {static_cast<Real>(h) * Real(0x1p-32) + (static_cast<Real>(l) + Real(0.5)) * Real(0x1p-63), mask};
}

template <class Real>
RENYI_INLINE Real exponential_of(std::uint32_t high, std::uint32_t low) noexcept;

template <>
RENYI_INLINE double exponential_of(std::uint32_t high, std::uint32_t low) noexcept {
    const auto [v, flipped] = fold<double>(high, low);
    return -log_of(reduce_log(blend(flipped, 1.0 - v, v), -v));  // y >= sqrt(1/2) only where flipped
}

template <>
RENYI_INLINE float exponential_of(std::uint32_t high, std::uint32_t low) noexcept {
    constexpr std::uint32_t kSqrtHalf = 0x3f3504f3u, kOne = 0x3f800000u;
    constexpr float kLog2High = 0x1.62e4p-1f, kLog2Low = 0x1.7f7d1cp-20f;  // k * kLog2High is exact for |k| < 2^9
    const auto [v, flipped] = fold<float>(high, low);
    const float y = blend(flipped, 1.0f - v, v);
    const std::uint32_t bits = std::bit_cast<std::uint32_t>(y) + (kOne - kSqrtHalf);
    const float m = std::bit_cast<float>((bits & 0x007fffffu) + kSqrtHalf);
    const std::int32_t exponent = static_cast<std::int32_t>(bits >> 23) - 127;
    const auto k = static_cast<float>(exponent);
    const float f = exponent == 0 ? -v : m - 1.0f;
    const float s = f / (2.0f + f);
    const float z = s * s;
    const float series = z * ((2.0f / 3 + z * (2.0f / 5)) + z * z * (2.0f / 7 + z * (2.0f / 9)));
    const float half_square = 0.5f * f * f;
    const float tail = s * (half_square + series) - half_square;
    return -(k * kLog2High + (f + (tail + k * kLog2Low)));
}

template <class Real>
struct CirclePoint {
    Real x, y;
};

template <class Real>
RENYI_INLINE CirclePoint<Real> turned(std::uint32_t word, Real cosine, Real sine) noexcept {
    const Real mirrored = blend(leading_bit(word), -cosine, cosine);
    const std::uint32_t swapped = leading_bit(word << 1);
    return {blend(swapped, sine, mirrored), blend(swapped, mirrored, sine)};
}

RENYI_INLINE CirclePoint<float> point_of(std::uint32_t word) noexcept {
    const auto r = static_cast<std::int32_t>(word << 2 | 2u);  // 30 bits and the middle of the cell
    const float t = static_cast<float>(r) * 0x1.921fb6p-32f;   // pi/2 2^-32
    const float z = t * t, z2 = z * z;
    const float s = (-1.0f / 6 + z * (1.0f / 120)) + z2 * (-1.0f / 5040 + z * (1.0f / 362880));
    const float c = (1.0f / 24 + z * (-1.0f / 720)) + z2 * (1.0f / 40320 + z * (-1.0f / 3628800));
    return turned(word, 1.0f + (z2 * c - 0.5f * z), t + t * z * s);
}

RENYI_INLINE CirclePoint<double> point_of(std::uint32_t word, std::uint32_t low) noexcept {
    const auto r = static_cast<std::int32_t>(word << 2);
    const auto l = static_cast<std::int32_t>(low >> 1);
    const double t = (static_cast<double>(r) + (static_cast<double>(l) + 0.5) * 0x1p-29) * 0x1.921fb54442d18p-32;
    const double z = t * t, z2 = z * z, z4 = z2 * z2;
    const double s = ((-1.0 / 6 + z * (1.0 / 120)) + z2 * (-1.0 / 5040 + z * (1.0 / 362880))) +
                     z4 * ((-1.0 / 39916800 + z * (1.0 / 6227020800.0)) +
                           z2 * (-1.0 / 1307674368000.0 + z * (1.0 / 355687428096000.0)));
    const double c = ((1.0 / 24 + z * (-1.0 / 720)) + z2 * (1.0 / 40320 + z * (-1.0 / 3628800))) +
                     z4 * ((1.0 / 479001600 + z * (-1.0 / 87178291200.0)) +
                           z2 * (1.0 / 20922789888000.0 + z * (-1.0 / 6402373705728000.0)));
    return turned(word, 1.0 + (z2 * c - 0.5 * z), t + t * z * s);
}

}  // namespace renyi
