// The discrete Laplace law on the integers, of mass proportional to e^(-|y| / scale), sampled exactly.
//
// Canonne, Kamath, Steinke 2020, arXiv 2004.00010, Algorithm 2, for any scale and any modulus t >= 1; here t is the
// power of two next to the scale, so that uniform integers below it are bits. |y| = r + t v: r is uniform below t and
// accepted with probability e^(-r / scale), v is the number of successes of probability e^(-t / scale), and of the sign
// (minus, 0) is rejected. The Bernoulli variables are exact (exact_exponential.hpp), the scale is the rational number
// that the double is: nothing is rounded. (v beyond 2^20, of probability below e^-700000, would leave 64 bits.)
#pragma once

#include <cstdint>

#include "renyi/sgd/word_source.hpp"

namespace renyi {

constexpr double kSmallestScale = 0x1p-20;
constexpr double kLargestScale = 0x1p40;

// A scale as the rational number it is, and the power of two next to it, at least 1.
struct ExactScale {
    explicit ExactScale(double scale) noexcept;

    double value;
    int log_modulus;
    std::uint64_t integer;  // value = integer 2^-shift
    int shift;              // > 0
};

class DiscreteLaplace {
public:
    explicit DiscreteLaplace(double scale) noexcept : scale_(scale) {}
    std::int64_t operator()(WordSource& words) const;

private:
    bool accepts(WordSource& words, std::uint64_t distance) const;  // with probability e^(-distance / scale)

    ExactScale scale_;
};

}  // namespace renyi
