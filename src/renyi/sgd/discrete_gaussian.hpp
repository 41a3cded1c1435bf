// The discrete Gaussian on the integers, of mass proportional to e^(-y^2 / (2 sigma^2)), sampled exactly.
//
// Canonne, Kamath, Steinke 2020, arXiv 2004.00010, Algorithm 3: y from the discrete Laplace law of mass proportional to
// e^(-|y|/t), accepted with probability e^-g, g = (|y| - sigma^2/t)^2 / (2 sigma^2). Any t > 0 gives the law; here it
// is the power of two next to sigma, at least 1, so that a quotient by t is exact. Proposals are exact
// (discrete_laplace.hpp) and so is their acceptance, sigma is the rational number that the double is: nothing is
// rounded, the law of the output is the discrete Gaussian itself for every sigma in [kSmallestScale, kLargestScale].
#pragma once

#include <cstdint>

#include "renyi/sgd/discrete_laplace.hpp"
#include "renyi/sgd/word_source.hpp"

namespace renyi {

class DiscreteGaussian {
public:
    explicit DiscreteGaussian(double sigma) noexcept;
    std::int64_t operator()(WordSource& words) const;

private:
    ExactScale sigma_;
    double quotient_;  // sigma / t
    DiscreteLaplace proposal_;
};

}  // namespace renyi
