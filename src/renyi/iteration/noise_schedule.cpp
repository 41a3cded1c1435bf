#include "renyi/iteration/noise_schedule.hpp"

#include <algorithm>
#include <cmath>

#include "renyi/fp/multiversion.hpp"
#include "renyi/special/elementary.hpp"

namespace renyi {

namespace {

constexpr double kLargestExponent = 600.0;     // beyond it C2 is nothing beside the power of j
constexpr int kAligned = 256;                  // steps of one polynomial
constexpr double kFirstInterpolated = 0x1p15;  // times a
constexpr double kLogTwoPi = 0x1.d67f1c864beb5p0;

RENYI_MULTIVERSION
void laplace_scales(double amplitude, double power, double log_c1, double c2, const double* j, int count,
                    double* scales) noexcept {
    for (int k = 0; k < count; ++k) {
        const double exponent = power * lane_log(j[k]) - log_c1;
        const double size = lane_exp(exponent < kLargestExponent ? exponent : kLargestExponent);
        const double log = lane_log1p(size + (c2 - 1.0));
        scales[k] = amplitude / select(exponent < kLargestExponent, log, exponent);
    }
}

RENYI_MULTIVERSION
void gaussian_scales(double amplitude, double power, double log_c, double c2, const double* j, int count,
                     double* scales) noexcept {
    for (int k = 0; k < count; ++k) {
        const double exponent = 2.0 * power * lane_log(j[k]) - log_c;
        const double size = lane_exp(exponent < kLargestExponent ? exponent : kLargestExponent);
        const double y = size + c2;
        const double log = select(exponent < kLargestExponent, lane_log(y), exponent);
        scales[k] = amplitude / std::sqrt(lane_lambert_w(log, y));
    }
}

constexpr int kNodes = 8;
constexpr double kNode[kNodes] = {
    // cos((2n + 1) pi/16)
    0x1.f6297cff75cbp-1,   0x1.a9b66290ea1a3p-1,  0x1.1c73b39ae68c8p-1,  0x1.8f8b83c69a60bp-3,
    -0x1.8f8b83c69a60bp-3, -0x1.1c73b39ae68c8p-1, -0x1.a9b66290ea1a3p-1, -0x1.f6297cff75cbp-1,
};

struct InverseGaps {
    double of[kNodes][kNodes] = {};
    constexpr InverseGaps() {
        for (int order = 1; order < kNodes; ++order)
            for (int n = order; n < kNodes; ++n) of[order][n] = 1.0 / (kNode[n] - kNode[n - order]);
    }
};
constexpr InverseGaps kInverseGap;

// The polynomial through the scales at eight Chebyshev nodes of the steps before + 1 ... before + 256, in Newton's form
// in x from -1 to 1. A scale is an analytic function of j with singularities on rays from 0, at angles of pi/(2a) or
// more to the real axis (where j^{2a}/(2 pi C1^2) + C2 = -1/e or 0, j^a/C1 + C2 = 1 or 0), so no nearer than j/a: from
// kFirstInterpolated a on that is 2^8 times half the length, and the error of degree 7 below 2^-60 of the scale.
class Interpolant {
public:
    Interpolant(const NoiseSchedule& s, double before) noexcept {
        double j[kNodes];
        for (int n = 0; n < kNodes; ++n) j[n] = before + 0.5 * (kAligned + 1) + 0.5 * (kAligned - 1) * kNode[n];
        scales_at(s, j, kNodes, difference_);
        for (int order = 1; order < kNodes; ++order)
            for (int n = kNodes - 1; n >= order; --n)
                difference_[n] = (difference_[n] - difference_[n - 1]) * kInverseGap.of[order][n];
    }

    RENYI_INLINE double operator()(double x) const noexcept {
        double value = difference_[kNodes - 1];
        for (int n = kNodes - 2; n >= 0; --n) value = value * (x - kNode[n]) + difference_[n];
        return value;
    }

private:
    double difference_[kNodes];
};

RENYI_MULTIVERSION
void interpolate(const Interpolant& of, int offset, int count, double* scales) noexcept {
    for (int k = 0; k < count; ++k) {
        const double x = (offset + k - 0.5 * (kAligned - 1)) * (2.0 / (kAligned - 1));
        scales[k] = of(x);
    }
}

}  // namespace

void scales_at(const NoiseSchedule& s, const double* j, int count, double* scales) noexcept {
    const double log_c1 = lane_log(s.c1);
    if (s.power == 0.0)
        std::fill_n(scales, count, s.amplitude);
    else if (s.law == NoiseLaw::laplace)
        laplace_scales(s.amplitude, s.power, log_c1, s.c2, j, count, scales);
    else
        gaussian_scales(s.amplitude, s.power, kLogTwoPi + 2.0 * log_c1, s.c2, j, count, scales);
}

void step_scales(const NoiseSchedule& s, double first, int count, double* scales) noexcept {
    if (s.scales != nullptr) {
        std::copy_n(s.scales + static_cast<long long>(first) - 1, count, scales);
        return;
    }
    for (int done = 0; done < count;) {
        const double j = first + done;
        const double before = std::floor((j - 1.0) * (1.0 / kAligned)) * kAligned;  // exact: a power of two
        const int offset = static_cast<int>(j - 1.0 - before);
        const int here = std::min(count - done, kAligned - offset);
        double* out = scales + done;
        if (s.power > 0.0 && before >= kFirstInterpolated * s.power) {
            interpolate(Interpolant(s, before), offset, here, out);
        } else {
            for (int k = 0; k < here; ++k) out[k] = j + k;
            scales_at(s, out, here, out);
        }
        done += here;
    }
}

}  // namespace renyi
