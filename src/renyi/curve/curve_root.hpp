// Where a privacy curve takes a given value: Newton steps on log delta, or on log (1 - delta) for delta above 1/2, and
// proven signs at both ends of the answer.
//
// Both logarithms are concave in eps wherever the loss is (L minus an exponential variable then has a log-concave law,
// and delta is its tail), so Newton's method converges from one side; a bracket guards it in any case. Every loop is
// bounded; where a search does not arrive, the answer is the end of the range.
#pragma once

#include <cmath>

#include "renyi/fp/bracket.hpp"
#include "renyi/pair/composition.hpp"
#include "renyi/special/elementary.hpp"
#include "renyi/transform/sampled_loss.hpp"

namespace renyi {

// A point of a privacy curve with everything that root finding needs, and the core of the Gaussian one.
// delta and complement have relative errors, also where they are tiny; the mass is right to a few digits only.
struct CurvePoint {
    Enclosed delta;
    Enclosed complement;  // 1 - delta
    Scaled mass;          // e^eps Q(L > eps) = -d delta/d eps
};

constexpr CurvePoint kNoPoint{kNotEnclosed, kNotEnclosed, {{kNaN, 0.0}, 0.0}};

// The Gaussian curve at eps = mu (a + b)/2 >= 0, where a = eps/mu - mu/2 and b = eps/mu + mu/2. `slack`: the absolute
// error of a and b beyond 2^-98 of |b|, the same for both.
struct GaussianArguments {
    DoubleDouble a, b;
    Scaled mu;
    double slack;
};

CurvePoint gaussian_point(const GaussianArguments& at) noexcept;

// The curve at -eps from the curve of the same pair at eps: delta(-eps) = 1 - e^-eps + e^-eps delta(eps) for a pair
// whose two directions agree.
CurvePoint mirrored(const CurvePoint& p, double eps) noexcept;

// log delta - log target or its counterpart for 1 - delta, with the sign of delta - target.
struct LogExcess {
    double value;
    double per_mass;  // d value = per_mass * d delta / mass
    int sign;         // 0: below the error
};

inline LogExcess excess_over(double target, const CurvePoint& p) noexcept {
    const bool high = target > 0.5;
    const Enclosed& e = high ? p.complement : p.delta;
    const double orientation = high ? -1.0 : 1.0;
    int exponent;
    const double mantissa = std::frexp(high ? 1.0 - target : target, &exponent);
    if (!(e.value.mantissa.hi > 0.0)) return {-orientation * kInfinity, 0.0, high ? 1 : -1};
    int own;
    std::frexp(e.value.mantissa.hi, &own);
    const double distance = e.value.exponent + own - exponent;
    const double per_mass = ratio(p.mass, e.value);
    if (std::fabs(distance) > 2.0) {
        const double log_ratio = distance * kLog2 + lane_log(std::ldexp(e.value.mantissa.hi, -own) / mantissa);
        return {orientation * log_ratio, per_mass, (log_ratio > 0.0) == high ? -1 : 1};
    }
    const int shift = static_cast<int>(e.value.exponent - exponent);
    const DoubleDouble scaled{std::ldexp(e.value.mantissa.hi, shift), std::ldexp(e.value.mantissa.lo, shift)};
    const double difference = (scaled + -mantissa).hi;
    const bool proven = std::fabs(difference) > scaled.hi * (e.error * (1.0 + 0x1p-20) + 0x1p-100);
    const int sign = !proven ? 0 : (difference > 0.0) == high ? -1 : 1;
    return {orientation * lane_log1p(difference / mantissa), per_mass, sign};
}

// Root of a monotone curve in x. At: x -> CurvePoint. Falling: delta falls in x. Step: (x, excess, point) -> next
// x of Newton's method. Between: the middle of two ends, either of which may be the end of the range.
struct RootRange {
    double least, most;
    bool falling;
};

template <class At, class Step, class Between>
Bracket curve_root(double target, double start, RootRange range, At at, Step step, Between between) noexcept {
    double left = range.least, right = range.most;
    double x = start;
    // True if the root lies to the right of x.
    const auto right_of = [&](const LogExcess& e) { return (e.sign > 0) == range.falling; };
    for (int i = 0; i < 200; ++i) {
        const CurvePoint p = at(x);
        const LogExcess e = excess_over(target, p);
        if (e.sign != 0) (right_of(e) ? left : right) = x;
        const double next = step(x, e, p);
        if (e.sign == 0 || std::fabs(next - x) <= 0x1p-51 * std::fabs(x)) {
            if (next > left && next < right) x = next;
            break;
        }
        x = next > left && next < right ? next : between(left, right);
        if (!(x > left && x < right)) break;  // neighbouring doubles
    }
    // Outwards from x until the sign is proven.
    const auto outward = [&](double& end, double direction) {
        if (x == end || std::nextafter(x, direction) == end) return;
        double width = std::fabs(x - std::nextafter(x, direction));
        for (int i = 0; i < 2100; ++i, width *= 2.0) {
            const double y = x + std::copysign(width, direction);
            if (direction > 0.0 ? y >= end : y <= end) return;
            const LogExcess e = excess_over(target, at(y));
            if (e.sign == 0 || right_of(e) != (direction < 0.0)) continue;
            end = y;
            return;
        }
    };
    if (!std::isfinite(x)) x = std::isfinite(left) ? left : right;
    outward(left, -kInfinity);
    outward(right, kInfinity);
    return {left, right};
}

// Root in eps of a curve that falls over the whole line.
template <class At>
Bracket epsilon_root(double delta, double start, At at) noexcept {
    return curve_root(
        delta, start, {-kInfinity, kInfinity, true}, at,
        [](double x, const LogExcess& e, const CurvePoint&) { return x + e.value / e.per_mass; },
        [](double left, double right) {
            if (std::isinf(left)) return std::isinf(right) ? 0.0 : right - 1.0 - 3.0 * std::fabs(right);
            return std::isinf(right) ? left + 1.0 + 3.0 * std::fabs(left) : left + 0.5 * (right - left);
        });
}

// A first guess for placing a split sum: delta comes from one large loss, or from many small losses that are nearly
// normal. Neither guess is a bound.
double guess_log_delta(const SortedSteps& c, SampledPair pair, double epsilon) noexcept;
double guess_epsilon(const SortedSteps& c, SampledPair pair, double delta) noexcept;

}  // namespace renyi
