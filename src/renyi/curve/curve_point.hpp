// A point of a privacy curve with everything that root finding needs, and the core of the Gaussian one.
#pragma once

#include "renyi/fp/bracket.hpp"

namespace renyi {

// Each right to its error, relatively, however small; the mass only to a few digits.
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

}  // namespace renyi
