#include "renyi/iteration/passes.hpp"

#include <algorithm>
#include <cmath>

#include "renyi/fp/certified.hpp"
#include "renyi/fp/double_double.hpp"
#include "renyi/fp/multiversion.hpp"
#include "renyi/special/elementary.hpp"
#include "renyi/special/elementary_dd.hpp"
#include "renyi/special/normal.hpp"

namespace renyi {

namespace {

constexpr double kFar = 1000.0;  // Q(1000) < e^-500000

double value_of(const Scaled& s) noexcept {
    return std::ldexp(s.mantissa.hi, static_cast<int>(std::clamp(s.exponent, -5000.0, 5000.0)));
}

Scaled one_minus(const Scaled& s) noexcept { return kScaledOne + Scaled{-s.mantissa, s.exponent}; }

StepDivergence assembled(const Scaled& theta, const Scaled& complement) noexcept {
    const double above = std::max(value_of(theta) * raised(6), kSmallestNormal);
    const double rest = value_of(complement) * lowered(6);
    const double below = rest < kSmallestNormal ? 0.0 : rest;
    if (below < 0.5) return {std::min(above, 1.0), below, -lane_log1p(-below) * lowered(6)};
    const DoubleDouble log = kLog2DD * theta.exponent + log_dd(theta.mantissa);
    return {std::min(above, 1.0), below, -log.hi * lowered(6) - 0x1p-50};
}

// Two normal laws of standard deviation s at distance d, r = d/s (Balle, Wang 2018, Theorem 8):
//     theta = Q(a) - e^eps Q(b) = phi(a) (R(a) - R(b)),   1 - theta = phi(a) (R(-a) + R(b)),
//     a = eps/r - r/2,  b = eps/r + r/2,  R = Q/phi,
// with an error of a few u however small theta or 1 - theta is.
//
// All steps are in double-double, as for the curve of the Gaussian mechanism: r has an error of 2^-100, so a and b have
// one of 2^-98 b, which moves log theta and log (1 - theta) by at most (|a| + 1) 2^-98 b, below 2^-60 wherever theta or
// 1 - theta is a normal number and eps <= 1e15; density and Mills ratios have an error of 2^-61. A factor of 1 +- 2^-50
// covers all of these and the rounding to double.
StepDivergence gaussian_step(double epsilon, double shift, double scale) noexcept {
    if (shift == 0.0 || epsilon == kInfinity) return {0.0, 1.0, kInfinity};
    const DoubleDouble r = DoubleDouble{shift, 0.0} / DoubleDouble{scale, 0.0};
    const double near = epsilon / r.hi - 0.5 * r.hi;
    // theta < Q(a) < e^{-a^2/2}; a^2 may overflow
    if (near > kFar) return {kSmallestNormal, lowered(6), std::min(0.5 * near * near * (1.0 - 0x1p-20), 1e300)};
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

// Two Laplace laws of scale s at distance d: theta = (1 - e^x)_+, x = (eps - d/s)/2.
//
// In a block r = d (1/s) has an error of 2u, and eps - r is rounded: the error of x is less than 2u (r + eps), by which
// x is moved down, so that e^x, which has an error of 4u, gives a lower bound of 1 - theta.

RENYI_INLINE double laplace_exponent(double epsilon, double r) noexcept {
    return 0.5 * (epsilon - r) - 0x1p-52 * (r + epsilon);
}

// A lower bound of 1 - theta, from the exponent x rounded down.
RENYI_INLINE double laplace_complement(double x) noexcept {
    const double value = lane_exp(x < 0.0 ? x : 0.0) * lowered(6);
    return x < 0.0 ? value : 1.0;
}

// Here r is computed to twice the precision, so that theta keeps its relative accuracy where eps is near r, and is 0
// where eps >= r: eps - r is exact where it cancels, and the low part of r has a relative error of u. The errors are 6u
// for expm1 and 2u for log; the error of the logarithm's argument counts once where theta < 1/2.
StepDivergence laplace_step(double epsilon, double shift, double scale) noexcept {
    if (epsilon == kInfinity) return {0.0, 1.0, kInfinity};
    const double r = shift / scale;
    const DoubleDouble back = two_prod(r, scale);
    const double low = ((shift - back.hi) - back.lo) / scale;
    const double centre = 0.5 * ((epsilon - r) - low);
    const double x = centre - (0x1p-50 * std::fabs(centre) + 0x1p-51 * std::fabs(low));
    if (!(x < 0.0)) return {0.0, 1.0, kInfinity};
    const double theta = std::clamp(-lane_expm1(x) * raised(14), kSmallestNormal, 1.0);
    const double complement = laplace_complement(x);
    const double decay = complement < 0.5 ? -lane_log1p(-complement) : -lane_log(theta);
    return {theta, complement, std::max(decay * lowered(30), 0.0)};
}

// theta of many steps at once, with the bounds of StepDivergence: lower bounds c of 1 - theta for a block, and from
// them 1 - c for A and -log1p(-c) for -log B, wherever c <= 15/16. The few steps with theta below 1/16 use
// step_divergence.
//
// Gaussian noise. With E = e^{-a^2/2} and X(x) = erfcx(x/sqrt 2) = sqrt(2/pi) R(x):
//     a <= 0:  1 - theta = E (X(-a) + X(b))/2,        a > 0:  theta = E (X(a) - X(b))/2.
// a and b have an absolute error of 5ub (r = shift (1/scale) has one of 2u and eps/r is rounded; each of r/2, eps/r and
// |a| is at most b). It moves log Q(-a) by at most (|a| + 1) 5ub, log R(b) by less, and a^2/2 in the exponent as
// much. With the exponential (3u + a^2 u), two erfcx (10u, and 2u b of X for its argument, since |X'| < 1.2 X) and the
// sums, the relative error of 1 - theta is at most (8 b (|a| + 1) + 40) u. For a > 0 this is an error of theta <= 1/2,
// and 1 - theta is larger.

constexpr int kStepBlock = 256;
constexpr double kHardest = 15.0 / 16.0;
constexpr double kSmall = 0x1p-6;

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
        const double below = value * (1.0 - kUnitRoundoff * (8.0 * b * (size + 1.0) + 40.0));
        const double kept = below > 0.0 ? below : 0.0;
        out[k] = a < 1.6 ? kept : 1.0;  // Q(1.6) < 1/16
    }
}

RENYI_MULTIVERSION
void starts_of(const double* complement, int count, double* out) noexcept {
    for (int k = 0; k < count; ++k) {
        const double value = (1.0 - complement[k]) * raised(0);
        out[k] = value < 1.0 ? value : 1.0;
    }
}

// -log1p(-c), with an error of 2u and that of the product, rounded down.
RENYI_MULTIVERSION
void decays_of(const double* complement, int count, double* out) noexcept {
    for (int k = 0; k < count; ++k) {
        const double c = complement[k] < kHardest ? complement[k] : kHardest;
        out[k] = -lane_log1p(-c) * lowered(6);
    }
}

// decays_of for c <= 2^-6: c + c^2/2 + ... + c^8/8 with an error of 4u; the rest is positive and below 2^-57 c.
RENYI_MULTIVERSION
void small_decays_of(const double* complement, int count, double* out) noexcept {
    for (int k = 0; k < count; ++k) {
        const double c = complement[k], c2 = c * c, c4 = c2 * c2;
        const double tail = (1.0 / 2 + c * (1.0 / 3)) + c2 * (1.0 / 4 + c * (1.0 / 5)) +
                            c4 * ((1.0 / 6 + c * (1.0 / 7)) + c2 * (1.0 / 8));
        out[k] = (c + c2 * tail) * lowered(6);
    }
}

void complements(const IterationSetting& setting, double shift, const double* inverse, int count,
                 double* out) noexcept {
    (setting.law == NoiseLaw::laplace ? laplace_complements : gaussian_complements)(setting.epsilon, shift, inverse,
                                                                                    count, out);
}

// The largest of `count` numbers, by quarters: in a single loop each comparison waits for the one before.
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

// Calls answer(k) for the steps with 1 - theta above kHardest.
template <class Answer>
void answer_hard(const double* complement, double largest, int count, Answer answer) noexcept {
    if (largest <= kHardest) return;
    for (int k = 0; k < count; ++k)
        if (complement[k] > kHardest) answer(k);
}

}  // namespace

StepDivergence step_divergence(NoiseLaw law, double epsilon, double shift, double scale) noexcept {
    const bool laplace = law == NoiseLaw::laplace && shift > 0.0;
    return laplace ? laplace_step(epsilon, shift, scale) : gaussian_step(epsilon, shift, scale);
}

namespace {

RENYI_MULTIVERSION
void inverse_scales(const double* scales, int count, double* inverse) noexcept {
    for (int k = 0; k < count; ++k) inverse[k] = 1.0 / scales[k];
}

// start[k] >= A and decay[k] <= -log B of steps with these scales and their inverses, k < count <= kStepBlock.
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

constexpr double kLargestExponent = 600.0;     // beyond it C2 <= 1e100 is below e^-369 of the power of j
constexpr int kAligned = 256;                  // steps of one polynomial
constexpr double kFirstInterpolated = 0x1p15;  // times a: the first step that is interpolated

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

void scales_at(const NoiseSchedule& s, const double* j, int count, double* scales) noexcept;

// The polynomial through the scales at eight Chebyshev nodes of the steps before + 1 ... before + 256, in Newton's form
// in x from -1 to 1. A scale is an analytic function of j with singularities on rays from 0, at angles of pi/(2a) or
// more to the real axis (where j^{2a}/(2 pi C1^2) + C2 = -1/e or 0, j^a/C1 + C2 = 1 or 0), so no nearer than j/a. From
// kFirstInterpolated a on this is 2^8 times half the length, and the error of degree 7 is below 2^-60 of the scale.
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

// The scales of the steps j[0], j[1], ...; not for given scales.
void scales_at(const NoiseSchedule& s, const double* j, int count, double* scales) noexcept {
    const double log_c1 = lane_log(s.c1);
    if (s.power == 0.0)
        std::fill_n(scales, count, s.amplitude);
    else if (s.law == NoiseLaw::laplace)
        laplace_scales(s.amplitude, s.power, log_c1, s.c2, j, count, scales);
    else
        gaussian_scales(s.amplitude, s.power, kLog2Pi + 2.0 * log_c1, s.c2, j, count, scales);
}

}  // namespace

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

namespace {

constexpr int kSegment = 16, kSegments = kStepBlock / kSegment;
constexpr double kSumKept = lowered(30);                   // lowers a sum by its error of 20u and 4u of later steps
constexpr std::int64_t kSearched = std::int64_t{1} << 18;  // steps searched one by one; affects width and time alone
constexpr double kProven = 0x1p-20;                        // exceeds the rounding errors of the slopes below, 1e-12

// A compensated sum of non-negative numbers, some of which may be inf.
struct Total {
    DoubleDouble sum{0.0, 0.0};

    void add(double x) noexcept {
        const DoubleDouble s = two_sum(sum.hi, x);
        sum = std::isinf(s.hi) ? DoubleDouble{s.hi, 0.0} : DoubleDouble{s.hi, sum.lo + s.lo};
    }
    double value() const noexcept { return sum.hi + sum.lo; }
};

void add_all(Total& total, const double* decay, int count) noexcept {
    for (int k = 0; k < count; k += kSegment) {
        double local = 0.0;
        for (int m = k; m < std::min(k + kSegment, count); ++m) local += decay[m];
        total.add(local);
    }
}

// An upper bound of A e^{-S}. e^{-S} is computed as a square, so that lane_exp reaches the smallest numbers, with an
// error of 7u and that of S.
RENYI_INLINE double delta_of(double start, double sum) noexcept {
    const double root = lane_exp(-0.5 * kSumKept * sum);
    const double value = start * (root * root) * raised(14);
    const double capped = value < 1.0 ? value : 1.0;
    const double raised = capped > kSmallestNormal ? capped : kSmallestNormal;
    return (start == 0.0) | (sum == kInfinity) ? 0.0 : raised;
}

// sum[k]: the sum after k within its segment of 16, for 16 independent segments; local: the sum of each segment.
RENYI_MULTIVERSION
void segment_sums(const double* decay, double* sum, double* local) noexcept {
    for (int s = 0; s < kSegments; ++s) local[s] = 0.0;
    for (int k = kSegment - 1; k >= 0; --k)
        for (int s = 0; s < kSegments; ++s) {
            sum[s * kSegment + k] = local[s];
            local[s] += decay[s * kSegment + k];
        }
}

// Computes deltas; sum[k] is the sum after k within the segment, base the sum after the segment.
RENYI_MULTIVERSION
void deltas_of(const double* start, const double* sum, const double* base, int count, double* out) noexcept {
    for (int k = 0; k < count; ++k) out[k] = delta_of(start[k], base[k / kSegment] + sum[k]);
}

// deltas_of where e^{-base} is a normal number and sum <= 2^-6: e^{-sum} by its series with an error of 4u; the next
// term is below 2^-63.
RENYI_MULTIVERSION
void near_deltas_of(const double* start, const double* sum, const double* base, double* out) noexcept {
    double factor[kSegments];
    for (int s = 0; s < kSegments; ++s) factor[s] = lane_exp(-kSumKept * base[s]) * raised(30);
    for (int s = 0; s < kSegments; ++s)
        for (int k = s * kSegment; k < (s + 1) * kSegment; ++k) {
            const double x = -kSumKept * sum[k], x2 = x * x;
            const double tail =
                (1.0 / 2 + x * (1.0 / 6)) + x2 * ((1.0 / 24 + x * (1.0 / 120)) + x2 * (1.0 / 720 + x * (1.0 / 5040)));
            const double value = start[k] * factor[s] * (1.0 + (x + x2 * tail));
            const double capped = value < 1.0 ? value : 1.0;
            const double raised = capped > kSmallestNormal ? capped : kSmallestNormal;
            out[k] = start[k] == 0.0 ? 0.0 : raised;
        }
}

// Computes the deltas of the steps of a block, and moves the sum `after` to the front of the block.
void block_deltas(const IterationSetting& setting, const NoiseSchedule& schedule, std::int64_t first, int count,
                  Total& after, double* out) noexcept {
    double scales[kStepBlock], start[kStepBlock], decay[kStepBlock], sum[kStepBlock];
    double inverse[kStepBlock], local[kSegments], base[kSegments];
    step_scales(schedule, static_cast<double>(first), count, scales);
    inverse_scales(scales, count, inverse);
    step_starts(setting, scales, inverse, count, start);
    step_decays(setting, scales, inverse, count, decay);
    std::fill(decay + count, decay + kStepBlock, 0.0);
    segment_sums(decay, sum, local);
    for (int s = kSegments - 1; s >= 0; --s) {
        base[s] = after.value();
        after.add(local[s]);
    }
    const bool near = count == kStepBlock && base[0] < 600.0 && *std::max_element(local, local + kSegments) < 0x1p-6;
    near ? near_deltas_of(start, sum, base, out) : deltas_of(start, sum, base, count, out);
}

// Adds the decays of first <= t <= last, in blocks aligned with those of the scales.
void add_steps(const IterationSetting& setting, const NoiseSchedule& schedule, std::int64_t first, std::int64_t last,
               Total& total) noexcept {
    double scales[kStepBlock], inverse[kStepBlock], decay[kStepBlock];
    for (std::int64_t t = first; t <= last && total.sum.hi < kInfinity;) {
        const int count = static_cast<int>(std::min(kStepBlock - (t - 1) % kStepBlock, last - t + 1));
        step_scales(schedule, static_cast<double>(t), count, scales);
        inverse_scales(scales, count, inverse);
        step_decays(setting, scales, inverse, count, decay);
        add_all(total, decay, count);
        t += count;
    }
}

double start_of(const IterationSetting& setting, const NoiseSchedule& schedule, std::int64_t i) noexcept {
    double scale;
    step_scales(schedule, static_cast<double>(i), 1, &scale);
    return step_divergence(setting.law, setting.epsilon, setting.record_shift, scale).upper;
}

// Whether -log B_t is convex in t from j on. It is -log(1 - u), convex and rising in
// u = 1 - B, so it is enough that -du/dt falls. With y = j^a/C1 + C2, or j^{2a}/(2 pi C1^2) + C2 = w e^w for Gaussian
// noise, rho = (y - C2)/y and k = state shift/(2 amplitude), u is e^{eps/2} y^{-k}, or has du/dr = -phi(eps/r - r/2)
// at r = 2k sqrt(w), and the derivative of log(-du/dt) by log t is
//     Laplace:   a - 1 - (k + 1) a rho
//     Gaussian:  2a - 1 - (k^2 + 2) a rho + 2a rho (eps^2/(8 k^2 w (1 + w)) + (k^2 - 1)/(2 (1 + w)) + 1/(1 + w)^2).
// rho and w rise, so these expressions without the negative terms in w and the last rho fall: once below 0, they stay
// below 0.
bool is_convex_from(const IterationSetting& setting, const NoiseSchedule& s, double j) noexcept {
    const double k = 0.5 * setting.state_shift / s.amplitude;
    const double power = s.law == NoiseLaw::laplace ? s.power : 2.0 * s.power;
    const double log_c1 = s.law == NoiseLaw::laplace ? std::log(s.c1) : kLog2Pi + 2.0 * std::log(s.c1);
    const double log_grown = power * std::log(j) - log_c1;  // log(y - C2)
    const double rho = 1.0 / (1.0 + s.c2 * std::exp(-log_grown));
    if (s.law == NoiseLaw::laplace) return s.power - 1.0 - (k + 1.0) * s.power * rho < -kProven * (k + 1.0) * s.power;
    const double log_y = log_grown - std::log(rho);
    const double w = lane_lambert_w(log_y, log_y < 1.0 ? std::exp(log_y) : 1.0);
    const double bending = setting.epsilon / k * (setting.epsilon / k) / (8.0 * w * (1.0 + w)) +
                           std::max(k * k - 1.0, 0.0) / (2.0 * (1.0 + w)) + 1.0 / ((1.0 + w) * (1.0 + w));
    const double slope = 2.0 * s.power - 1.0 - (k * k + 2.0) * s.power * rho + 2.0 * s.power * bending;
    return slope < -kProven * (k * k + 2.0) * s.power;
}

// Adds the sum over t > last, by blocks p < t <= q: each is at least q - p times its last term, or, where the terms are
// convex in t, times the term at the mean (p + q + 1)/2 of their t (Jensen); the term taken is half a step later. An
// error of 2^-44 of the scales moves a term by less than 2^-30 of itself while 1 - B is a normal number: r^2/2 + r <
// 2^12.
void add_tail(const IterationSetting& setting, const NoiseSchedule& schedule, double last, Total& total) noexcept {
    constexpr double kGrowth = 0x1p-13, kFarthest = 1e300, kNegligible = 0x1p-60;
    double at[kStepBlock], widths[kStepBlock], scales[kStepBlock], inverse[kStepBlock], decay[kStepBlock];
    bool convex = false;
    while (last < kFarthest) {
        convex = convex || is_convex_from(setting, schedule, last);
        const double growth = convex ? kGrowth : 0.25 * kGrowth;
        for (int k = 0; k < kStepBlock; ++k) {
            const double end = last + std::max(std::floor(last * growth), 1.0);
            widths[k] = end - last;
            at[k] = convex ? std::min(0.5 * (last + end) + 1.0, end) : end;
            last = end;
        }
        scales_at(schedule, at, kStepBlock, scales);
        inverse_scales(scales, kStepBlock, inverse);
        step_decays(setting, scales, inverse, kStepBlock, decay);
        double sum = 0.0;
        for (int k = 0; k < kStepBlock; ++k) sum += widths[k] * decay[k];
        total.add(sum * (1.0 - 0x1p-29));
        if (!(decay[kStepBlock - 1] * last > kNegligible * total.sum.hi) || total.sum.hi > 1e3) return;
    }
}

// An upper bound of A_i for all i <= n, for scales that do not rise except by their errors of 2^-44.
double largest_start(const IterationSetting& setting, const NoiseSchedule& schedule, std::int64_t n) noexcept {
    if (schedule.scales != nullptr) return 1.0;
    double scale;
    step_scales(schedule, static_cast<double>(n), 1, &scale);
    const double smallest = schedule.power == 0.0 ? scale : scale * (1.0 - 0x1p-42);
    return step_divergence(setting.law, setting.epsilon, setting.record_shift, smallest).upper;
}

}  // namespace

void online_deltas(const IterationSetting& setting, const NoiseSchedule& schedule, std::int64_t n, double* out) {
    Total after;
    for (std::int64_t end = n; end > 0;) {
        const std::int64_t first = (end - 1) / kStepBlock * kStepBlock;
        if (std::isinf(after.sum.hi)) {
            std::fill_n(out, end, 0.0);
            return;
        }
        block_deltas(setting, schedule, first + 1, static_cast<int>(end - first), after, out + first);
        end = first;
    }
}

WorstStep online_worst(const IterationSetting& setting, const NoiseSchedule& schedule, std::int64_t n) {
    Total after;
    WorstStep worst{0.0, n};
    double deltas[kStepBlock];
    const double start = largest_start(setting, schedule, n);
    for (std::int64_t end = n; end > 0;) {
        const double earlier = delta_of(start, after.value());
        if (earlier <= worst.delta) break;
        if (schedule.scales == nullptr && n - end >= kSearched) return {earlier, n};
        const std::int64_t first = (end - 1) / kStepBlock * kStepBlock;
        const int count = static_cast<int>(end - first);
        block_deltas(setting, schedule, first + 1, count, after, deltas);
        for (int k = count - 1; k >= 0; --k)
            if (deltas[k] > worst.delta) worst = {deltas[k], first + 1 + k};
        end = first;
    }
    return worst;
}

void online_delta(const IterationSetting& setting, const NoiseSchedule& schedule, std::int64_t i, const std::int64_t* n,
                  std::int64_t count, double* out) {
    const double start = start_of(setting, schedule, i);
    Total total;
    std::int64_t last = i;
    for (std::int64_t k = 0; k < count; ++k) {
        if (start > 0.0) add_steps(setting, schedule, last + 1, n[k], total);
        last = n[k];
        out[k] = delta_of(start, total.value());
    }
}

double online_limit(const IterationSetting& setting, const NoiseSchedule& schedule, std::int64_t i) {
    const double start = start_of(setting, schedule, i);
    if (start == 0.0) return 0.0;
    constexpr std::int64_t kSingly = std::int64_t{1} << 21;
    Total total;
    add_steps(setting, schedule, i + 1, i + kSingly, total);
    if (total.sum.hi < 1e3) add_tail(setting, schedule, static_cast<double>(i + kSingly), total);
    return delta_of(start, total.value());
}

namespace {

// The mean of B^k, k < n. It falls as c = 1 - B grows, so a lower bound of c gives an upper bound. It is
// (1 - e^{-nt})/(n c) with t = -log1p(-c), which has an error of 2u; 1 - e^{-nt} (6u) does not enlarge the error of nt,
// and two products and a quotient follow.
double mean_power(double c, double n) noexcept {
    if (c == 0.0) return 1.0;
    const double t = c < 1.0 ? -lane_log1p(-c) : 0.0;
    const double numerator = c < 1.0 ? -lane_expm1(-n * t) : 1.0;
    return std::min(numerator / (n * c) * raised(30), 1.0);
}

}  // namespace

double shuffled_delta(const IterationSetting& setting, double scale, double n) noexcept {
    const StepDivergence record = step_divergence(setting.law, setting.epsilon, setting.record_shift, scale);
    const StepDivergence state = step_divergence(setting.law, setting.epsilon, setting.state_shift, scale);
    if (record.upper == 0.0) return 0.0;
    const double delta = record.upper * mean_power(state.complement_lower, n) * raised(0);
    return std::clamp(delta, kSmallestNormal, record.upper);
}

}  // namespace renyi
