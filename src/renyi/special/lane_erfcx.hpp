// e^{x^2} erfc(x) for 0 <= x <= 1e300 as a branch-free function that vectorises; erfcx.hpp has the other route.
//
// (1 + 2x) erfcx(x) is smooth in t = (x - k)/(x + k), k = 3.75, on all of [0, inf] (Shepherd, Laframboise 1981). The
// polynomial of degree 25 is off by 2^-57 (the sum of what the Chebyshev series leaves out); its coefficients,
// tools/make_erfcx_polynomial.py, add up to 1.8 in size, so that Horner's scheme and the 3u of t (slope below 0.6)
// cost less than 6u of a value that is at least 1. Relative error 10u in all.
#pragma once

#include "renyi/special/elementary.hpp"

namespace renyi {

RENYI_INLINE double lane_erfcx(double x) noexcept {
    constexpr double kCentre = 3.75;
    constexpr double kPowers[26] = {
        0x1.3ccda0b5d5dc2p+0,  -0x1.1f367683f89a7p-3,  0x1.d5f294815a405p-9,   0x1.510169d0967fep-4,
        -0x1.bda9309a2949ap-4, 0x1.7a14188a99bbdp-4,   -0x1.e0d0fa6ddfe85p-5,  0x1.d0b0037dca912p-6,
        -0x1.3f603c398c6c5p-7, 0x1.cc3a0e231627ep-10,  0x1.33fb2968decd9p-12,  -0x1.303f9da131ea2p-12,
        0x1.b1439865f8d9ep-15, 0x1.778a2b8f2e752p-16,  -0x1.800077b775cf3p-17, -0x1.0525b6d7eefd4p-20,
        0x1.d6339f66a50f8p-20, -0x1.f479469e8aafcp-25, -0x1.15be4201dc721p-22, 0x1.a14b81d0a6467p-26,
        0x1.4c37f59c36e71p-25, -0x1.2da11a81e0e15p-28, -0x1.638dcc665be8dp-28, 0x1.2c02a9487e3bcp-31,
        0x1.d3744857e262bp-32, -0x1.4a219c71bb4d2p-35,
    };
    const double t = (x - kCentre) / (x + kCentre);
    const double t2 = t * t;
    double even = kPowers[24], odd = kPowers[25];
    for (int n = 22; n >= 0; n -= 2) {
        even = even * t2 + kPowers[n];
        odd = odd * t2 + kPowers[n + 1];
    }
    return (even + t * odd) / (1.0 + 2.0 * x);
}

}  // namespace renyi
