// The discrete Fourier transform of real sequences, supplied by whoever embeds the engine.
//
// Assumed of it: a product of sparse factors whose moduli multiply to the matrix of ones, each applied with a relative
// error of at most kButterflyError per component, log2 n of them (any radix-2^k Cooley-Tukey scheme). It may throw;
// nothing here holds what an exception would lose.
#pragma once

#include <complex>
#include <cstddef>

#include "renyi/fp/certified.hpp"

namespace renyi::lattice {

// Sum of two and a product with a twiddle accurate to an ulp; leaves room for higher radices, which save operations.
constexpr double kButterflyError = 8.0 * kUnitRoundoff;

class FourierTransform {
public:
    virtual ~FourierTransform() = default;

    // out[k] = sum of in[j] e^(-2 pi i j k/n) for 0 <= k <= n/2; n is a power of two.
    virtual void forward(const double* in, std::size_t n, std::complex<double>* out) = 0;

    // The n real numbers that have this transform.
    virtual void inverse(const std::complex<double>* in, std::size_t n, double* out) = 0;

protected:
    FourierTransform() = default;
    FourierTransform(const FourierTransform&) = default;
    FourierTransform& operator=(const FourierTransform&) = default;
};

}  // namespace renyi::lattice
