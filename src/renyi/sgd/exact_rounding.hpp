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
#pragma once

#include <cstdint>

#include "renyi/sgd/word_source.hpp"

namespace renyi {

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

}  // namespace renyi
