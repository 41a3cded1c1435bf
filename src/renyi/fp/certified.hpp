// Constants, assumptions about the system, factors that round outward, and doubles with a proven relative error.
//
// |value - truth| <= relative_error * |truth|, with relative_error < 1. Hence
//   truth in [value / (1 + e), value / (1 - e)] for value > 0,
// and value * (1 -+ e (1 + 2^-20)) with one further step outward contains that interval for e <= 2^-21:
// 1/(1-e) <= 1 + e + 2e^2 <= 1 + e (1 + 2^-20), and each of the two roundings moves by at most half an ulp.
// Assumes IEEE-754 doubles, round to nearest, no contraction.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

namespace renyi {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kSmallestNormal = std::numeric_limits<double>::min();
constexpr double kUnitRoundoff = 0x1p-53;

// Constants that <numbers> lacks, to the nearest double; pi, log 2 and sqrt 2 are those of <numbers>.
constexpr double kRoot2Pi = std::numbers::sqrt2 / std::numbers::inv_sqrtpi;
constexpr double kInverseRoot2Pi = 0.5 * std::numbers::sqrt2 * std::numbers::inv_sqrtpi;
constexpr double kRootHalf = 0.5 * std::numbers::sqrt2;
constexpr double kLog2Pi = 0x1.d67f1c864beb5p0;  // 1.837877066409345483560659472811235279722794947275566825634
constexpr double kHalfLog2Pi = 0.5 * kLog2Pi;

// Factors that round outward: for x >= 0 with |x - truth| <= n u truth, u = 2^-53, n even and x raised(n) normal,
//     x lowered(n) <= truth <= x raised(n)   as computed,
// since (1 + (n+2) u) (1-u) (1 - n u) >= 1 and (1 - (n+2) u) (1+u) (1 + n u) <= 1 for n < 2^24: n roundings and that of
// the product itself are covered.
constexpr double raised(int n) noexcept { return 1.0 + (n + 2) * kUnitRoundoff; }
constexpr double lowered(int n) noexcept { return 1.0 - (n + 2) * kUnitRoundoff; }
constexpr int kManyRoundings = 9006;  // 1e-12: a few calls of the system's functions, magnified up to a thousand times

// The assumed relative error of the system's exp, exp2, expm1, log, log2, log1p, pow, sin, cos, atan2, hypot: one ulp,
// as the GNU C library states for each (manual, "Known Maximum Errors in Math Functions") and musl and Apple's library
// keep; of erfc, eight ulps. tests/cpp/test_system_math.cpp tests it. Complex functions have a few times this error.
constexpr double kSystemError = 2.0 * kUnitRoundoff;
constexpr double kSystemTailError = 16.0 * kUnitRoundoff;

struct Certified {
    double value;
    double relative_error;
};

constexpr Certified kOutsideDomain{kNaN, 0.0};

namespace detail {

// Multiplies by 1 + e, e of either sign, and steps outward twice; exact values stay exact.
inline double widen(double value, double e) noexcept {
    if (e == 0.0 || value == 0.0 || !std::isfinite(value)) return value;
    const double outward = e > 0.0 ? std::copysign(kInfinity, value) : 0.0;
    return std::nextafter(std::nextafter(value * (1.0 + e), outward), outward);
}

inline double end(Certified c, double direction) noexcept {
    const double e = c.relative_error * (1.0 + 0x1p-20) + 0x1p-52;
    return widen(c.value, c.relative_error == 0.0 ? 0.0 : (c.value < 0.0 ? -direction : direction) * e);
}

}  // namespace detail

inline double lower(Certified c) noexcept { return detail::end(c, -1.0); }
inline double upper(Certified c) noexcept { return detail::end(c, 1.0); }

// A weighted sum of non-negative terms. |value - truth| <= e truth <= e/(1-e) value for each term, so the error of the
// sum is the weighted mean of the terms' errors, and never above the largest: a tiny term with e near 1 does not
// matter. There are two roundings per term and one per addition.
class CertifiedSum {
public:
    void add(double count, Certified term) noexcept {
        const double value = count * term.value;
        sum_ += value;
        const double e = term.relative_error;
        error_ += value * (e < 0.5 ? e / (1.0 - e) : 1.0 + e);
        largest_ = std::max(largest_, term.relative_error);
        rounding_ += kUnitRoundoff;
    }

    Certified total() const noexcept {
        if (sum_ == 0.0 || !std::isfinite(sum_)) return {sum_, 0.0};
        const double mean = error_ < 0.5 * sum_ ? error_ / (sum_ - error_) * (1.0 + 4.0 * rounding_) : largest_;
        return {sum_, std::min(mean, largest_) + rounding_ + 2.0 * kUnitRoundoff};
    }

private:
    double sum_ = 0.0, error_ = 0.0, largest_ = 0.0, rounding_ = 0.0;
};

}  // namespace renyi
