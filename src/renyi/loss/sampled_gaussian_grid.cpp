#include "renyi/loss/sampled_gaussian_quadrature.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "renyi/fp/certified.hpp"
#include "renyi/fp/search.hpp"
#include "renyi/loss/sampled_gaussian_kernels.hpp"
#include "renyi/special/elementary.hpp"
#include "renyi/special/elementary_dd.hpp"

namespace renyi {

double log_excess_remove(const SampledGaussianLaw& law, double alpha) noexcept {
    const double beta = std::max(alpha - 1.0, kSmallestBeta);
    const double gaussian = 0.5 * alpha * beta * law.c * law.c;
    const double log_a = std::max(gaussian * law.q * law.q, alpha * law.log_q + gaussian);
    return log_a > 1.0 ? log_a - 0.46 : lane_log(log_a);  // log expm1(t) >= t - 0.46 for t >= 1, and >= log t
}

double step_remove(const SampledGaussianLaw& law, double alpha, double log_excess, Summand summand, double nats) noexcept {
    constexpr int kStepBits = 6;  // few, so that neighbouring orders share a grid; affects time alone
    constexpr double kLogFour = 2.0 * std::numbers::ln2, kLogLargestStrip = 4.0;  // a < 54 < e^4: target < 1460
    // log(2 (1 + linear part / S)) <= log 2 + max(log 2, log 2 + log(2 + 2 alpha q) - log S), the logarithm to the next
    // power of two.
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

// Rounding: (62 + 12 max(s l, 0)) u a term (sampled_gaussian_kernels.cpp) and one u a block for the summation.
//
// Truncation, with F = (1+x)^alpha - 1 - alpha x:
//   alpha > 1, left:   F(-q) <= beta q^2 max(1, alpha/2), for F/x^2 is monotone and F(-1) = beta: a Gaussian tail from
//   the start node. alpha > 1, right:  F <= alpha beta/2 x^2 (1+x)^(alpha-2)+ and n x^2 <= q^2 e^(c^2) n(u - 2c). The
//   logarithm of that has slope
//                      2c - u + (alpha-2)+ p c, a sigmoid minus a line: once negative it stays so up to the valley
//                      before a far peak. F <= (1+x)^alpha for x >= 0, whose slope alpha p c - u is negative beyond its
//                      highest mode and below -1 beyond alpha c + 1.
//   alpha < 0, x <= 0: F <= (1+x)^alpha, log-concave, and F <= F(-q).
//   alpha < 0, x > 0:  F <= z x and F <= z (z+1)/2 x^2; n x <= q n(u - c).

namespace {

constexpr int kChunk = 8;            // blocks on the stack at a time; affects time alone
constexpr double kLastNode = 36.0;   // n(u) < 2^-900 beyond
constexpr double kBumpApart = 24.0;  // c from which the peak of the linear part z x n at u = c is apart from the rest

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

// Bound on the log of the sum of a tail that starts at e^height and falls at least as fast as e^(-slope u):
// 1/(1 - e^-t) <= 1 + 1/t and log(1 + 1/t) <= 1/t.
double log_tail(double height, double slope, double h) noexcept {
    return slope > 0.0 ? height + 1.0 / (slope * h) : kInfinity;
}

}  // namespace

BulkSums integrate_bulk_remove(const BulkRequest& r, BulkEnd end) noexcept {
    const double c = r.grid.c, h = r.grid.h;
    const double beta = std::max(r.s, kSmallestBeta);
    const double power = std::max(r.alpha - 2.0, 0.0);
    const double log_half = lane_log(0.5 * r.alpha * beta) + 2.0 * r.law.log_q;
    const double log_left = log_half + (r.alpha < 2.0 ? kLog2 : 0.0);
    const double log_right = log_half + c * c;
    // The moments of the tilted law also need its mass of 1 near the origin, which A - 1 does not see.
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
            u > 0.5 * c) {  // at most this height up to the end, or up to alpha c and a geometric series beyond
            const double nodes =
                std::isfinite(end.index) ? end.index - j : std::max(r.alpha * c + 1.0 - u, 0.0) / h + 1.0 + 1.0 / h;
            if (height + lane_log(nodes) < target) return sums;
        }
    }
}

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
    if (c > kBumpApart) {  // sum over all nodes of z q n(u - c), its aliasing covered by step_add
        sums.value += z * q * (kRoot2Pi / h);
        sums.slope -= q * (kRoot2Pi / h);
        sums.rounding += kUnitRoundoff * 8.0 * z * q * (kRoot2Pi / h);
    }
    return sums;
}

// See the header. Rounding: the reference exponent is right to 2^-75 of its parts, or 6u of them where double is
// enough; every term to (80 + 16 E) u, where E is the magnitude of the exponents added, accumulated by the kernel
// together with the sum. Truncation: g(u) = alpha l - u^2/2 has g' = alpha p c - u with p increasing in u. It falls
// beyond the highest mode, with g' < -1 beyond alpha c + 1: the rest is below its first term times the number of nodes
// up to there plus a geometric series; for alpha < 0, g is concave and the slope at the node itself serves, on both
// sides. To the left of the mode for alpha > 1, g' falls to the valley and g can only rise again towards the bulk,
// which the caller integrates by itself.

namespace {

constexpr double kMostBlocks = 1e5;  // beyond, the error is reported as infinite

struct Reference {
    FarPeak peak;
    DoubleDouble exponent;
    double rounding;  // absolute, of the exponent
};

// l, p and 1 - p at u, l in double-double if asked for.
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

}  // namespace

double far_mode(const SampledGaussianLaw& law, double alpha, double start) noexcept {
    const double c = law.c;
    double u = start;
    double below = alpha * c, above = 0.0;  // for alpha < 0 the slope falls through its zero in between
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

constexpr double kValleyWidth = 0.05;  // affects width and time alone: the valley separates two sums
constexpr int kMostHalvings = 40;

double far_valley(const SampledGaussianLaw& law, double alpha, double low, double high) noexcept {
    const auto rises = [&](double u) { return !(alpha * law.posterior(u) * law.c - u < 0.0); };
    const Interval found = bisect(low, high, kValleyWidth, rises, kMostHalvings);
    return 0.5 * (found.low + found.high);
}

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

}  // namespace renyi
