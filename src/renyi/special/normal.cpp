// The Mills ratio by the midpoint rule with step h = 1/2 and the residue of its pole (Goodwin 1949; Chiarella, Reichel
// 1968), as for erfcx but in double-double:
//     R(x) = sqrt(2/pi) x integral_0^inf e^{-s^2/2}/(s^2 + x^2) ds
//          = sqrt(2/pi) x h sum_{n>=0} e^{-s_n^2/2}/(s_n^2 + x^2) + sqrt(2 pi) e^{x^2/2}/(1 + e^{2 pi x/h})
// with s_n = (n + 1/2) h, the last term while x < 2 pi/h. The discretisation error is e^{-2 pi^2/h^2} < 2^-113;
// s_25^2/2 > 81, and later terms are below e^-81 < 2^-116. The terms are positive.
#include "renyi/special/normal.hpp"

#include <cmath>

#include "renyi/fp/certified.hpp"
#include "renyi/special/elementary_dd.hpp"
#include "renyi/special/tables.hpp"

namespace renyi {

namespace {

constexpr double kFar = 0x1p22;
constexpr double kSmallStep = 0x1p-12;
constexpr int kNodes = 25;
constexpr int kDoubleDoubleNodes = 18;

DoubleDouble half_square(DoubleDouble x) noexcept { return x * x * 0.5; }

// e^{-t} as a double-double, 0 for t > 700.
DoubleDouble decay(DoubleDouble t) noexcept {
    if (t.hi > 700.0) return {0.0, 0.0};
    const Scaled e = exp_dd(-t);
    const int exponent = static_cast<int>(e.exponent);
    return {std::ldexp(e.mantissa.hi, exponent), std::ldexp(e.mantissa.lo, exponent)};
}

// sum of w_n/(s_n^2 + y). A quotient is hi + lo, whose residual has an error of 2^-104 of the term: at most 2^-101 in
// total. Terms below 2^-56 of the first are computed in double.
DoubleDouble midpoint_sum(DoubleDouble y) noexcept {
    double hi[kDoubleDoubleNodes], lo[kDoubleDoubleNodes];
    for (int n = 0; n < kDoubleDoubleNodes; ++n) {
        const DoubleDouble d = two_sum(y.hi, (n + 0.5) * (n + 0.5) * 0.25);
        const DoubleDouble w = kMillsWeight[n];
        hi[n] = w.hi / d.hi;
        const DoubleDouble back = two_prod(hi[n], d.hi);
        lo[n] = (((w.hi - back.hi) - back.lo) + (w.lo - hi[n] * (d.lo + y.lo))) / d.hi;
    }
    double low = 0.0;
    for (int n = kNodes - 1; n >= kDoubleDoubleNodes; --n)
        low += kMillsWeight[n].hi / ((n + 0.5) * (n + 0.5) * 0.25 + y.hi);
    double high = 0.0;
    for (int n = kDoubleDoubleNodes - 1; n >= 0; --n) {
        const DoubleDouble s = two_sum(high, hi[n]);
        high = s.hi;
        low += s.lo + lo[n];
    }
    return fast_two_sum(high, low);
}

// Small m: sum_{n>=1} (-1)^(n-1) M_n m^n/n!, M_n = (-1)^n R^(n)(a) = integral t^n e^{-at-t^2/2} dt, by
// R^(n+1) = a R^(n) + n R^(n-1). The partial sums enclose the true value, since those of 1 - e^{-mt} do: after six
// terms the error is below M_7 m^6/(7! M_1) < 2^-78. The recurrence loses a factor a^2 per step from 2^-96:
// a^(2n-1) m^(n-1) 2^-96 < 2^-70.
Scaled small_difference(DoubleDouble a, const Scaled& m) noexcept {
    const DoubleDouble r = a.hi >= 0.0 ? mills(a) : kSqrtTwoPi * decay(-half_square(a)) - mills(-a);
    const double step = m.mantissa.hi * power_of_two(m.exponent);
    DoubleDouble previous = r, here = a * r + -1.0;
    DoubleDouble sum = -here;
    double factor = -1.0;
    for (int n = 1; n < 6; ++n) {
        const DoubleDouble next = a * here + previous * static_cast<double>(n);
        previous = here;
        here = next;
        factor *= step / (n + 1.0);
        sum = sum + here * factor;
    }
    return m * sum;
}

// Large a: sum_n (-1)^n (2n-1)!! (a^(-2n-1) - b^(-2n-1)), whose partial sums enclose again. p^k - r^k =
// (p - r) sum_j p^j r^(k-1-j) with p - r = m/(ab).
Scaled far_difference(double a, double b, const Scaled& m) noexcept {
    const double p = 1.0 / a, r = 1.0 / b;
    double powers = 1.0, even = 1.0, factor = 1.0, sum = 0.0;  // powers: of p + ... + r, even: p^(2n)
    for (int n = 0; n < 8; ++n) {
        sum += factor * powers;
        // p^(2n+2) + ... + r^(2n+2) = r^2 (p^(2n) + ...) + p^(2n+1) (p + r)
        powers = r * r * powers + even * p * (p + r);
        even *= p * p;
        factor *= -(2.0 * n + 1.0);
    }
    return m * DoubleDouble{sum * p * r, 0.0};
}

// Abramowitz, Stegun 26.2.23, error below 4.5e-4.
double quantile_guess(double log_p) noexcept {
    const double t = std::sqrt(-2.0 * log_p);
    return t - (2.515517 + t * (0.802853 + t * 0.010328)) / (1.0 + t * (1.432788 + t * (0.189269 + t * 0.001308)));
}

}  // namespace

Scaled normal_density(DoubleDouble x) noexcept {
    if (!(std::fabs(x.hi) < kFar)) return kScaledZero;
    const Scaled e = exp_dd(-half_square(x));
    return {e.mantissa * kInverseSqrtTwoPi, e.exponent};
}

DoubleDouble mills(DoubleDouble x) noexcept {
    if (x.hi > 0x1p900) return {1.0 / x.hi, 0.0};
    if (x.hi > 0x1p40) return DoubleDouble{1.0, 0.0} / x;
    const DoubleDouble square = x * x;
    const DoubleDouble value = x * midpoint_sum(square);
    const DoubleDouble shift = kFourPi * x;
    const DoubleDouble depth = shift - square * 0.5;
    if (x.hi > kFourPi.hi || depth.hi > 75.0) return value;
    return value + kSqrtTwoPi * decay(depth) / (decay(shift) + 1.0);
}

Scaled mills_difference(DoubleDouble a, DoubleDouble b, const Scaled& m) noexcept {
    if (a.hi > 64.0) return far_difference(a.hi, b.hi, m);
    if (m.mantissa.hi * power_of_two(m.exponent) < kSmallStep) return small_difference(a, m);
    return {mills(a) - mills(b), 0.0};
}

Scaled normal_tail(DoubleDouble x) noexcept {
    if (x.hi >= 0.0) return x.hi < kFar ? normal_density(x) * mills(x) : kScaledZero;
    if (x.hi <= -40.0) return kScaledOne;
    const Scaled other = normal_density(-x) * mills(-x);
    return kScaledOne + Scaled{-other.mantissa, other.exponent};
}

DoubleDouble normal_tail_inverse(double p) noexcept {
    if (p == 0.5) return {0.0, 0.0};
    int exponent;
    const double mantissa = std::frexp(p, &exponent);
    double x = quantile_guess(exponent * kLog2 + lane_log(mantissa));
    DoubleDouble correction{0.0, 0.0};
    // Newton on Q with the second-order term: d + x d^2/2, d = (Q(x) - p)/phi(x) = R(x) - p/phi(x). From 1e-3 the error
    // is cubed twice.
    for (int i = 0; i < 3; ++i) {
        const Scaled density = normal_density({x, 0.0});
        const DoubleDouble ratio = DoubleDouble{mantissa, 0.0} / density.mantissa;
        const int shift = exponent - static_cast<int>(density.exponent);
        const DoubleDouble d = mills({x, 0.0}) - DoubleDouble{std::ldexp(ratio.hi, shift), std::ldexp(ratio.lo, shift)};
        correction = d + d * d * (0.5 * x);
        const double next = x + correction.hi;
        if (i == 2 || next == x) break;
        x = std::fmax(next, 0.0);
    }
    return DoubleDouble{x, 0.0} + correction;
}

}  // namespace renyi
