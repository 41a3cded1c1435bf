// log A by the trapezoidal rule on the convex form
//     A - 1 = E_mu0[ (1+x)^alpha - 1 - alpha x ],   x = mu/mu0 - 1,
// whose integrand is >= 0 (Bernoulli) and is computed as a sum of non-negative parts: nothing cancels, and the relative
// error of the sum S = A - 1 is at most the largest relative error of a term. The error is the sum of
//   aliasing    2^-54 for alpha >= 1, what step_add proves for alpha < 0   (the header)
//   rounding    of the terms and of the summation                          (below)
//   truncation  of the nodes left out                                      (below)
// log A = log1p(S) keeps the error: |d log log1p(S) / d log S| = S / ((1+S) log1p(S)) <= 1.
#include "renyi/loss/sampled_gaussian_quadrature.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "renyi/fp/search.hpp"
#include "renyi/special/elementary.hpp"
#include "renyi/special/elementary_dd.hpp"

namespace renyi {

double log_excess_remove(const SampledGaussianLaw& law, double alpha) noexcept {
    const double beta = std::max(alpha - 1.0, kSmallestBeta);
    const double gaussian = 0.5 * alpha * beta * law.c * law.c;
    const double log_a = std::max(gaussian * law.q * law.q, alpha * law.log_q + gaussian);
    return log_a > 1.0 ? log_a - 0.46 : lane_log(log_a);  // log expm1(t) >= t - 0.46 for t >= 1, and >= log t
}

double step_remove(const SampledGaussianLaw& law, double alpha, double log_excess, Summand summand,
                   double nats) noexcept {
    constexpr int kStepBits = 6;  // few, so that neighbouring orders share a grid; affects time alone
    constexpr double kLogFour = 2.0 * std::numbers::ln2, kLogLargestStrip = 4.0;  // a < 54 < e^4: target < 1460
    // log(2 (1 + linear part / S)) <= log 2 + max(log 2, log 2 + log(2 + 2 alpha q) - log S), where 2 + 2 alpha q is
    // rounded up to a power of two.
    const double linear = (std::ilogb(2.0 + 2.0 * alpha * law.q) + 1) * kLog2 - log_excess;
    const double logarithm = summand == Summand::derivatives ? 4.0 : 0.0;
    const double target = nats + 0.01 + 2.0 * kLog2 + std::max(linear, 0.0) + logarithm;
    const double wide = std::sqrt(2.0 * target);
    const double inside = std::numbers::pi * law.sigma;
    const bool entire = summand == Summand::excess && alpha == std::floor(alpha);
    if (inside >= wide || entire) return round_step(2.0 * std::numbers::pi / wide, kStepBits);
    const double u0 = law.split();
    const double cut = nats + 0.01 + logarithm - log_excess + (kLogFour + kLogLargestStrip) +
                       0.5 * (inside * inside - u0 * u0) + alpha * (kLog2 + law.log_rest);
    const double beyond_cut = cut > 0.0 ? 2.0 * std::numbers::pi * inside / cut : kInfinity;
    const double within_cut = 2.0 * std::numbers::pi * inside / (target + 0.5 * inside * inside);
    return round_step(std::min(2.0 * std::numbers::pi / wide, std::max(beyond_cut, within_cut)), kStepBits);
}

double far_mode(const SampledGaussianLaw& law, double alpha, double start) noexcept {
    const double c = law.c;
    double u = start;
    double below = alpha * c, above = 0.0;  // for alpha < 0 the slope falls through 0 between them
    for (int i = 0; i < 100; ++i) {
        const double p = law.posterior(u);
        const double residual = alpha * p * c - u;
        const double curvature = 1.0 - alpha * p * (1.0 - p) * c * c;
        double step = residual / (curvature > 0.1 ? curvature : 1.0);
        if (alpha < 0.0) {
            (residual > 0.0 ? below : above) = u;
            const bool halve = i % 3 == 2 && above - below > 1.0;  // Newton may alternate across the sigmoid
            if (halve || !(u + step > below && u + step < above)) step = 0.5 * (below + above) - u;
        }
        u += step;
        if (std::fabs(step) <= 0.1 / std::sqrt(1.0 + std::fabs(1.0 - curvature))) break;
    }
    return u;
}

namespace {

struct AddStep {
    double h;
    double log_aliasing;  // log of the proven absolute aliasing error
};

// The trapezoidal sum of the integrand of A - 1 near the origin, |u| <= 37, added block by block until the rest is
// negligible.
struct BulkSums {
    double value = 0, slope = 0, first = 0, second = 0;  // as NodeSums, with g; still to be multiplied by h/sqrt(2 pi)
    double rounding = 0;                                 // sum of the terms times their relative rounding error
    double truncation = 0;                               // relative error of the nodes left out
    bool overflow = false;                               // an exponent left the range of double: the value is not valid
};

struct BulkRequest {
    const SampledGaussianLaw& law;
    const Grid& grid;
    double alpha;
    double s;  // alpha - 1 for alpha >= 1, not always the rounded difference (kullback_leibler); alpha for alpha < 0
    double log_excess;  // log of a lower bound on A - 1, or of the part of A - 1 that is summed already
    bool derivatives;
    double center;  // shift of the derivative sums
    NodeTable* table = nullptr;
};

// The end of the sum on the right for alpha >= 1.
struct BulkEnd {
    double index;         // nodes j < index only (inf: no far part follows)
    double single_after;  // beyond this u the tail bound, once falling, has no further peak that matters
    double falls_after;   // beyond this u the integrand of A falls, or rises again only to negligible values at index
};

// The step for alpha < 0 around the mode u1; log_excess is an estimate of log(A - 1) and log_a of log A. The caller
// must compare log_aliasing with the result.
AddStep step_add(const SampledGaussianLaw& law, double z, double mode, double log_excess, double log_a) noexcept {
    const double q = law.q, c = law.c;
    const double odds = lane_exp(law.logit(mode));
    const double p = odds / (1.0 + odds);
    const double pq = p / (1.0 + odds);
    const double kappa = z * pq * c * c;
    const double linear = lane_log(1.0 + 2.0 * z * q);
    const double target = kAliasingTarget + 1.5 + std::max(std::max(log_a, linear) - log_excess, 0.0);
    const double a = std::min(std::sqrt(2.0 * target / (1.0 + kappa)), 1.57 / c);
    const double theta = a * c;
    const double sine = std::sin(0.5 * theta);
    const double shrink = 1.0 - 4.0 * pq * sine * sine;  // |1 - p + p e^{i theta}|^2
    const double growth = 0.5 * a * a - 0.5 * z * lane_log(shrink);
    // D'(u1) = -u1 - z c Re(p e^{i theta} / (1 - p + p e^{i theta}))
    const double slope = -mode - z * c * (p - 2.0 * pq * sine * sine) / shrink;
    const double at_mode = -0.5 * mode * mode - z * (law.log_rest + lane_log1p(odds));
    const double log_m = std::max(at_mode + growth + 0.5 * slope * slope, 0.5 * a * a + linear);
    const double h =
        round_step(2.0 * std::numbers::pi * a / (target + 0.7 + std::max(log_m - std::max(log_a, linear), 0.0)));
    return {h, 1.4 + log_m - 2.0 * std::numbers::pi * a / h};
}

// The sum near the origin. Rounding: (62 + 12 max(s l, 0)) u per term (sampled_gaussian_kernels.cpp) and one u per
// block for the summation.
//
// Truncation, with F = (1+x)^alpha - 1 - alpha x:
//   alpha > 1, left:   F(-q) <= beta q^2 max(1, alpha/2), for F/x^2 is monotone and F(-1) = beta: a Gaussian tail from
//                      the start node.
//   alpha > 1, right:  F <= alpha beta/2 x^2 (1+x)^(alpha-2)+ and n x^2 <= q^2 e^(c^2) n(u - 2c). The logarithm of this
//                      bound has slope 2c - u + (alpha-2)+ p c, a sigmoid minus a line: once negative it stays negative
//                      up to the valley before a far peak. F <= (1+x)^alpha for x >= 0, whose slope alpha p c - u is
//                      negative beyond its highest mode and below -1 beyond alpha c + 1.
//   alpha < 0, x <= 0: F <= (1+x)^alpha, log-concave, and F <= F(-q).
//   alpha < 0, x > 0:  F <= z x and F <= z (z+1)/2 x^2; n x <= q n(u - c).

constexpr int kChunk = 8;            // blocks on the stack at a time; affects time alone
constexpr double kLastNode = 36.0;   // last u: n(u) < 2^-900 beyond
constexpr double kBumpApart = 24.0;  // c from which the peak of the linear part z x n at u = c is separate

struct Chunk {
    alignas(64) double l[kChunk * kLanes];
    alignas(64) double g[kChunk * kLanes];
    alignas(64) double m[kChunk * kLanes];
};

struct Ends {
    double l_first, l_last;
};

Ends add_blocks(const BulkRequest& r, Direction direction, double j0, double blocks, BulkSums& sums) noexcept {
    Chunk c;
    const bool remove = direction == Direction::remove;
    const double s = r.s;
    const double b = remove ? s : -s;
    Ends ends{0, 0};
    for (double done = 0; done < blocks; done += kChunk) {
        const auto count = static_cast<std::size_t>(std::min<double>(kChunk, blocks - done));
        NodeArrays nodes = r.table != nullptr ? r.table->nodes(r.grid, j0 + done * kLanes, count) : NodeArrays{};
        if (nodes.l == nullptr) {
            nodes = {c.l, c.g, c.m};
            fill_nodes(r.grid, direction, j0 + done * kLanes, count, nodes);
        }
        if (done == 0) ends.l_first = nodes.l[0];
        ends.l_last = nodes.l[count * kLanes - 1];
        const double largest = std::max(std::max(s * nodes.l[0], s * ends.l_last), 0.0);
        sums.overflow = sums.overflow || largest > 700.0;
        const double plain = sum_plain(nodes.g, count);
        double phi;
        if (r.derivatives) {
            const NodeSums part = sum_phi_derivatives(nodes.l, nodes.m, count, s, r.center);
            phi = part.value;
            sums.slope += part.slope + (remove ? plain : -plain);
            sums.first += part.first;
            sums.second += part.second;
        } else {
            phi = sum_phi(nodes.l, nodes.m, count, s);
        }
        const double value = b * plain + phi;
        sums.value += value;
        sums.rounding += kUnitRoundoff * (value * (66.0 + done) + phi * 12.0 * largest);
    }
    return ends;
}

double log_or_minus_infinity(double x) noexcept { return x > 0.0 ? lane_log(x) : -kInfinity; }

// Bounds the log of the sum of a tail that starts at e^height and falls at least as fast as e^(-slope u):
// 1/(1 - e^-t) <= 1 + 1/t and log(1 + 1/t) <= 1/t.
double log_tail(double height, double slope, double h) noexcept {
    return slope > 0.0 ? height + 1.0 / (slope * h) : kInfinity;
}

BulkSums integrate_bulk_remove(const BulkRequest& r, BulkEnd end) noexcept {
    const double c = r.grid.c, h = r.grid.h;
    const double beta = std::max(r.s, kSmallestBeta);
    const double power = std::max(r.alpha - 2.0, 0.0);
    const double log_half = lane_log(0.5 * r.alpha * beta) + 2.0 * r.law.log_q;
    const double log_left = log_half + (r.alpha < 2.0 ? kLog2 : 0.0);
    const double log_right = log_half + c * c;
    // The moments of the tilted law also need its mass of 1 near the origin, which A - 1 does not contain.
    const double reach =
        std::sqrt(2.0 * std::max(kAliasingTarget + log_left - r.log_excess, r.derivatives ? kAliasingTarget : 2.0));
    double j = std::floor(-reach / h);
    if (std::isfinite(end.index)) j = end.index - kLanes * std::ceil((end.index - j) / kLanes);
    double blocks = std::ceil((std::min(2.0 * c + 9.0, kLastNode) - j * h) / (h * kLanes));

    BulkSums sums;
    sums.truncation = 0x1p-54;
    for (;;) {
        blocks = std::min(blocks, (end.index - j) / kLanes);
        const double l = add_blocks(r, Direction::remove, j, blocks, sums).l_last;
        j += blocks * kLanes;
        blocks = 1.0;
        const double u = (j - 1.0) * h;
        if (j >= end.index || sums.overflow || u > kLastNode) return sums;
        const double target = std::max(log_or_minus_infinity(sums.value), r.log_excess) - kAliasingTarget;
        const double height = r.alpha * l - 0.5 * u * u;
        if (r.derivatives && height > std::max(r.log_excess, 0.0) - kAliasingTarget) continue;
        if (u > end.single_after) {
            const double p = 1.0 - r.law.one_minus_q * lane_exp(-l);
            const double away = u - 2.0 * c;
            const double right = log_tail(log_right - 0.5 * away * away + power * l, away - power * p * c, h);
            const double left = u < 0.5 * c ? log_tail(log_left - 0.5 * u * u, u, h) : -kInfinity;
            if (std::max(left, right) < target) return sums;
        }
        if (height < target && u > end.falls_after &&
            u > 0.5 * c) {  // terms are at most this high up to the end, or up to alpha c, then a geometric series
            const double nodes =
                std::isfinite(end.index) ? end.index - j : std::max(r.alpha * c + 1.0 - u, 0.0) / h + 1.0 + 1.0 / h;
            if (height + lane_log(nodes) < target) return sums;
        }
    }
}

// The same for alpha < 0, starting at the mode.
BulkSums integrate_bulk_add(const BulkRequest& r, double mode) noexcept {
    const double c = r.grid.c, h = r.grid.h, q = r.grid.q, z = -r.alpha;
    const double log_flat =
        log_or_minus_infinity(z * (z + 1.0) * q * q) - (z + 2.0) * r.law.log_rest;  // >= log 2 F(-q)
    const double start = std::nearbyint(mode / h);
    const auto log_concave = [&](double u, double l, double sign) {  // bound on n F where x <= 0
        const double p = 1.0 - r.law.one_minus_q * lane_exp(-l);
        const double steep = log_tail(z * -l - 0.5 * u * u, sign * (u + z * p * c), h);
        return std::min(steep, log_tail(log_flat - 0.5 * u * u, sign * u, h));
    };
    BulkSums sums;
    sums.truncation = 0x1p-54;
    for (double j = start;;) {
        const double l = add_blocks(r, Direction::add, j, 1.0, sums).l_last;
        j += kLanes;
        const double u = (j - 1.0) * h;
        if (sums.overflow || u > kLastNode) break;
        double rest;
        if (u < 0.5 * c) {
            if (c <= kBumpApart) continue;
            rest = log_concave(u, l, 1.0);
        } else {
            const double near = log_tail(lane_log(z * q) - 0.5 * (u - c) * (u - c), u - c, h);
            const double wide = lane_log(0.5 * z * (z + 1.0) * q * q) + c * c - 0.5 * (u - 2.0 * c) * (u - 2.0 * c);
            rest = std::min(near, log_tail(wide, u - 2.0 * c, h));
        }
        if (rest < std::max(log_or_minus_infinity(sums.value), r.log_excess) - kAliasingTarget) break;
    }
    for (double j = start - kLanes;; j -= kLanes) {
        const double l = add_blocks(r, Direction::add, j, 1.0, sums).l_first;
        const double u = j * h;
        if (sums.overflow || u < -kLastNode) break;
        if (log_concave(u, l, -1.0) < std::max(log_or_minus_infinity(sums.value), r.log_excess) - kAliasingTarget)
            break;
    }
    if (c > kBumpApart) {  // adds the sum over all nodes of z q n(u - c); step_add covers its aliasing
        sums.value += z * q * (kRoot2Pi / h);
        sums.slope -= q * (kRoot2Pi / h);
        sums.rounding += kUnitRoundoff * 8.0 * z * q * (kRoot2Pi / h);
    }
    return sums;
}

// The part of the integrand of A far from the origin: a peak at u ~ alpha c p with |u| > 9, or for alpha < 0
// one whose height exceeds e^40.
//
// There alpha l and u^2/2 are large and nearly cancel, so the exponent at one reference node is formed in double-double
// and every other exponent is formed relative to it (kernel sum_far). Where the height of the peak is not small against
// alpha l and u^2/2, double is enough. Nodes lie on the same grid u = j h as the rest of the rule.
//
// Rounding: the reference exponent has an error of 2^-75 of its parts, or 6u of them where double is enough; every term
// has one of (80 + 16 E) u, where E is the magnitude of the exponents added, summed by the kernel along with the terms.
// Truncation: g(u) = alpha l - u^2/2 has g' = alpha p c - u with p increasing in u. g falls beyond the highest mode,
// with g' < -1 beyond alpha c + 1: the rest is below its first term times the number of nodes up to there plus a
// geometric series; for alpha < 0, g is concave and the slope at the node itself is enough, on both sides. To the left
// of the mode for alpha > 1, g' falls to the valley and g can only rise again towards the bulk, which the caller
// integrates separately.
struct FarResult {
    DoubleDouble exponent;  // log of the scale of the sums below
    double exponent_error;  // its absolute error
    FarSums sums;           // still to be multiplied by h / sqrt(2 pi) e^exponent
    double leftmost;        // index j of the first node used
    double rounding;        // relative rounding error of sums.value
    double truncation;      // relative error of the nodes left out
    bool joined;            // whether the sum reached the left end of its range: the integrand beyond is not negligible
};

// Index range of the nodes of a far peak: left <= j < right. `last` says that no peak follows on the right.
struct FarRange {
    double left, right;
    bool last;
};

constexpr double kMostBlocks = 1e5;  // beyond, the error is reported as infinite

struct Reference {
    FarPeak peak;
    DoubleDouble exponent;
    double rounding;  // absolute error of the exponent
};

// Returns l at u, in double-double if `precise`, and sets logit, p and 1 - p in `peak`.
DoubleDouble weigh(const SampledGaussianLaw& law, const Grid& grid, double u, bool precise, FarPeak& peak) noexcept {
    const DoubleDouble w = DoubleDouble{grid.c, grid.c3} * u - grid.half_c_squared;
    const DoubleDouble rest = two_sum(1.0, -grid.q);
    peak.logit = law.logit(u);
    peak.extreme = std::fabs(peak.logit) > 500.0;
    if (w.hi > 600.0) {  // (1-q)/q e^-w < 2^53 e^-600 does not reach l
        peak.p = 1.0;
        peak.one_minus_p = lane_exp(-peak.logit);
        return precise ? log_dd({grid.q, 0.0}) + w : DoubleDouble{law.log_q + w.hi, 0.0};
    }
    if (precise) {
        const Scaled e = exp_dd(w);
        const DoubleDouble sampled = e.mantissa * grid.q * DoubleDouble{power_of_two(e.exponent), 0.0};
        const DoubleDouble y = rest + sampled;
        peak.p = sampled.hi / y.hi;
        peak.one_minus_p = rest.hi / y.hi;
        return log_dd(y);
    }
    const ExpReduction e = reduce_exp(std::max(w.hi, -708.0));
    const double sampled = grid.q * (exp_of(e) * (1.0 + w.lo));
    const double y = rest.hi + sampled;
    peak.p = sampled / y;
    peak.one_minus_p = rest.hi / y;
    return {log_of(reduce_log(y, grid.q * (expm1_of(e) + exp_of(e) * w.lo))), 0.0};
}

Reference reference(const SampledGaussianLaw& law, const Grid& grid, Direction direction, double alpha, double beta,
                    double u) noexcept {
    // The weight may be tilted by 1 instead of alpha where both tilts share one peak: then alpha l would cancel against
    // l.
    const bool unit_tilt = direction == Direction::remove && beta * grid.c < 6.0;
    FarPeak peak{};
    DoubleDouble l = weigh(law, grid, u, false, peak);
    const double height = alpha * l.hi - 0.5 * u * u;
    const bool precise = unit_tilt || height + u * u > 8.0 * std::max(1.0, height);
    if (precise) l = weigh(law, grid, u, true, peak);
    peak.alpha = alpha;
    peak.beta = beta;
    peak.tilt = unit_tilt ? 1.0 : alpha;
    peak.c = grid.c;
    peak.h = grid.h;
    peak.u = u;
    peak.drift = (DoubleDouble{grid.c, grid.c3} * -peak.tilt + u).hi;
    peak.l = l.hi;
    const double size = std::fabs(peak.tilt * l.hi) + 0.5 * u * u;
    if (precise) return {peak, l * peak.tilt - two_prod(0.5 * u, u), 0x1p-75 * (size + std::fabs(peak.tilt))};
    return {peak, {peak.tilt * l.hi - 0.5 * u * u, 0.0}, 6.0 * kUnitRoundoff * size};
}

void add(FarSums& total, const FarSums& part) noexcept {
    total.value += part.value;
    total.slope += part.slope;
    total.first += part.first;
    total.second += part.second;
    total.exponent += part.exponent;
    total.last = part.last;
}

constexpr double kValleyWidth = 0.05;  // accuracy in u of a valley, which separates two sums; affects width and time
constexpr int kMostHalvings = 40;

// Returns the place of the minimum between two modes.
double far_valley(const SampledGaussianLaw& law, double alpha, double low, double high) noexcept {
    const auto rises = [&](double u) { return !(alpha * law.posterior(u) * law.c - u < 0.0); };
    const Interval found = bisect(low, high, kValleyWidth, rises, kMostHalvings);
    return 0.5 * (found.low + found.high);
}

// Sums nodes from the mode in both directions until the rest is below 2^-57 of the sum or the range ends. `center`
// shifts the derivative sums. beta = alpha - 1, not always the rounded difference.
FarResult integrate_far(const SampledGaussianLaw& law, const Grid& grid, Direction direction, double alpha, double beta,
                        double mode, double center, FarRange range, bool derivatives) noexcept {
    const double index = std::clamp(std::nearbyint(mode / grid.h), range.left, range.right - 1.0);
    FarResult result{};
    const Reference at = reference(law, grid, direction, alpha, beta, index * grid.h);
    result.exponent = at.exponent;
    result.exponent_error = at.rounding;
    FarPeak peak = at.peak;
    peak.center = center;
    peak.derivatives = derivatives;
    FarSums& sums = result.sums;
    const auto slope_at = [&](double u) { return alpha * law.posterior(u) * grid.c - u; };
    const auto rest_of = [&](double fall) {
        return fall > 0.0 ? sums.last * (1.0 + 1.0 / (fall * grid.h)) : kInfinity;
    };
    // The tail bound of the sum near the origin exceeds the integrand by this factor.
    const double margin = std::max(1.0, 0.5 * alpha * peak.beta);
    double blocks = 0.0;
    for (double i = 0.0; index + i < range.right && blocks < kMostBlocks; i += kLanes, ++blocks) {
        add(sums,
            sum_far(peak, direction, i, 1.0, static_cast<int>(std::min<double>(kLanes, range.right - index - i))));
        const double u = (index + i + kLanes - 1) * grid.h;
        const bool final_fall =
            direction == Direction::remove && range.last;  // falling up to alpha c, faster than e^-u beyond alpha c + 1
        const double nodes = std::max(alpha * grid.c + 1.0 - u, 0.0) / grid.h + 1.0 + 1.0 / grid.h;
        const double rest = final_fall ? (u > mode ? sums.last * nodes : kInfinity) : rest_of(-slope_at(u)) * margin;
        if (rest <= 0x1p-57 * sums.value) {
            result.truncation += rest / sums.value;
            break;
        }
    }
    double j = index;
    result.joined = true;
    while (j > range.left && blocks < kMostBlocks) {
        const double count = std::min<double>(kLanes, j - range.left);
        add(sums, sum_far(peak, direction, j - 1.0 - index, -1.0, static_cast<int>(count)));
        j -= count;
        ++blocks;
        if (count < kLanes) break;  // down to the limit
        const double rest = rest_of(slope_at(j * grid.h));
        if (rest * margin <= 0x1p-57 * sums.value) {
            result.truncation += rest / sums.value;
            result.joined = false;
            break;
        }
    }
    result.leftmost = j;
    result.rounding = kUnitRoundoff * (80.0 + blocks + 16.0 * sums.exponent / sums.value);
    if (blocks >= kMostBlocks) result.rounding = kInfinity;
    return result;
}

constexpr double kShoulder = 24.0;    // u at which a single peak may have a shoulder; affects which sums are used
constexpr double kFarFrom = 9.0;      // u up to which the sum near the origin has an error of 12 * 81/2 u at most
constexpr double kNegligible = 45.0;  // nats: e^-45 < 2^-64
constexpr double kVanishingBeta = 0x1p-200;  // alpha - 1 at alpha = 1: (A-1)/beta = KL (1 + O(beta)), A - 1 ~ beta q^2

// S = A - 1 and the derivatives of A, all still to be multiplied by e^scale; `first`, `second` are moments of
// l - center under the tilted law.
struct PartialExcess {
    double scale, value, slope, first, second;
    double relative_error;
    double scale_error = 0.0;  // absolute error of the scale
};

LogADerivatives logarithm(const PartialExcess& e) noexcept {
    if (!(e.relative_error < 0x1p-20)) return {kOutsideDomain, kNaN, kNaN};
    const double unit = e.scale == 0.0 ? 1.0 : lane_exp(-e.scale);  // the number 1 in the scale of the sums
    const double a = unit + e.value;
    double value, sensitivity;
    if (e.scale == 0.0) {
        value = lane_log1p(e.value);
        sensitivity = e.value / (a * value);
    } else {
        value = e.scale + lane_log(a);
        sensitivity = e.value / (a * value);
    }
    const double mean = e.first / a;
    return {{value, e.relative_error * sensitivity + e.scale_error / value + 4.0 * kUnitRoundoff},
            e.slope / a,
            std::max(e.second / a - mean * mean, 0.0)};
}

PartialExcess excess_of(const BulkSums& bulk, const Grid& grid) noexcept {
    const double f = grid.h * kInverseRoot2Pi;
    const double error = bulk.overflow ? kInfinity : bulk.rounding / bulk.value + bulk.truncation;
    return {0.0, f * bulk.value, f * bulk.slope, f * bulk.first, f * bulk.second, error + 4.0 * kUnitRoundoff};
}

// The excess of a far part. e^exponent is multiplied in where it stays within the range of double.
PartialExcess excess_of(const FarResult& far, const Grid& grid) noexcept {
    const bool large = far.exponent.hi > 600.0;
    // The error is 8u: 3u of lane_exp, u of each other factor and product. |lo| <= 600 u: e^lo is 1 + lo to 2^-87.
    const double f = grid.h * kInverseRoot2Pi * ((1.0 + far.exponent.lo) * (large ? 1.0 : lane_exp(far.exponent.hi)));
    const FarSums& s = far.sums;
    return {large ? far.exponent.hi : 0.0,
            f * s.value,
            f * s.slope,
            f * s.first,
            f * s.second,
            far.rounding + far.truncation + (large ? 0.0 : far.exponent_error) + 10.0 * kUnitRoundoff,
            large ? far.exponent_error : 0.0};
}

PartialExcess operator+(const PartialExcess& a, const PartialExcess& b) noexcept {
    if (b.scale > a.scale) return b + a;
    const double w = lane_exp(b.scale - a.scale);
    const double value = a.value + w * b.value;
    return {a.scale,
            value,
            a.slope + w * b.slope,
            a.first + w * b.first,
            a.second + w * b.second,
            (a.relative_error * a.value + b.relative_error * (w * b.value)) / value,
            a.scale_error + b.scale_error};
}

// The places of the peaks of the integrand of A for alpha > 1 and alpha c > 9, and which of them are not negligible.
struct Peaks {
    double low = 0.0, high = 0.0;  // modes; equal if there is only one
    bool low_far = false;          // whether low is beyond the bulk
    bool high_counts = false;      // whether high is beyond the bulk and not negligible
    double ends_at = kInfinity;    // beyond this u the integrand is negligible, and no far part is needed
    double boundary_posterior;     // posterior weight of the sampled component at u = 9
};

Peaks find_peaks(const SampledGaussianLaw& law, double alpha, double log_excess) noexcept {
    Peaks peaks;
    // Right of the split point l <= log q + w + log 2, so the integrand stays below e^{E + alpha log 2}, E its height
    // at alpha c if p were 1. The margin covers the number of nodes and the factor alpha (alpha-1)/2 by which the
    // bulk's tail bound exceeds the integrand.
    const double margin =
        kNegligible + 2.0 * std::max(std::ilogb(alpha) * kLog2, 0.0) + (std::ilogb(20.0 + alpha * law.c) + 1) * kLog2;
    const double top = alpha * law.log_q + 0.5 * alpha * (alpha - 1.0) * law.c * law.c;
    peaks.boundary_posterior = law.posterior(kFarFrom);
    const bool falls_at_boundary = alpha * peaks.boundary_posterior * law.c < kFarFrom;  // then a mode lies below it
    if (alpha >= 2.0 && falls_at_boundary && top + alpha * kLog2 + margin < log_excess && law.split() > kFarFrom) {
        peaks.ends_at = law.split();
        return peaks;
    }
    peaks.high = far_mode(law, alpha, alpha * law.c);
    peaks.low = falls_at_boundary && peaks.high > kFarFrom ? 0.0 : far_mode(law, alpha, 0.0);
    const bool two = peaks.high - peaks.low > 1.0;
    if (!two) peaks.low = peaks.high;
    peaks.low_far = two && peaks.low > kFarFrom;
    const double floor = peaks.low_far ? std::max(log_excess, far_height(law, alpha, peaks.low) - 2.0) : log_excess;
    // l >= log q + w: the height of the high peak is at least `top`.
    peaks.high_counts = peaks.high > kFarFrom && (alpha < 2.0 || !two || top + margin > floor ||
                                                  far_height(law, alpha, peaks.high) + margin > floor);
    // A single peak may have a shoulder that reaches beyond the bulk.
    if (peaks.high <= kFarFrom) peaks.high_counts = far_height(law, alpha, kShoulder) + margin > log_excess;
    if (two && !peaks.high_counts && peaks.high > kFarFrom)
        peaks.ends_at = far_valley(law, alpha, peaks.low, peaks.high);
    return peaks;
}

// Adds up to two far parts and the bulk below them; the gaps between them are negligible, see integrate_far.
PartialExcess excess_remove(double q, double sigma, double alpha, double beta, bool derivatives,
                            NodeTable* table) noexcept {
    const SampledGaussianLaw law(q, sigma);
    const double log_excess = log_excess_remove(law, alpha);
    const Grid grid = make_grid(
        q, sigma,
        step_remove(law, alpha, log_excess, derivatives || alpha == 1.0 ? Summand::derivatives : Summand::excess));
    const double c = grid.c;
    if (alpha * c <= kFarFrom) {
        const double center = derivatives ? law.log_ratio(far_mode(law, alpha, 0.0)) : 0.0;
        return excess_of(integrate_bulk_remove({law, grid, alpha, beta, log_excess, derivatives, center, table},
                                               {kInfinity, std::max(alpha, 2.0) * c, alpha * c}),
                         grid);
    }
    const Peaks peaks = find_peaks(law, alpha, log_excess);
    double center = 0.0;
    if (derivatives) {  // the center is at the mode with most of the mass of the tilted law
        const double low = far_mode(law, alpha, 0.0);
        const bool prefer_low = !peaks.high_counts || far_height(law, alpha, low) > far_height(law, alpha, peaks.high);
        center = law.log_ratio(prefer_low ? low : peaks.high);
    }
    // The form near the origin is more accurate while alpha l < 2; beyond u = 27 its terms are below 2^-500. The test
    // e^l = (1-q)/(1-p) at u = 9 decides most cases, since e^t <= 1 + t + t^2 for t <= 1.
    const double t = 2.0 / alpha;
    const bool grown = alpha >= 2.0 && law.one_minus_q >= (1.0 + t + t * t) * (1.0 - peaks.boundary_posterior);
    const double crossing = grown ? kFarFrom : (lane_log1p(lane_expm1(t) / q) + 0.5 * c * c) * sigma;
    FarRange range{std::floor(std::clamp(crossing, kFarFrom, 27.0) / grid.h), kInfinity, true};
    PartialExcess sum{};
    bool any = false, joined = true;
    if (peaks.high_counts) {
        FarRange high_range = range;
        if (peaks.low_far)
            high_range.left = std::max(range.left, std::floor(far_valley(law, alpha, peaks.low, peaks.high) / grid.h));
        const FarResult far =
            integrate_far(law, grid, Direction::remove, alpha, beta, peaks.high, center, high_range, derivatives);
        sum = excess_of(far, grid);
        any = true;
        joined = far.joined;
        range = {range.left, far.leftmost, false};
    }
    const bool low_counts =
        !any || joined || far_height(law, alpha, peaks.low) > far_height(law, alpha, peaks.high) - kNegligible - 20.0;
    if (peaks.low_far && low_counts && (joined || peaks.low < (range.right - 1.0) * grid.h)) {
        range.last = false;
        if (!any) range.right = std::ceil(peaks.ends_at / grid.h);
        const FarResult far =
            integrate_far(law, grid, Direction::remove, alpha, beta, peaks.low, center, range, derivatives);
        sum = any ? sum + excess_of(far, grid) : excess_of(far, grid);
        any = true;
        joined = far.joined;
        range.right = far.leftmost;
    }
    const double known = any ? std::max(log_excess, sum.scale + lane_log(sum.value)) : log_excess;
    if (any && !joined && known >= 100.0) return sum;  // the bulk is below e^41
    const bool two = peaks.high - peaks.low > 1.0;
    BulkEnd end{range.right, kInfinity, kInfinity};
    if (any) {
        if (alpha >= 2.0) end.single_after = 0.0;
        if (!joined && two && !peaks.low_far) end.falls_after = kFarFrom;
    } else if (peaks.ends_at < kInfinity) {
        end = {std::ceil(peaks.ends_at / grid.h), 0.0, kFarFrom};
    } else {
        end = {kInfinity, std::max(alpha, 2.0) * c, peaks.high};
    }
    const BulkSums bulk = integrate_bulk_remove({law, grid, alpha, beta, known, derivatives, center, table}, end);
    return any ? sum + excess_of(bulk, grid) : excess_of(bulk, grid);
}

PartialExcess excess_add(double q, double sigma, double alpha, bool derivatives) noexcept {
    const SampledGaussianLaw law(q, sigma);
    const double c = law.c, z = -alpha;
    const double mode = z * q * c < 0.01 ? 0.0 : far_mode(law, alpha, 0.0);
    const double center = law.log_ratio(mode);
    const double log_a = std::max(far_height(law, alpha, mode), 0.0);
    const double small = std::min(lane_log(z * (z + 1.0) * q * q * std::min(c * c, 1.0) * 0.125), 0.0);
    const double log_excess = log_a > 1.0 ? std::max(log_a - 20.0, small) : small;
    const AddStep step = step_add(law, z, mode, log_excess, log_a);
    const Grid grid = make_grid(q, sigma, step.h);
    if (mode >= -kFarFrom && log_a < 45.0) {
        PartialExcess e =
            excess_of(integrate_bulk_add({law, grid, alpha, alpha, log_excess, derivatives, center}, mode), grid);
        e.relative_error += lane_exp(std::min(step.log_aliasing - lane_log(e.value), 0.0));
        return e;
    }
    // Here the sum is A, not A - 1.
    PartialExcess e = excess_of(integrate_far(law, grid, Direction::add, alpha, alpha - 1.0, mode, center,
                                              {-kInfinity, kInfinity, true}, derivatives),
                                grid);
    e.relative_error += lane_exp(std::min(step.log_aliasing - e.scale - lane_log(e.value), 0.0));
    if (e.scale == 0.0) e.value -= 1.0;
    return e;
}

}  // namespace

LogADerivatives log_a_by_quadrature(double q, double sigma, double alpha, bool derivatives, NodeTable* table) noexcept {
    if (alpha < 0.0) return logarithm(excess_add(q, sigma, alpha, derivatives));
    PartialExcess e = excess_remove(q, sigma, alpha, alpha > 1.0 ? alpha - 1.0 : kVanishingBeta, derivatives, table);
    e.relative_error += 0x1p-54;  // aliasing, step_remove
    return logarithm(e);
}

Certified kullback_leibler_by_quadrature(double q, double sigma) noexcept {
    const PartialExcess e = excess_remove(q, sigma, 1.0, kVanishingBeta, false, nullptr);
    if (!(e.relative_error < 0x1p-20)) return kOutsideDomain;
    return {e.value / kVanishingBeta, e.relative_error + 0x1p-54};
}

}  // namespace renyi
