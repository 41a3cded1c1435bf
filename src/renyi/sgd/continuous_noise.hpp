// Gaussian and Laplace noise from a ChaCha20 stream: filled or added in place, over threads.
//
// Gaussian: Box and Muller 1958, X = R cos a, Y = R sin a with R = sqrt(2 E), E exponential, a uniform (variates.hpp);
// per pair 63 bits for E and 32 (double: 64) for a. Laplace: E with a random sign.
//
// How far from the ideal law: give every lattice point of the words its cell. Then an ideal variable Z of unit scale
// and the computed X live on one space, and for every k, except with probability 2^-k,
//     |X - Z| <= (c + 2^(k - 62)) R,   c = 2^-20 in float, 2^-49 in double,
// R the radius of the Gaussian pair or |X| itself: with v = min(U, 1 - U) = (2 j + 1) 2^-64, both ends together, j is
// below 2^(62 - k) with probability 2^-k, and otherwise its cell moves E by a part of at most 1.5/(2 j + 1), R by half
// of that; c is rounding and the angle's cell (half of it: 2^-30 in float). Tail probabilities are therefore multiples
// of 2^-63 a pair, and the largest values sqrt(128 log 2) = 9.42 (Gaussian) and 64 log 2 = 44.36.
// The values are floating-point numbers nevertheless, with holes that depend on the scale (Mironov 2012): noise whose
// every bit is accounted for is in discrete_gaussian.hpp.
//
// Element i takes the words of its own chunk of the stream, so results depend neither on threads nor on the
// instruction set.
#pragma once

#include <cstddef>
#include <cstdint>

#include "renyi/sgd/chacha20.hpp"

namespace renyi {

enum class NoiseLaw { gaussian, laplace };
enum class NoiseTarget { fill, add };

// Groups of the stream that count numbers use.
std::uint64_t noise_groups(NoiseLaw law, bool single_precision, std::size_t count) noexcept;

void make_noise(NoiseLaw law, NoiseTarget target, const ChaChaStream& stream, std::uint64_t first, double scale,
                double* out, std::size_t count, int threads) noexcept;
void make_noise(NoiseLaw law, NoiseTarget target, const ChaChaStream& stream, std::uint64_t first, float scale,
                float* out, std::size_t count, int threads) noexcept;

}  // namespace renyi
