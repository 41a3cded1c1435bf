// Smooth windows in the privacy loss: products of normal cdfs, entire functions of the loss.
//
// With u = (V - level)/width: a rising step Phi(u), a falling one Phi(-u); both to 20u relative as far as the argument
// allows. On a line, with u + i v:  |Phi(u + i v)| <= e^{v^2/2} Phi(u), since |phi(s + i v)| = e^{v^2/2} phi(s), and
// |Phi| <= 1 + |1 - Phi|; 2 Phi(u) <= e^{-u^2/2} for u <= 0.
#pragma once

#include <algorithm>
#include <cmath>

#include "renyi/fp/certified.hpp"
#include "renyi/special/elementary.hpp"
#include "renyi/special/lane_erfcx.hpp"

namespace renyi {

// sign 1 rises with V, sign -1 falls.
struct LossStep {
    double level = 0.0, width = 1.0, sign = 1.0;

    double argument(double v) const noexcept { return sign * (v - level) / width; }
};

class LossWindow {
public:
    static constexpr int kMost = 10;

    LossWindow with(LossStep step) const noexcept {
        LossWindow w = *this;
        if (w.count_ < kMost) w.steps_[w.count_++] = step;
        return w;
    }

    const LossStep* begin() const noexcept { return steps_; }
    const LossStep* end() const noexcept { return steps_ + count_; }

    // The lowest of the falling steps.
    const LossStep* falling() const noexcept {
        const LossStep* lowest = nullptr;
        for (const LossStep& s : *this)
            if (s.sign < 0.0 && (lowest == nullptr || s.level < lowest->level)) lowest = &s;
        return lowest;
    }
    bool rises() const noexcept {
        return std::any_of(begin(), end(), [](const LossStep& s) { return s.sign > 0.0; });
    }

private:
    LossStep steps_[kMost];
    int count_ = 0;
};

// log Phi(u).
RENYI_INLINE double log_normal_cdf(double u) noexcept {
    const double size = __builtin_fabs(u), half = 0.5 * lane_erfcx(size * 0x1.6a09e667f3bcdp-1);
    const double outside = lane_exp(-0.5 * (u * u)) * half;
    const double near = lane_log1p(-select(u < 0.0, 0.0, outside)), far = lane_log(half) - 0.5 * (u * u);
    return select(u < 0.0, far, near);
}

// log of a bound of |Phi(u + i v)|.
inline double log_cdf_bound(double u, double v) noexcept {
    if (u > v + 9.0) return 1e-17;
    const double exponent = 0.5 * (v * v - u * u);
    if (u < 0.0) return exponent - 0.6931471805599452;
    return exponent > 60.0 ? 0.5 * v * v : std::log1p(0.5 * std::exp(exponent));
}

}  // namespace renyi
