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

class DiscreteLaplace {
public:
    explicit DiscreteLaplace(double scale) noexcept;
    std::int64_t operator()(WordSource& words) const;

    int log_modulus() const noexcept { return log_t_; }

private:
    bool accepts(WordSource& words, std::uint64_t distance) const;  // with probability e^(-distance / scale)

    double scale_;
    int log_t_;
    std::uint64_t integer_;  // scale = integer 2^-shift
    int shift_;
};

}  // namespace renyi
