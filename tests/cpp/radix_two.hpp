// A plain radix-2 Fourier transform with accurate twiddles.
#pragma once

#include <cmath>
#include <numbers>
#include <utility>
#include <vector>

#include "renyi/transform/lattice/spectrum.hpp"

class RadixTwo final : public renyi::lattice::FourierTransform {
public:
    using Complex = std::complex<double>;

    void forward(const double* in, std::size_t n, Complex* out) override {
        std::vector<Complex> a(in, in + n);
        transform(a, -1.0);
        for (std::size_t k = 0; k <= n / 2; ++k) out[k] = a[k];
    }

    void inverse(const Complex* in, std::size_t n, double* out) override {
        std::vector<Complex> a(n);
        for (std::size_t k = 0; k <= n / 2; ++k) a[k] = in[k];
        for (std::size_t k = n / 2 + 1; k < n; ++k) a[k] = std::conj(in[n - k]);
        transform(a, 1.0);
        for (std::size_t k = 0; k < n; ++k) out[k] = a[k].real() / static_cast<double>(n);
    }

private:
    static Complex times(Complex a, Complex b) {
        return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
    }

    void transform(std::vector<Complex>& a, double sign) {
        const std::size_t n = a.size();
        for (std::size_t i = 1, j = 0; i < n; ++i) {
            std::size_t bit = n >> 1;
            for (; j & bit; bit >>= 1) j ^= bit;
            j ^= bit;
            if (i < j) std::swap(a[i], a[j]);
        }
        std::vector<Complex> twiddles(n / 2);
        for (std::size_t k = 0; k < n / 2; ++k) {
            const double angle = sign * 2.0 * std::numbers::pi * static_cast<double>(k) / static_cast<double>(n);
            twiddles[k] = {std::cos(angle), std::sin(angle)};
        }
        for (std::size_t length = 2; length <= n; length *= 2) {
            const std::size_t stride = n / length, half = length / 2;
            for (std::size_t start = 0; start < n; start += length) {
                for (std::size_t k = 0; k < half; ++k) {
                    const Complex far = times(a[start + k + half], twiddles[k * stride]);
                    a[start + k + half] = a[start + k] - far;
                    a[start + k] += far;
                }
            }
        }
    }
};
