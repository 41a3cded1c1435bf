// The discrete Gaussian on the integers, of mass proportional to e^(-y^2 / (2 sigma^2)), sampled exactly.
//
// Canonne, Kamath, Steinke 2020, arXiv 2004.00010, Algorithms 2 and 3: y from the discrete Laplace law of mass
// proportional to e^(-|y|/t), accepted with probability e^-g, g = (|y| - sigma^2/t)^2 / (2 sigma^2). Any t > 0 gives
// the law; here it is the power of two next to sigma, at least 1, so that a quotient by t is exact. The discrete
// Laplace: |y| = r + t v, r uniform below t and accepted with probability e^(-r/t), v the number of successes of
// probability 1/e, and a sign, of which (minus, 0) is rejected. The uniform integers are bits, the Bernoulli variables
// exact (exact_exponential.hpp), sigma is the rational number that the double is: nothing is rounded, so the law of the
// output is the discrete Gaussian itself for every sigma in [kSmallestSigma, kLargestSigma]. (v beyond 2^20, of
// probability e^-1000000, would leave 64 bits.)
#pragma once

#include <cstddef>
#include <cstdint>

#include "renyi/sgd/chacha20.hpp"
#include "renyi/sgd/word_source.hpp"

namespace renyi {

constexpr double kSmallestSigma = 0x1p-20;
constexpr double kLargestSigma = 0x1p40;

class DiscreteGaussian {
public:
    explicit DiscreteGaussian(double sigma) noexcept;
    std::int64_t operator()(WordSource& words) const;

private:
    double sigma_, quotient_;  // sigma / t
    int log_t_;
    std::uint64_t integer_;  // sigma = integer 2^-shift
    int shift_;
};

// Adds noise to count integers. Every 256 of them draw from a nonce of their own: independent of the threads.
void add_discrete_gaussian(const ChaChaStream& stream, double sigma, std::int64_t* out, std::size_t count,
                           int threads) noexcept;

}  // namespace renyi
