// cos t - 1 and sin t - t without cancellation, branch-free so that they vectorise, for |t| <= 2^20.
//
// t = k pi/2 + r with |r| <= pi/4 (1 + 2^-30), pi/2 in three parts (33 + 33 + 53 bits: k times the first two is
// exact), Taylor polynomials of r. Bounds, checked in tests/cpp/test_circular.cpp:
//   versine_excess  cos t - 1   6u relative for k = 0, else 4u + 2^-52 absolute
//   sine_excess     sin t - t   6u relative for k = 0, else 4u |t| absolute
// the argument of a complex number in the right half-plane, to 8u relative, and e^z - 1 - z for complex z.
#pragma once

#include <cstdint>

#include "renyi/special/elementary.hpp"

namespace renyi {

struct CircularExcess {
    double cosine;  // cos t - 1
    double sine;    // sin t - t
};

RENYI_INLINE CircularExcess circular_excess(double t) noexcept {
    const double shifted = t * 0x1.45f306dc9c883p-1 + kRoundShift;
    const double k = shifted - kRoundShift;
    const double r = ((t - k * 0x1.921fb544p0) - k * 0x1.0b4611a6p-34) - k * 0x1.3198a2e037073p-69;
    const double z = r * r;
    const double z2 = z * z;
    const double z4 = z2 * z2;
    // sin r - r = r z s,  cos r - 1 = -z/2 + z^2 c
    const double s = ((-1.0 / 6 + z * (1.0 / 120)) + z2 * (-1.0 / 5040 + z * (1.0 / 362880))) +
                     z4 * ((-1.0 / 39916800 + z * (1.0 / 6227020800.0)) +
                           z2 * (-1.0 / 1307674368000.0 + z * (1.0 / 355687428096000.0)));
    const double c = ((1.0 / 24 + z * (-1.0 / 720)) + z2 * (1.0 / 40320 + z * (-1.0 / 3628800))) +
                     z4 * ((1.0 / 479001600 + z * (-1.0 / 87178291200.0)) +
                           z2 * (1.0 / 20922789888000.0 + z * (-1.0 / 6402373705728000.0)));
    const double sine_tail = r * z * s;
    const double cosine_tail = z2 * c - 0.5 * z;
    const auto quadrant = std::bit_cast<std::uint64_t>(shifted);
    const bool odd = (quadrant & 1u) != 0, negative_sine = (quadrant & 2u) != 0;
    const bool negative_cosine = ((quadrant + 1u) & 2u) != 0;
    const double sine_r = r + sine_tail, cosine_r = 1.0 + cosine_tail;
    const double sine = select(odd, cosine_r, sine_r), cosine = select(odd, sine_r, cosine_r);
    const bool small = k == 0.0;
    return {select(small, cosine_tail, select(negative_cosine, -cosine, cosine) - 1.0),
            select(small, sine_tail, select(negative_sine, -sine, sine) - t)};
}

// Argument of x + i y for x >= 0, by three halvings of the angle.
RENYI_INLINE double lane_argument(double y, double x) noexcept {
    const double modulus = __builtin_sqrt(x * x + y * y);
    const double t1 = y / (x + modulus);
    const double t2 = t1 / (1.0 + __builtin_sqrt(1.0 + t1 * t1));
    const double t = t2 / (1.0 + __builtin_sqrt(1.0 + t2 * t2));
    const double z = t * t;
    double sum = -1.0 / 23;
    sum = sum * z + 1.0 / 21;
    sum = sum * z - 1.0 / 19;
    sum = sum * z + 1.0 / 17;
    sum = sum * z - 1.0 / 15;
    sum = sum * z + 1.0 / 13;
    sum = sum * z - 1.0 / 11;
    sum = sum * z + 1.0 / 9;
    sum = sum * z - 1.0 / 7;
    sum = sum * z + 1.0 / 5;
    sum = sum * z - 1.0 / 3;
    return 8.0 * (t + t * z * sum);
}

struct ComplexLane {
    double re, im;
};

// e^z - 1 - z, each part relative to |z|^2.
RENYI_INLINE ComplexLane lane_phi(double re, double im) noexcept {
    const double clamped = re > -700.0 ? (re < 700.0 ? re : 700.0) : -700.0;
    const ExpReduction e = reduce_exp(clamped);
    const CircularExcess c = circular_excess(im);
    const double grown = expm1_of(e);
    return {phi_of(e) + (clamped - re) + exp_of(e) * c.cosine, grown * im + exp_of(e) * c.sine};
}

}  // namespace renyi
