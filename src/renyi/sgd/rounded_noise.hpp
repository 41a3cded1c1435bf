// Ideal Gaussian and Laplace noise, rounded to a lattice: the fixed-point functions, the exact rounding, the fast path.
#pragma once

#include <cstddef>
#include <cstdint>

#include "renyi/sgd/chacha20.hpp"
#include "renyi/sgd/discrete_noise.hpp"
#include "renyi/sgd/generator.hpp"

namespace renyi {

// Logarithm, square root, sine and cosine of fixed-point numbers of any length, with bounds: for the rare cases that a
// machine word cannot decide, so schoolbook series throughout.
//
// With b fraction bits a Natural n stands for n 2^-b; an error is counted in units of 2^-b. Every product and quotient
// is rounded down, by less than one unit.

struct Enclosure {
    Natural lower, upper;
};

class FixedPoint {
public:
    explicit FixedPoint(std::size_t bits) : bits_(bits) {}

    Natural from(const Natural& integer, std::size_t fraction_bits) const;  // integer 2^-fraction_bits, rounded down
    Natural times(const Natural& a, const Natural& b) const { return (a * b).divided_by_power_of_two(bits_); }

    Enclosure minus_log(const Natural& a,
                        std::size_t a_bits) const;  // of a 2^-a_bits, 0 < a <= 2^a_bits, a_bits <= bits
    Natural root_below(const Natural& x) const;     // of x, by less than one unit

    struct Circle {
        Natural cosine, sine;
        Natural error;  // of either
    };
    Circle circle(const Natural& x) const;  // of the angle pi/2 x, x at most 1/2 and one unit

private:
    Natural log_two() const;                    // up to bits units too small
    Natural half_pi() const;                    // within 20 bits units
    Natural arctangent(std::uint32_t n) const;  // of 1/n

    std::size_t bits_;
};

// The lattice point that a number and its ideal noise are rounded to, by as many random bits as that takes.
//
// Noise of unit scale is a function of uniform numbers with infinite binary expansions, of which 32 bits are known:
//   gaussian  sqrt(-2 log U) cos a or sin a, a uniform (Box and Muller 1958): U from one word, a from another
//   laplace   -log W with a sign: the leading bit of a word is the sign, the others begin W
// In units of the lattice's spacing the sum is n + y, y = fraction + ratio X, n an integer. As long as the cell of the
// bits known, with the error of the arithmetic, reaches over a half-integer, more bits are drawn (Ziv 1991): 64 of each
// uniform number and double precision first, then 64 more a time and fixed-point numbers of that length.
//
// It ends with probability 1: the cell shrinks to the point X, whose law is continuous, so that y is half an integer
// with probability 0. And its result is the rounding of n + y itself: whatever errors the stages have, none is in it,
// and the stage, the instruction set and the number of threads change nothing.

enum class NoiseLaw { gaussian, laplace };

// A number of a Gaussian pair has the words of both; one of Laplace's law has `radial` only.
struct FirstBits {
    NoiseLaw law;
    std::uint32_t radial, angular;
    bool sine;  // of the pair the second number
};

// fraction 2^exponent + ratio X. |fraction 2^exponent| <= 1/2, 2^9 <= ratio < 2^40.
struct LatticeSum {
    double fraction;
    int exponent;
    double ratio;
};

struct Rounded {
    std::int64_t nearest;  // integer to the sum
    bool by_fixed_point;   // double precision did not decide
};

Rounded round_exactly(const FirstBits& first, const LatticeSum& sum, FewWords& more);

// The same without double precision, for comparison.
std::int64_t round_by_fixed_point(const FirstBits& first, const LatticeSum& sum, FewWords more);

// Gaussian and Laplace noise, added in place and rounded to a lattice: what stands there afterwards is the lattice
// point nearest to the number that stood there plus an ideal variable, in real arithmetic.
//
// The lattice is that of the multiples of a power of two between 2^-10 and 2^-9 of the noise's scale, whatever the
// numbers. The results are therefore post-processing of the ideal mechanism: its guarantee is theirs, and no
// floating-point hole or low bit (Mironov 2012) tells of the numbers. Rounding is worth 2^-18/12 of scale^2 at most.
//
// Two stages. The first word of each uniform number gives the noise in single precision with an error bound; where the
// bound does not reach half an integer the rounding is decided. The others (one or two in a thousand) take more words
// and precision (exact_rounding.hpp). Multiples that the format of the numbers cannot hold, beyond 2^24 or 2^53
// spacings, are rounded once more: a function of the lattice point.
//
// Number i takes the words of its own chunk of the stream, and more words from a stream of its own. The result is the
// rounding of a real number that they define: it depends neither on threads nor on the instruction set.

// The scale is in these ranges: at kResolution multiples of the spacing are then normal numbers.
template <class Real>
constexpr double kLeastNoise = sizeof(Real) == 4 ? 0x1p-115 : 0x1p-1010;
template <class Real>
constexpr double kLargestNoise = sizeof(Real) == 4 ? 0x1p115 : 0x1p1010;

// Other resolutions are for noise within a computation of which only the end is released: fine, and slow, for the first
// words decide nothing there.
constexpr int kResolution = 9, kFinestResolution = 39;

struct NoiseLattice {
    explicit NoiseLattice(double scale, int resolution = kResolution) noexcept;

    int log_spacing;
    double spacing;  // 2^log_spacing
    double ratio;    // scale / spacing, exactly, in [2^resolution, 2^(resolution + 1))
};

// How many numbers the first words, and how many more double precision left open.
struct Undecided {
    std::uint64_t by_first_words = 0, by_double_precision = 0;
};

// Groups of the stream that count numbers use.
std::uint64_t noise_groups(std::size_t count) noexcept;

// Infinities and NaN stay what they are. The stream's other nonces give the additional words.
Undecided add_noise(NoiseLaw law, const ChaChaStream& stream, std::uint64_t first, const NoiseLattice& lattice,
                    float* numbers, std::size_t count, int threads);
Undecided add_noise(NoiseLaw law, const ChaChaStream& stream, std::uint64_t first, const NoiseLattice& lattice,
                    double* numbers, std::size_t count, int threads);

}  // namespace renyi
