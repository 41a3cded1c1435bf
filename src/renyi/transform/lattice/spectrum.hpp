// Transforms of tilted lattice masses, and the interface of the Fourier transform that computes them.
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "renyi/fp/certified.hpp"

namespace renyi::lattice {

// The discrete Fourier transform of real sequences, supplied by whoever embeds the engine.
//
// It must be a product of log2 n sparse factors whose moduli multiply to the matrix of ones, each applied with a
// relative error of at most kButterflyError per component (any radix-2^k Cooley-Tukey scheme). It may throw; nothing
// here holds a resource that an exception would lose.
// A factor is a sum of two and a product with a twiddle accurate to an ulp; higher radices would save operations.
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

// A transform of tilted lattice masses with bounds on every rounding error, for products, powers and geometric sums:
// the computed values, bounds on the moduli of computed and exact values, and bounds on the errors.
struct Spectrum {
    std::vector<std::complex<double>> value;
    std::vector<double> reach, error;

    Spectrum() = default;
    explicit Spectrum(std::size_t n) : value(n), reach(n), error(n) {}
    std::size_t size() const noexcept { return value.size(); }

    void set_error(double e) noexcept;         // one error for all values, and their reach from it
    void add(const Spectrum& other) noexcept;  // errors of the sums included
    void multiply(const Spectrum& other) noexcept;
};

// z^count. Values proven to be below 2^-200 are left at 0, and their bound becomes their error.
Spectrum power_of(const Spectrum& z, std::int64_t count);

// z^(count-1) + z^(count-2) b + ... + b^(count-1)
Spectrum geometric_sum(const Spectrum& z, const Spectrum& b, std::int64_t count);

// e^(2 pi i turns/size), size a power of two, to 8 u.
std::complex<double> phase(std::int64_t turns, std::int64_t size) noexcept;

// The transform of a few thousand weights at a few frequencies.
//
// Index = length row + column, so that phases are products of two short tables.
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
