// The normal distribution: the scaled complementary error function in double, and in double-double density, tail, Mills
// ratio and its differences, quantile.
//
// With phi the density and Q(x) = P(N > x), R(x) = Q(x)/phi(x) = integral_0^inf e^{-xt - t^2/2} dt.
//   erfcx(x), x >= 0          e^{x^2} erfc(x), relative error 12u
//   lane_erfcx(x)             erfcx for 0 <= x <= 1e300, branch-free, so that it vectorises; relative error 10u
//   normal_density(x)         relative error <= 2^-79 + 2^-98 x^2 for |x| < 2^22; 0 beyond
//   mills(x), x >= 0          relative error <= 2^-78 for x < 8, 2^-96 beyond, 2^-79 beyond 2^40
//   mills_difference(a, b)    R(a) - R(b) > 0 for b >= |a|: relative error <= 2^-61 for a <= 64, 2^-44 beyond
//   upper_tail(x)             Q(x) in double, with its error; log_upper_tail(x): its logarithm, rounded up
//   normal_tail(x)            relative error <= 2^-77 + 2^-98 x^2 for |x| < 2^22; 0 or 1 beyond
//   normal_tail_inverse(p)    0 < p <= 1/2: x with Q(x) = p, absolute error <= 2^-74
// Errors in double-double are those of the function at the double-double given.
#pragma once

#include <algorithm>
#include <cmath>

#include "renyi/fp/certified.hpp"
#include "renyi/fp/double_double.hpp"
#include "renyi/special/elementary.hpp"

namespace renyi {

// The midpoint rule with step h = 1/2; the residue of the pole t = ix is added while the pole lies inside the strip of
// convergence:
//     erfc(x) = (2x/pi) e^{-x^2} integral_0^inf e^{-t^2}/(t^2 + x^2) dt
//     erfcx(x) = (2 x h/pi) sum_{n>=1} e^{-t_n^2}/(t_n^2 + x^2) + 2 e^{x^2}/(1 + e^{2 pi x/h}),   t_n = (n - 1/2) h.
// All terms are positive (the rule through t = 0 would subtract). The discretisation error is e^{-pi^2/h^2} = e^-39
// (Goodwin 1949; Chiarella, Reichel 1968); t_13 = 6.25, and later terms are below e^-45.
inline double erfcx(double x) noexcept {
    constexpr double kPi = 0x1.921fb54442d18p1;
    constexpr double kStep = 0.5;
    constexpr double kWeight[14] = {
        // e^{-t_n^2}
        0.9394130628134757861197,     0.5697828247309230097666,    0.2096113871510978225241,
        0.04677062238395898365276,    0.006329715427485746576865,  0.0005195746821548384817648,
        0.00002586810022265412127036, 7.811489408304490795473e-7,  1.430724191856768833468e-8,
        1.589391009451636652873e-10,  1.070923238250807645586e-12, 4.376618502870849893821e-15,
        1.084855264042937802512e-17,  1.631013922670185678642e-20};
    double sum = 0.0;
    for (int n = 13; n >= 0; --n) {
        const double t = (n + 0.5) * kStep;
        sum += kWeight[n] / (t * t + x * x);
    }
    double value = (2.0 * kStep / kPi) * x * sum;
    if (x < kPi / kStep)
        value += 2.0 * lane_exp(x * (x - 2.0 * kPi / kStep)) / (1.0 + lane_exp(-2.0 * kPi * x / kStep));
    return value;
}

// erfcx by a polynomial. (1 + 2x) erfcx(x) is smooth in t = (x - k)/(x + k), k = 3.75, on all of [0, inf] (Shepherd,
// Laframboise 1981). The polynomial of degree 25 has an error of 2^-57 (the sum of the omitted Chebyshev terms). Its
// coefficients (tools/make_erfcx_polynomial.py) add up to 1.8 in size, so that Horner's scheme and the error 3u of t
// (slope below 0.6) cost less than 6u of a value that is at least 1.
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

Scaled normal_density(DoubleDouble x) noexcept;

DoubleDouble mills(DoubleDouble x) noexcept;

// m = b - a > 0 is a separate argument, so that it keeps its relative accuracy; a >= 0 or m <= 2^-12.
Scaled mills_difference(DoubleDouble a, DoubleDouble b, const Scaled& m) noexcept;

// x may have a relative error of u, x sqrt(1/2) one of 3u, which moves the tail by at most 3u (x^2 + 1) of itself for
// x > 0 and by less for x < 0.
inline Certified upper_tail(double x) noexcept {
    const double moved = std::max(x, 0.0);
    return {0.5 * std::erfc(x * kRootHalf), kSystemTailError + 3.0 * kUnitRoundoff * (moved * moved + 1.0)};
}

// The tail has a relative error of 1e-12 down to 1e-290, x < 37; beyond, Q(x) <= e^{-x^2/2}.
inline double log_upper_tail(double x) noexcept {
    const double tail = upper_tail(x).value;
    return tail > 1e-290 ? std::log(tail) + 1e-12 : -0.5 * x * x;
}

Scaled normal_tail(DoubleDouble x) noexcept;

DoubleDouble normal_tail_inverse(double p) noexcept;

}  // namespace renyi
