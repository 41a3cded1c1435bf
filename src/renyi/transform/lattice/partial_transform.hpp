// The transform of a few thousand weights at a few frequencies.
//
// Index = length row + column, so that phases are products of two short tables.
#pragma once

#include <complex>
#include <cstdint>
#include <vector>

#include "renyi/transform/lattice/composed_spectrum.hpp"

namespace renyi::lattice {

// e^(2 pi i turns/size), size a power of two, to 8 u.
std::complex<double> phase(std::int64_t turns, std::int64_t size) noexcept;

class PartialTransform {
public:
    explicit PartialTransform(const std::vector<double>& weights);

    // Sums of w_k e^(-2 pi i j k/size) for 0 <= j <= last.
    Spectrum low(std::int64_t last, std::int64_t size) const;
    // The modulus of the sum of w_k e^(-i f k), 0 <= f <= pi, to 1e-9 of the sum of the weights.
    double modulus(double frequency) const;

private:
    std::complex<double> folded() const noexcept;

    std::size_t length_, rows_;
    std::vector<double> weights_;
    double sum_;
    mutable std::vector<double> inner_cos_, inner_sin_;
    mutable std::vector<std::complex<double>> outer_;
};

}  // namespace renyi::lattice
