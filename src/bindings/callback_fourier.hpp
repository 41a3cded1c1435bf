// Fourier transforms by two functions that report failure, having set the error indicator of Python.
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
    // Unwinds the engine; the error of Python is the one that is raised.
    [[noreturn]] static void fail() { throw std::runtime_error("a Fourier transform failed"); }

    Forward forward_;
    Inverse inverse_;
};

}  // namespace renyi::lattice
