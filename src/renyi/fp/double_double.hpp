// Double-double arithmetic: an unevaluated sum hi + lo with |lo| <= ulp(hi)/2, about 104 significant bits.
//
// Dekker 1971; Joldes, Muller, Popescu 2017 (relative error of a sum or product at most 2^-101 each).
// No fused multiply-add is assumed, so results are the same on every machine. Valid for |x| < 2^995.
#pragma once

#include "renyi/fp/multiversion.hpp"

namespace renyi {

struct DoubleDouble {
    double hi;
    double lo;
};

RENYI_INLINE DoubleDouble fast_two_sum(double a, double b) noexcept {  // |a| >= |b|
    const double s = a + b;
    return {s, b - (s - a)};
}

RENYI_INLINE DoubleDouble two_sum(double a, double b) noexcept {
    const double s = a + b;
    const double t = s - a;
    return {s, (a - (s - t)) + (b - t)};
}

// a = hi + lo with 26 bits each (Veltkamp).
RENYI_INLINE DoubleDouble split(double a) noexcept {
    const double t = a * 134217729.0;
    const double hi = t - (t - a);
    return {hi, a - hi};
}

RENYI_INLINE DoubleDouble two_prod(double a, double b) noexcept {
    const double p = a * b;
    const DoubleDouble x = split(a);
    const DoubleDouble y = split(b);
    return {p, ((x.hi * y.hi - p) + x.hi * y.lo + x.lo * y.hi) + x.lo * y.lo};
}

RENYI_INLINE DoubleDouble operator-(DoubleDouble a) noexcept { return {-a.hi, -a.lo}; }

RENYI_INLINE DoubleDouble operator+(DoubleDouble a, DoubleDouble b) noexcept {
    DoubleDouble s = two_sum(a.hi, b.hi);
    const DoubleDouble t = two_sum(a.lo, b.lo);
    s = fast_two_sum(s.hi, s.lo + t.hi);
    return fast_two_sum(s.hi, s.lo + t.lo);
}

RENYI_INLINE DoubleDouble operator+(DoubleDouble a, double b) noexcept {
    const DoubleDouble s = two_sum(a.hi, b);
    return fast_two_sum(s.hi, s.lo + a.lo);
}

RENYI_INLINE DoubleDouble operator-(DoubleDouble a, DoubleDouble b) noexcept { return a + (-b); }

RENYI_INLINE DoubleDouble operator*(DoubleDouble a, DoubleDouble b) noexcept {
    const DoubleDouble p = two_prod(a.hi, b.hi);
    return fast_two_sum(p.hi, p.lo + (a.hi * b.lo + a.lo * b.hi));
}

RENYI_INLINE DoubleDouble operator*(DoubleDouble a, double b) noexcept {
    const DoubleDouble p = two_prod(a.hi, b);
    return fast_two_sum(p.hi, p.lo + a.lo * b);
}

RENYI_INLINE DoubleDouble operator/(DoubleDouble a, DoubleDouble b) noexcept {
    const double q1 = a.hi / b.hi;
    const DoubleDouble r = a - b * q1;
    const double q2 = r.hi / b.hi;
    const DoubleDouble s = r - b * q2;
    return fast_two_sum(q1, q2) + s.hi / b.hi;
}

}  // namespace renyi
