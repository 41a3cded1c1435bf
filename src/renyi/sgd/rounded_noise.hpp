// Ideal Gaussian and Laplace noise, rounded to a lattice: fixed-point functions, exact rounding, and the fast path.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <numbers>

#include "renyi/fp/multiversion.hpp"
#include "renyi/sgd/discrete_noise.hpp"
#include "renyi/sgd/generator.hpp"

namespace renyi {

// Logarithm, square root, sine and cosine of fixed-point numbers of any length, with bounds, by schoolbook series: they
// are for the rare cases that a machine word does not decide.
//
// With b fraction bits a Natural n stands for n 2^-b; errors are in units of 2^-b. Every product and quotient is
// rounded down, by less than one unit.

struct Enclosure {
    Natural lower, upper;
};

class FixedPoint {
public:
    explicit FixedPoint(std::size_t bits) : bits_(bits) {}

    Natural from(const Natural& integer, std::size_t fraction_bits) const;  // integer 2^-fraction_bits, rounded down
    Natural times(const Natural& a, const Natural& b) const { return (a * b).divided_by_power_of_two(bits_); }

    Enclosure minus_log(const Natural& a,
                        std::size_t a_bits) const;  // -log(a 2^-a_bits), 0 < a <= 2^a_bits, a_bits <= bits
    Natural root_below(const Natural& x) const;     // the root of x rounded down, by less than one unit

    struct Circle {
        Natural cosine, sine;
        Natural error;  // bounds the error of each
    };
    Circle circle(const Natural& x) const;  // at the angle pi/2 x, x at most 1/2 and one unit

private:
    Natural log_two() const;                    // too small by at most `bits` units
    Natural half_pi() const;                    // error at most 20 bits units
    Natural arctangent(std::uint32_t n) const;  // arctan(1/n)

    std::size_t bits_;
};

// The lattice point to which the sum of a number and its ideal noise is rounded, from as many random bits as needed.
//
// Noise of unit scale is a function of uniform numbers with infinite binary expansions, of which 32 bits are known:
//   gaussian  sqrt(-2 log U) cos a or sin a, a uniform (Box and Muller 1958): U from one word, a from another
//   laplace   -log W with a sign: the leading bit of a word is the sign, the others begin W
// In units of the lattice's spacing the sum is n + y, y = fraction + ratio X, n an integer. As long as the cell of the
// known bits, with the error of the arithmetic, contains a half-integer, more bits are drawn (Ziv 1991): first 64 bits
// of each uniform number with double precision, then 64 more at a time with fixed-point numbers of that length.
//
// The loop ends with probability 1: the cell shrinks to the point X, whose law is continuous, so that y is half an
// integer with probability 0. The result is the rounding of n + y: errors of the stages do not enter it, and it depends
// neither on the stage, nor on the instruction set, nor on the number of threads.

enum class NoiseLaw { gaussian, laplace };

// The first words of a number. A number of a Gaussian pair has both words; a Laplace number has `radial` only.
struct FirstBits {
    NoiseLaw law;
    std::uint32_t radial, angular;
    bool sine;  // whether it is the second number of the pair
};

// The sum fraction 2^exponent + ratio X, with |fraction 2^exponent| <= 1/2, 2^9 <= ratio < 2^40.
struct LatticeSum {
    double fraction;
    int exponent;
    double ratio;
};

struct Rounded {
    std::int64_t nearest;  // the integer nearest to the sum
    bool by_fixed_point;   // whether double precision did not decide
};

Rounded round_exactly(const FirstBits& first, const LatticeSum& sum, FewWords& more);

// round_exactly without double precision, for comparison.
std::int64_t round_by_fixed_point(const FirstBits& first, const LatticeSum& sum, FewWords more);

// Exponential variables and points on the unit circle in single precision from the first random word of each,
// branch-free so that they vectorise. The word is the beginning of an infinite expansion: the variable is known up to
// its cell, and the result approximates the variable at the middle of the cell, U = (word + 1/2) 2^-32. With u = 2^-24:
//   exponential_of(word)   -log U, 4.4u relative: min(U, 1 - U) = v in two roundings, y = U or 1 - v; then
//                          y = 2^k (1 + f), s = f / (2 + f), |s| <= 0.1716, odd series (truncation s^10 2/11 < 2^-27)
//   radius_of              sqrt(-2 log U), 3u relative
//   point_of(word)         2u: one of 2^32 equidistant angles, by Taylor polynomials for t in (-pi/4, pi/4); the two
//                          leading bits turn and mirror
// for v >= 2^-12. The arguments are finitely many, and the bounds were checked for all of them, one by one
// (RENYI_EXHAUSTIVE=1 tests/cpp/test_noise.cpp; worst 4.28u, 2.87u, 1.82u).

// a where the mask is all ones, b where it is zero.
RENYI_INLINE float blend(std::uint32_t mask, float a, float b) noexcept {
    return std::bit_cast<float>((std::bit_cast<std::uint32_t>(a) & mask) | (std::bit_cast<std::uint32_t>(b) & ~mask));
}

// All ones if the leading bit is set. It is an arithmetic shift because g++ does not vectorise a comparison here.
RENYI_INLINE std::uint32_t leading_bit(std::uint32_t word) noexcept {
    return static_cast<std::uint32_t>(static_cast<std::int32_t>(word) >> 31);
}

struct Exponential {
    float value;
    float v;  // min(U, 1 - U)
};

// Conversions are from signed integers, since only these exist for vectors in every instruction set.
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
    const float t = static_cast<float>(r) * (std::numbers::pi_v<float> * 0x1p-33f);
    const float z = t * t, z2 = z * z;
    const float s = (-1.0f / 6 + z * (1.0f / 120)) + z2 * (-1.0f / 5040 + z * (1.0f / 362880));
    const float c = (1.0f / 24 + z * (-1.0f / 720)) + z2 * (1.0f / 40320 + z * (-1.0f / 3628800));
    const float cosine = 1.0f + (z2 * c - 0.5f * z), sine = t + t * z * s;
    const float mirrored = blend(leading_bit(word), -cosine, cosine);
    const std::uint32_t swapped = leading_bit(word << 1);
    return {blend(swapped, sine, mirrored), blend(swapped, mirrored, sine)};
}

// Gaussian and Laplace noise, added in place and rounded to a lattice: the result is the lattice point nearest, in real
// arithmetic, to the given number plus an ideal variable.
//
// The lattice consists of the multiples of a power of two between 2^-10 and 2^-9 of the noise's scale, for any numbers.
// The results are post-processing of the ideal mechanism and have its guarantee: no gap between floating-point numbers
// and no low bit (Mironov 2012) reveals the numbers. Rounding adds a variance of 2^-18/12 scale^2 at most.
//
// There are two stages. The first word of each uniform number gives the noise in single precision with an error bound;
// the rounding is decided if the bound does not reach half an integer. The other numbers (one or two in a thousand)
// take more words and precision. Multiples that the format of the numbers cannot hold, beyond 2^24 or 2^53 spacings,
// are rounded once more, which is a function of the lattice point.
//
// Number i takes the words of its chunk of the stream, and further words from its own stream. The result is the
// rounding of a real number that these words define: it depends neither on threads nor on the instruction set.

// The range of scales: at kResolution multiples of the spacing are then normal numbers.
template <class Real>
constexpr double kLeastNoise = sizeof(Real) == 4 ? 0x1p-115 : 0x1p-1010;
template <class Real>
constexpr double kLargestNoise = sizeof(Real) == 4 ? 0x1p115 : 0x1p1010;

// Other resolutions are for noise within a computation whose end alone is released: they are finer, and slower, since
// the first words do not decide.
constexpr int kResolution = 9, kFinestResolution = 39;

struct NoiseLattice {
    explicit NoiseLattice(double scale, int resolution = kResolution) noexcept;

    int log_spacing;
    double spacing;  // 2^log_spacing
    double ratio;    // scale / spacing, exactly, in [2^resolution, 2^(resolution + 1))
};

// The numbers of roundings that the first words did not decide, and of these that double precision did not decide.
struct Undecided {
    std::uint64_t by_first_words = 0, by_double_precision = 0;
};

// The number of groups of the stream that `count` numbers use.
std::uint64_t noise_groups(std::size_t count) noexcept;

// Adds noise to `count` numbers. Infinities and NaN do not change. The stream's other nonces give the additional words.
template <class Real>
Undecided add_noise(NoiseLaw law, const ChaChaStream& stream, std::uint64_t first, const NoiseLattice& lattice,
                    Real* numbers, std::size_t count, int threads);

}  // namespace renyi
