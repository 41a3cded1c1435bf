// expm1 without overflow: e^a - 1 with a binary exponent of its own, for 0 <= a < 2^60. Relative error 8u: expm1_of or
// exp_of (6u, 3u) and the product with the low part; where a > 2^46 also what the argument is off, 2^-100 a.
#pragma once

#include "renyi/special/elementary_dd.hpp"

namespace renyi {

inline Scaled scaled_expm1(DoubleDouble a) noexcept {
    if (a.hi < 300.0) {
        const ExpReduction e = reduce_exp(a.hi);
        return normalised({{expm1_of(e) + exp_of(e) * a.lo, 0.0}, 0.0});
    }
    const double k = std::nearbyint(a.hi * 0x1.71547652b82fep0);
    const DoubleDouble r = a - kLog2DD * k;
    const double value = exp_of(reduce_exp(r.hi));
    return {{value + value * r.lo, 0.0}, k};
}

}  // namespace renyi
