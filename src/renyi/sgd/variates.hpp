// Exponential variables and points on the unit circle in single precision from the first random word of each,
// branch-free so that they vectorise. The word is the beginning of an infinite expansion: the variable is known up to
// its cell, and the result is near the variable of the cell's middle, U = (word + 1/2) 2^-32. With u = 2^-24:
//   exponential_of(word)   -log U, 4.4u relative: min(U, 1 - U) = v in two roundings, y = U or 1 - v; then
//                          y = 2^k (1 + f), s = f / (2 + f), |s| <= 0.1716, odd series (truncation s^10 2/11 < 2^-27)
//   radius_of              sqrt(-2 log U), 3u relative
//   point_of(word)         2u: an angle of 2^32 equidistant ones, t in (-pi/4, pi/4) and the two leading bits to turn
//   and
//                          mirror, by Taylor polynomials
// for v >= 2^-12. Their arguments are finitely many, and these bounds are those of all of them, one by one
// (RENYI_EXHAUSTIVE=1 tests/cpp/test_noise.cpp; worst 4.28u, 2.87u, 1.82u).
#pragma once

#include <bit>
#include <cstdint>

#include "renyi/fp/multiversion.hpp"

namespace renyi {

// a where the mask is all ones, b where it is zero.
RENYI_INLINE float blend(std::uint32_t mask, float a, float b) noexcept {
    return std::bit_cast<float>((std::bit_cast<std::uint32_t>(a) & mask) | (std::bit_cast<std::uint32_t>(b) & ~mask));
}

// All ones where the leading bit is set. An arithmetic shift: with a comparison in its place g++ does not vectorise.
RENYI_INLINE std::uint32_t leading_bit(std::uint32_t word) noexcept {
    return static_cast<std::uint32_t>(static_cast<std::int32_t>(word) >> 31);
}

struct Exponential {
    float value;
    float v;  // min(U, 1 - U)
};

// Conversions are from signed integers: the only ones that every instruction set has for vectors.
RENYI_INLINE Exponential exponential_of(std::uint32_t word) noexcept {
    constexpr std::uint32_t kSqrtHalf = 0x3f3504f3u, kOne = 0x3f800000u;
    constexpr float kLog2High = 0x1.62e4p-1f, kLog2Low = 0x1.7f7d1cp-20f;  // k * kLog2High is exact for |k| < 2^9
    const std::uint32_t flipped = leading_bit(word);
    const float v = (static_cast<float>(static_cast<std::int32_t>(word ^ flipped)) + 0.5f) * 0x1p-32f;
    const float y = blend(flipped, 1.0f - v, v);
    const std::uint32_t bits = std::bit_cast<std::uint32_t>(y) + (kOne - kSqrtHalf);
    const float m = std::bit_cast<float>((bits & 0x007fffffu) + kSqrtHalf);
    const std::int32_t exponent = static_cast<std::int32_t>(bits >> 23) - 127;
    const auto k = static_cast<float>(exponent);
    const float f = exponent == 0 ? -v : m - 1.0f;  // y >= sqrt(1/2) only where flipped
    const float s = f / (2.0f + f);
    const float z = s * s;
    const float series = z * ((2.0f / 3 + z * (2.0f / 5)) + z * z * (2.0f / 7 + z * (2.0f / 9)));
    const float half_square = 0.5f * f * f;
    const float tail = s * (half_square + series) - half_square;
    return {-(k * kLog2High + (f + (tail + k * kLog2Low))), v};
}

RENYI_INLINE float radius_of(Exponential e) noexcept { return __builtin_sqrtf(2.0f * e.value); }

struct CirclePoint {
    float x, y;
};

RENYI_INLINE CirclePoint point_of(std::uint32_t word) noexcept {
    const auto r = static_cast<std::int32_t>(word << 2 | 2u);  // 30 bits and the middle of the cell
    const float t = static_cast<float>(r) * 0x1.921fb6p-32f;   // pi/2 2^-32
    const float z = t * t, z2 = z * z;
    const float s = (-1.0f / 6 + z * (1.0f / 120)) + z2 * (-1.0f / 5040 + z * (1.0f / 362880));
    const float c = (1.0f / 24 + z * (-1.0f / 720)) + z2 * (1.0f / 40320 + z * (-1.0f / 3628800));
    const float cosine = 1.0f + (z2 * c - 0.5f * z), sine = t + t * z * s;
    const float mirrored = blend(leading_bit(word), -cosine, cosine);
    const std::uint32_t swapped = leading_bit(word << 1);
    return {blend(swapped, sine, mirrored), blend(swapped, mirrored, sine)};
}

}  // namespace renyi
