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
#pragma once

#include <cstddef>
#include <cstdint>

#include "renyi/sgd/chacha20.hpp"
#include "renyi/sgd/exact_rounding.hpp"

namespace renyi {

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
