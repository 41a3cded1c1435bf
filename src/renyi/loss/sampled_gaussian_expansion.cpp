// Rounding, in units of u = 2^-53; 1/sigma and c^2/2 are double-doubles.
//   left   b_2 has an error of 30u: (1-q)^alpha = e^{-alpha q} e^{alpha tail} has one of 26u, since log1p(-q) =
//          -q + tail, tail has an error of 5u, -alpha q is exact in two doubles and alpha |tail| <= 2.72 for alpha <=
//          72, q <= 1/4. A step from b_k to b_{k+1} adds 4u; the effect of the rounding of odds, k times, is corrected.
//          expm1 has an error of 9u: k(k-1) times the upper 40 bits of c^2/2 is exact. T_k has one of (36 + 4k) u; a
//          sum of terms up to k adds k u of the sum of their sizes, which is below 1.15 S: negative terms must be below
//          2^-10 S each.
//   right  Relative to the first term: y_k = e^{-(alpha-k-1)c^2/2} from e^{-a}, a = (alpha-1)c^2/2, has an error of
//          (2a + 3 + k (4.5 + c^2/2)) u; a step from t_k to t_{k+1}, which takes y_k^2, adds twice that and 8u: t_k has
//          an error of (k (14 + 4a) + k^2 (4.5 + c^2/2)) u. The first term's logarithm is formed in double-double, with
//          an absolute error of 0.6 alpha u of alpha log q: |tail| of reduce_log is below 0.07.
//
// Truncation, left: after T_k, with K the first whole number >= alpha beyond k, k+m <= K,
//     |T_{k+m}/T_k| <= (odds |alpha-k|/(k+1) e^{(k + max(alpha,k)) c^2/2 + 2/(k-1)})^m,
//   since |alpha-j|/(j+1) falls for j < alpha, k(k-1) is convex, expm1(a)/expm1(b) <= a/b e^{a-b} for a >= b > 0, and
//   (k+m)(k+m-1)/(k(k-1)) <= e^{2m/(k-1)}. From k+1 >= alpha on the remainder is T_{k+1} alone.
// The truncation is added to the error: at most 2^-55 of the sum unless terms rise again before they are negligible.
// Truncation, right: t_{k+m}/t_k <= ((alpha-k)/(k+1)/odds y_k)^m, again by convexity, for k+m < alpha.
#include "renyi/loss/sampled_gaussian_expansion.hpp"

#include <bit>
#include <cmath>
#include <cstdint>

#include "renyi/fp/double_double.hpp"
#include "renyi/loss/sampled_gaussian_kernels.hpp"
#include "renyi/special/elementary.hpp"

namespace renyi {

namespace {

using Mask = std::uint64_t;  // all ones or none

constexpr double kMostTerms = 72.0;                              // k (k-1) < 2^13
constexpr double kNegligible = 0x1p-56, kMostLeftOut = 0x1p-49;  // truncation, relative to the sum
constexpr double kLargestExponent = 700.0;
constexpr double kLogDominance = 36.0;  // e^-36 < 2.1u
constexpr double kFall = 20.0;          // nats that T_k must fall below T_2 for a try; affects time alone

RENYI_INLINE Mask mask_of(bool condition) noexcept { return Mask{0} - static_cast<Mask>(condition); }
RENYI_INLINE double masked(Mask mask, double a) noexcept {
    return std::bit_cast<double>(std::bit_cast<Mask>(a) & mask);
}
RENYI_INLINE double magnitude(double a) noexcept { return masked(~Mask{0} >> 1, a); }

struct Route {
    Expansion expansion;
    int terms;
};

// The left expansion always converges if alpha is whole; else T_k must become negligible before odds e^{k c^2} = 1,
// from where on it rises again.
RENYI_INLINE Route route(double q, double sigma, double alpha) noexcept {
    const double h = 0.5 / (sigma * sigma);
    const double log_q = lane_log(q);
    const double pairs = alpha * (alpha - 1.0) * h;
    const bool known = q >= 1e-12 && q <= 0.25 && sigma >= 0.01 && sigma <= 1e6 && alpha > 1.0 && alpha <= kMostTerms;
    const double t = std::ceil(alpha) - alpha;
    const bool right = alpha * log_q + pairs >= kLogDominance - t * log_q + t * (t + 1.0) * h;
    const double turn = -0.5 * log_q / h;
    const double least = turn > alpha ? turn : alpha;
    const double fall = least * (log_q + least * h);
    const bool left =
        pairs <= kLargestExponent && (alpha + 4.0) * h <= 600.0 && (t == 0.0 || fall <= 2.0 * log_q - kFall);
    // Terms whose bounds fall by half or more are added for 40 nats, others to the end.
    const double steepness = right ? (alpha - 1.0) * h + log_q - 3.0 : -log_q - (alpha + 8.0) * h - 1.3;
    const double terms = steepness > 0.7 ? 40.0 / (steepness + (right ? (alpha - 1.0) * h : 0.0)) : alpha;
    return {!known  ? Expansion::none
            : right ? Expansion::right
            : left  ? Expansion::left
                    : Expansion::none,
            known ? static_cast<int>(terms < kMostTerms ? terms : kMostTerms) : 0};
}

template <int N>
RENYI_INLINE void sum_left(const double* q, const double* sigma, const double* alpha, Certified* out) noexcept {
    double half_hi[N], half_lo[N], odds[N], odds_error[N], b[N], reach[N], root[N], excess[N], sum[N], error[N];
    Mask alive[N];
    for (int i = 0; i < N; ++i) {
        const DoubleDouble half = inverse_of(sigma[i]).half_square;
        const double shifted = half.hi * 8193.0;
        half_hi[i] = shifted - (shifted - half.hi);
        half_lo[i] = (half.hi - half_hi[i]) + half.lo;
        const DoubleDouble rest = two_sum(1.0, -q[i]);
        odds[i] = q[i] / rest.hi;
        const DoubleDouble product = two_prod(odds[i], rest.hi);
        odds_error[i] = (((q[i] - product.hi) - product.lo) - odds[i] * rest.lo) / q[i];
        const DoubleDouble exponent = two_prod(alpha[i], -q[i]);
        const LogReduction log = reduce_log(rest.hi, -q[i]);
        const double power = lane_exp(exponent.hi) * lane_exp(exponent.lo + alpha[i] * log.tail);
        b[i] = (0.5 * alpha[i] * (alpha[i] - 1.0)) * (odds[i] * odds[i]) * power;
        reach[i] = lane_exp((2.0 + (alpha[i] > 2.0 ? alpha[i] : 2.0)) * half.hi);
        root[i] = lane_exp(half.hi);
        sum[i] = error[i] = 0.0;
        alive[i] = ~Mask{0};
    }
    Mask any = 1;
    for (double k = 2.0; any != 0 && k <= kMostTerms; ++k) {
        const double x = 2.0 / (k - 1.0), margin = 1.01 * (k > 2.0 ? 1.0 + x + x * x : 7.4);  // >= e^x
        const double pairs = k * (k - 1.0), next = k + 1.0, weight = 36.0 + 4.0 * k;
        any = 0;
        for (int i = 0; i < N; ++i) {
            const double e_hi = pairs * half_hi[i];
            const ExpReduction e = reduce_exp(e_hi < kLargestExponent ? e_hi : kLargestExponent);
            excess[i] = expm1_of(e) + exp_of(e) * (pairs * half_lo[i]);
        }
        for (int i = 0; i < N; ++i) {
            const double e_hi = pairs * half_hi[i];
            const double plain = b[i] * excess[i];
            const double term = plain + plain * (k * odds_error[i]);
            const double size = magnitude(term);
            sum[i] += term;
            error[i] += weight * size;
            const double step = odds[i] * (alpha[i] - k) / next;
            const double growth = magnitude(step) * reach[i];
            const double rest = size * (growth * margin);
            const bool last = next >= alpha[i];
            const bool turns = k >= alpha[i] && growth >= 1.0;
            const Mask negligible = mask_of(rest <= kNegligible * sum[i]);
            const Mask enough = (negligible & (mask_of(last) | mask_of(growth * margin <= 0.5))) |
                                (mask_of(rest <= kMostLeftOut * sum[i]) & mask_of(turns));
            const Mask lost = mask_of(e_hi > kLargestExponent) | mask_of(!(magnitude(b[i]) > 1e-290)) |
                              mask_of(term < sum[i] * -0x1p-10) | (mask_of(turns) & ~enough);
            error[i] += masked(alive[i] & enough, rest * 0x1p54 + 1.15 * k * sum[i]);
            error[i] += masked(alive[i] & lost, kInfinity);
            alive[i] &= ~(enough | lost);
            any |= alive[i];
            b[i] = masked(alive[i], b[i] * step);  // nothing is added to a sum that has ended
            reach[i] *= root[i] * select(last, root[i], 1.0);
        }
    }
    for (int i = 0; i < N; ++i) {
        const double s = sum[i];
        const double value = lane_log1p(s);
        const double relative = kUnitRoundoff * (error[i] / s);
        const double e = relative * (s / ((1.0 + s) * value)) + 4.0 * kUnitRoundoff;
        const bool good = alive[i] == 0 && e < 0x1p-20;
        out[i] = {select(good, value, kNaN), select(good, e, 0.0)};
    }
}

template <int N>
RENYI_INLINE void sum_right(const double* q, const double* sigma, const double* alpha, Certified* out) noexcept {
    double head_hi[N], head_lo[N], inverse_odds[N], linear[N], square[N], t[N], y[N], root[N];
    double sum[N], error[N], count[N];
    Mask alive[N];
    for (int i = 0; i < N; ++i) {
        const DoubleDouble half = inverse_of(sigma[i]).half_square;
        const LogReduction log = reduce_log(q[i], q[i] - 1.0);
        const DoubleDouble log_q = two_sum(log.k * kLog2Hi, log.f);
        const DoubleDouble head = two_prod(alpha[i], alpha[i] - 1.0) * half +
                                  DoubleDouble{log_q.hi, log_q.lo + (log.tail + log.k * kLog2Lo)} * alpha[i];
        head_hi[i] = head.hi;
        head_lo[i] = head.lo;
        inverse_odds[i] = (1.0 - q[i]) / q[i];
        const double first = (alpha[i] - 1.0) * half.hi;
        linear[i] = 14.0 + 4.0 * first;
        square[i] = 4.5 + half.hi;
        y[i] = lane_exp(-first);
        root[i] = lane_exp(half.hi);
        t[i] = 1.0;
        sum[i] = error[i] = count[i] = 0.0;
        alive[i] = ~Mask{0};
    }
    Mask any = 1;
    for (double k = 0.0; any != 0 && k <= kMostTerms; ++k) {
        const double next = k + 1.0;
        any = 0;
        for (int i = 0; i < N; ++i) {
            sum[i] += masked(alive[i], t[i]);
            error[i] += masked(alive[i], k * t[i] * (linear[i] + k * square[i]));
            count[i] += masked(alive[i], 1.0);
            const double factor = (alpha[i] - k) * inverse_odds[i] / next;
            const double growth = 1.01 * (factor * y[i]);
            const Mask enough = mask_of(growth <= 0.5) & mask_of(t[i] * growth <= kNegligible * sum[i]);
            alive[i] &= ~(enough | mask_of(next >= alpha[i]));
            any |= alive[i];
            t[i] *= factor * (y[i] * y[i]);
            y[i] *= root[i];
        }
    }
    for (int i = 0; i < N; ++i) {
        const double log_sum = lane_log(sum[i]);
        const double value = head_hi[i] + (head_lo[i] + log_sum);
        const double absolute = 0.6 * alpha[i] + 3.0 * magnitude(log_sum) + error[i] / sum[i] + count[i] + 5.0;
        out[i] = {value, kUnitRoundoff * (absolute / value + 3.0)};
    }
}

}  // namespace

Expansion expansion_of(double q, double sigma, double alpha) noexcept { return route(q, sigma, alpha).expansion; }

RENYI_MULTIVERSION
void expansions_of(const double* q, const double* sigma, const double* alpha, Expansion* out, int* terms) noexcept {
    for (int i = 0; i < kLanes; ++i) {
        const Route r = route(q[i], sigma[i], alpha[i]);
        out[i] = r.expansion;
        terms[i] = r.terms;
    }
}

Certified log_a_expanded(Expansion expansion, double q, double sigma, double alpha) noexcept {
    Certified out;
    if (expansion == Expansion::left) {
        sum_left<1>(&q, &sigma, &alpha, &out);
    } else {
        sum_right<1>(&q, &sigma, &alpha, &out);
    }
    return out;
}

RENYI_MULTIVERSION
void log_a_expanded(Expansion expansion, const double* q, const double* sigma, const double* alpha,
                    Certified* out) noexcept {
    if (expansion == Expansion::left) {
        sum_left<kLanes>(q, sigma, alpha, out);
    } else {
        sum_right<kLanes>(q, sigma, alpha, out);
    }
}

}  // namespace renyi
