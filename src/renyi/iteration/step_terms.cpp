// In double-double, as for the curve of the Gaussian mechanism: r is known to 2^-100, so a and b are known to 2^-98 b,
// which moves log theta and log (1 - theta) by at most (|a| + 1) 2^-98 b, below 2^-60 wherever theta or 1 - theta is a
// normal number and eps <= 1e15; density and Mills ratios are right to 2^-61. The margin of 2^-50 covers all of it,
// and the rounding to double.
#include "renyi/iteration/step_terms.hpp"

#include <algorithm>
#include <cmath>

#include "renyi/fp/certified.hpp"
#include "renyi/fp/multiversion.hpp"
#include "renyi/special/elementary_dd.hpp"
#include "renyi/special/normal.hpp"

namespace renyi {

namespace {

constexpr double kMargin = 0x1p-50;
constexpr double kSmallestNormal = std::numeric_limits<double>::min();
constexpr double kFar = 1000.0;  // Q beyond it is nothing

double value_of(const Scaled& s) noexcept {
    return std::ldexp(s.mantissa.hi, static_cast<int>(std::clamp(s.exponent, -5000.0, 5000.0)));
}

Scaled one_minus(const Scaled& s) noexcept { return kScaledOne + Scaled{-s.mantissa, s.exponent}; }

StepDivergence assembled(const Scaled& theta, const Scaled& complement) noexcept {
    const double above = std::max(value_of(theta) * (1.0 + kMargin), kSmallestNormal);
    const double rest = value_of(complement) * (1.0 - kMargin);
    const double below = rest < kSmallestNormal ? 0.0 : rest;
    if (below < 0.5) return {std::min(above, 1.0), below, -lane_log1p(-below) * (1.0 - kMargin)};
    const DoubleDouble log = kLog2DD * theta.exponent + log_dd(theta.mantissa);
    return {std::min(above, 1.0), below, -log.hi * (1.0 - kMargin) - kMargin};
}

}  // namespace

StepDivergence gaussian_step(double epsilon, double shift, double scale) noexcept {
    if (shift == 0.0 || epsilon == kInfinity) return {0.0, 1.0, kInfinity};
    const DoubleDouble r = DoubleDouble{shift, 0.0} / DoubleDouble{scale, 0.0};
    const double near = epsilon / r.hi - 0.5 * r.hi;
    // theta < Q(a) < e^{-a^2/2}; a^2 may overflow
    if (near > kFar) return {kSmallestNormal, 1.0 - kMargin, std::min(0.5 * near * near * (1.0 - 0x1p-20), 1e300)};
    if (near < -kFar) return {1.0, 0.0, 0.0};
    const DoubleDouble quotient = DoubleDouble{epsilon, 0.0} / r, half = r * 0.5;
    const DoubleDouble a = quotient - half, b = quotient + half;
    const Scaled density = normal_density(a);
    if (a.hi < 0.0 && r.hi >= 0x1p-12) {
        const Scaled complement = density * (mills(-a) + mills(b));
        return assembled(one_minus(complement), complement);
    }
    const Scaled theta = density * mills_difference(a, b, {r, 0.0});
    return assembled(theta, one_minus(theta));
}

// Lower bounds c of 1 - theta for a block, and from them 1 - c for A and -log1p(-c) for -log B, wherever c <= 15/16;
// the few steps with theta below 1/16 go through step_divergence.
//
// Gaussian noise. With E = e^{-a^2/2} and X(x) = erfcx(x/sqrt 2) = sqrt(2/pi) R(x) (gaussian_step.hpp):
//     a <= 0:  1 - theta = E (X(-a) + X(b))/2,        a > 0:  theta = E (X(a) - X(b))/2.
// a and b carry an absolute error of 5ub (r = shift (1/scale) is off by 2u and eps/r is rounded; each of r/2, eps/r and
// |a| is at most b). That moves log Q(-a) by at most (|a| + 1) 5ub, log R(b) by less, and a^2/2 in the exponent by it.
// With the exponential (3u + a^2 u), two erfcx (10u, and 2u b of X for its argument, since |X'| < 1.2 X) and the sums,
//     1 - theta is right to (8 b (|a| + 1) + 40) u of itself:
// for a > 0, where the error is one of theta <= 1/2, of a 1 - theta that is larger.

namespace {

constexpr double kHardest = 15.0 / 16.0;
constexpr double kSmall = 0x1p-6;
constexpr double kRootHalf = 0x1.6a09e667f3bcdp-1;

RENYI_MULTIVERSION
void laplace_complements(double epsilon, double shift, const double* inverse, int count, double* out) noexcept {
    for (int k = 0; k < count; ++k) out[k] = laplace_complement(laplace_exponent(epsilon, shift * inverse[k]));
}

RENYI_MULTIVERSION
void gaussian_complements(double epsilon, double shift, const double* inverse, int count, double* out) noexcept {
    for (int k = 0; k < count; ++k) {
        const double r = shift * inverse[k];
        const double q = epsilon / r;
        const double a = q - 0.5 * r, b = q + 0.5 * r;
        const double size = std::fabs(a);
        const double e = lane_exp(-0.5 * (a * a));
        const double near = 0.5 * e * lane_erfcx(size * kRootHalf);
        const double far = 0.5 * e * lane_erfcx(b * kRootHalf);
        const double value = a > 0.0 ? 1.0 - (near - far) : near + far;
        const double below = value * (1.0 - 0x1p-53 * (8.0 * b * (size + 1.0) + 40.0));
        const double kept = below > 0.0 ? below : 0.0;
        out[k] = a < 1.6 ? kept : 1.0;  // Q(1.6) < 1/16
    }
}

RENYI_MULTIVERSION
void starts_of(const double* complement, int count, double* out) noexcept {
    for (int k = 0; k < count; ++k) {
        const double value = (1.0 - complement[k]) * (1.0 + 0x1p-52);
        out[k] = value < 1.0 ? value : 1.0;
    }
}

// -log1p(-c), 2u, and the product.
RENYI_MULTIVERSION
void decays_of(const double* complement, int count, double* out) noexcept {
    for (int k = 0; k < count; ++k) {
        const double c = complement[k] < kHardest ? complement[k] : kHardest;
        out[k] = -lane_log1p(-c) * (1.0 - 0x1p-50);
    }
}

// The same for c <= 2^-6: c + c^2/2 + ... + c^8/8, whose rest is positive and below 2^-57 c; 4u.
RENYI_MULTIVERSION
void small_decays_of(const double* complement, int count, double* out) noexcept {
    for (int k = 0; k < count; ++k) {
        const double c = complement[k], c2 = c * c, c4 = c2 * c2;
        const double tail = (1.0 / 2 + c * (1.0 / 3)) + c2 * (1.0 / 4 + c * (1.0 / 5)) +
                            c4 * ((1.0 / 6 + c * (1.0 / 7)) + c2 * (1.0 / 8));
        out[k] = (c + c2 * tail) * (1.0 - 0x1p-50);
    }
}

void complements(const IterationSetting& setting, double shift, const double* inverse, int count,
                 double* out) noexcept {
    (setting.law == NoiseLaw::laplace ? laplace_complements : gaussian_complements)(setting.epsilon, shift, inverse,
                                                                                    count, out);
}

// By quarters: a single loop would wait for each comparison before the next.
RENYI_MULTIVERSION
double largest_of(const double* x, int count) noexcept {
    double lane[kStepBlock / 4];
    int size = count / 4;
    for (int k = 0; k < size; ++k) {
        const double a = x[k] > x[k + size] ? x[k] : x[k + size];
        const double b = x[k + 2 * size] > x[k + 3 * size] ? x[k + 2 * size] : x[k + 3 * size];
        lane[k] = a > b ? a : b;
    }
    double largest = 0.0;
    for (int k = 0; k < size; ++k) largest = lane[k] > largest ? lane[k] : largest;
    for (int k = 4 * size; k < count; ++k) largest = x[k] > largest ? x[k] : largest;
    return largest;
}

// No loop over the block where there is none.
template <class Answer>
void answer_hard(const double* complement, double largest, int count, Answer answer) noexcept {
    if (largest <= kHardest) return;
    for (int k = 0; k < count; ++k)
        if (complement[k] > kHardest) answer(k);
}

}  // namespace

RENYI_MULTIVERSION
void inverse_scales(const double* scales, int count, double* inverse) noexcept {
    for (int k = 0; k < count; ++k) inverse[k] = 1.0 / scales[k];
}

StepDivergence step_divergence(NoiseLaw law, double epsilon, double shift, double scale) noexcept {
    const bool laplace = law == NoiseLaw::laplace && shift > 0.0;
    return laplace ? laplace_step(epsilon, shift, scale) : gaussian_step(epsilon, shift, scale);
}

void step_starts(const IterationSetting& setting, const double* scales, const double* inverse, int count,
                 double* start) noexcept {
    double complement[kStepBlock];
    complements(setting, setting.record_shift, inverse, count, complement);
    starts_of(complement, count, start);
    answer_hard(complement, largest_of(complement, count), count, [&](int k) {
        start[k] = step_divergence(setting.law, setting.epsilon, setting.record_shift, scales[k]).upper;
    });
}

void step_decays(const IterationSetting& setting, const double* scales, const double* inverse, int count,
                 double* decay) noexcept {
    if (setting.state_shift == 0.0) {
        std::fill_n(decay, count, kInfinity);
        return;
    }
    double complement[kStepBlock];
    complements(setting, setting.state_shift, inverse, count, complement);
    const double largest = largest_of(complement, count);
    (largest <= kSmall ? small_decays_of : decays_of)(complement, count, decay);
    answer_hard(complement, largest, count, [&](int k) {
        decay[k] = step_divergence(setting.law, setting.epsilon, setting.state_shift, scales[k]).decay_lower;
    });
}

}  // namespace renyi
