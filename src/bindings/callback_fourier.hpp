// Fourier transforms by two callbacks, which set Python's error indicator and report failure.
#pragma once

#include <stdexcept>

#include "renyi/transform/lattice/spectrum.hpp"

namespace renyi::lattice {

class CallbackFourier final : public FourierTransform {
public:
    using Forward = int (*)(const double*, std::size_t, std::complex<double>*);
    using Inverse = int (*)(const std::complex<double>*, std::size_t, double*);

    CallbackFourier(Forward forward, Inverse inverse) noexcept : forward_(forward), inverse_(inverse) {}

    void forward(const double* in, std::size_t n, std::complex<double>* out) override {
        if (forward_(in, n, out) != 0) fail();
    }
    void inverse(const std::complex<double>* in, std::size_t n, double* out) override {
        if (inverse_(in, n, out) != 0) fail();
    }

private:
    // Unwinds the engine; Python then raises its own error.
    [[noreturn]] static void fail() { throw std::runtime_error("a Fourier transform failed"); }

    Forward forward_;
    Inverse inverse_;
};

}  // namespace renyi::lattice
