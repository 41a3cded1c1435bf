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
#include "renyi/loss/sampled_gaussian_bulk.hpp"

#include <algorithm>
#include <cmath>

#include "renyi/fp/certified.hpp"
#include "renyi/loss/sampled_gaussian_grid.hpp"
#include "renyi/special/elementary.hpp"

namespace renyi {

namespace {

constexpr int kChunk = 8;            // blocks held on the stack at a time
constexpr double kLastNode = 36.0;   // n(u) < 2^-900 beyond
constexpr double kBumpApart = 24.0;  // c from which the linear part z x n has its bump at u = c apart from the rest
constexpr double kSqrt2Pi = 0x1.40d931ff62706p1;

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
        fill_nodes(r.grid, direction, j0 + done * kLanes, count, {c.l, c.g, c.m});
        if (done == 0) ends.l_first = c.l[0];
        ends.l_last = c.l[count * kLanes - 1];
        const double largest = std::max(std::max(s * c.l[0], s * ends.l_last), 0.0);
        sums.overflow = sums.overflow || largest > 700.0;
        const double plain = sum_plain(c.g, count);
        double phi;
        if (r.derivatives) {
            const NodeSums part = sum_phi_derivatives(c.l, c.m, count, s, r.center);
            phi = part.value;
            sums.slope += part.slope + (remove ? plain : -plain);
            sums.first += part.first;
            sums.second += part.second;
        } else {
            phi = sum_phi(c.l, c.m, count, s);
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
        sums.value += z * q * (kSqrt2Pi / h);
        sums.slope -= q * (kSqrt2Pi / h);
        sums.rounding += kUnitRoundoff * 8.0 * z * q * (kSqrt2Pi / h);
    }
    return sums;
}

}  // namespace renyi
