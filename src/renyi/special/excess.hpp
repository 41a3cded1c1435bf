// A - 1 of a bound log A, as a sum of non-negative terms, and what is known of its error.
#pragma once

#include <algorithm>

#include "renyi/fp/certified.hpp"
#include "renyi/fp/double_double.hpp"
#include "renyi/special/scaled_expm1.hpp"

namespace renyi {

constexpr double kLargestExponent = 0x1p50;  // of scaled_expm1

// How far e^K - 1, or c e^K - 1 with c <= 3, can be off, as a logarithm: the truth of K is within K e / (1-e), and
// d log(c e^K - 1) <= 1.5 (1/K + 1) dK.
inline double log_error(Certified k) noexcept {
    return 1.5 * (1.0 + k.value) * (k.relative_error / (1.0 - k.relative_error));
}

// x > 0, subnormal or not.
inline Scaled scaled(double x) noexcept {
    int shift;
    const double m = std::frexp(x, &shift);
    return {{m, 0.0}, static_cast<double>(shift)};
}

inline double log_of(const Scaled& s) noexcept { return lane_log(s.mantissa.hi) + s.exponent * kLog2; }

class Excess {
public:
    void add(const Scaled& term, double error) noexcept {
        const double before = sum_.exponent;
        sum_ = sum_ + term;
        errors_ *= power_of_two(before - sum_.exponent);
        errors_ += term.mantissa.hi * power_of_two(term.exponent - sum_.exponent) * error;
        largest_error_ = std::max(largest_error_, error);
    }

    double log_total() const noexcept { return sum_.mantissa.hi == 0.0 ? -kInfinity : log_of(sum_); }

    // log A. A relative error e of A - 1 moves it by e (A-1)/A, which is at most e and at most e log A; the weighted
    // mean of the terms' errors bounds e where all of them are small. `rounding` is what else there is in a term. What
    // would underflow is answered by an interval that begins below 0.
    Certified log_moment(double rounding) const noexcept {
        if (sum_.mantissa.hi == 0.0) return {0.0, 0.0};
        const double value = log1p_of(sum_), mean = errors_ / sum_.mantissa.hi;
        if (value < 0x1p-990) return {0x1p-990, 1.0 - 0x1p-22};
        const double e = rounding + (largest_error_ < 0x1p-7 ? 1.01 * mean : largest_error_);
        return {value, 8.0 * kUnitRoundoff + e * std::min(1.0, 1.0 / value)};
    }

private:
    Scaled sum_ = kScaledZero;
    double errors_ = 0.0;  // weighted with the terms, in units of 2^(exponent of the sum)
    double largest_error_ = 0.0;
};

// log(1 + r (e^K - 1)), 0 <= r <= 1. Beyond 2^50 it is K + log r to a relative e^-(2^49).
inline Certified log_mixture(double r, Certified k) noexcept {
    if (r == 0.0 || k.value == 0.0) return {0.0, 0.0};
    if (r == 1.0 || !(k.value < kLargestExponent)) {
        if (r == 1.0 || k.value == kInfinity) return k;
        return {k.value + log_of(scaled(r)), k.relative_error * (1.0 + 0x1p-30) + 4.0 * kUnitRoundoff};
    }
    Excess excess;
    excess.add(scaled(r) * scaled_expm1({k.value, 0.0}), log_error(k));
    return excess.log_moment(12.0 * kUnitRoundoff);
}

}  // namespace renyi
