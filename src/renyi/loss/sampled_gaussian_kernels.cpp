// See the header for notation. Rounding, per node, in units of u = 2^-53 (bounds of special/elementary.hpp):
//   w is formed to double-double precision and its low part enters by e^w (1 + w_lo). The relative errors are 8u for
//   e^w and x; 9u for y; 11u for l; 24u for g (h(x) = x l + (l - x): a sum of terms of one sign, or a loss of at most a
//   factor 3 near x = 0); 3u for n because u^2 is exact; 16u for phi(s l), and the 11u (2 + max(s l, 0)) that the error
//   of s l causes, since |d log phi / d log t| <= 2 + max(t, 0). Every term of the sums therefore has an error of
//   (60 + 12 max(s l, 0)) u.
#include "renyi/loss/sampled_gaussian_kernels.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

#include "renyi/fp/multiversion.hpp"
#include "renyi/special/elementary.hpp"

namespace renyi {

namespace {

using Lanes = double[kLanes];

}  // namespace

double round_step(double h, int bits) noexcept {
    const std::uint64_t kept = ~std::uint64_t{0} << (53 - bits);  // sign, exponent and the bits behind the leading one
    return std::bit_cast<double>(std::bit_cast<std::uint64_t>(h) & kept);
}

Grid make_grid(double q, double sigma, double h) noexcept {
    const InverseNoise inverse = inverse_of(sigma);
    const DoubleDouble parts = split(inverse.c);
    return {q, 1.0 - q, inverse.c, parts.hi, parts.lo, inverse.c_lo, inverse.half_square, h};
}

namespace {

// Short loops over a block: processors overlap them better than a single long one.
template <Direction direction>
RENYI_INLINE void fill_block(const Grid& k, double j0, double* __restrict out_l, double* __restrict out_g,
                             double* __restrict out_m) noexcept {
    constexpr bool remove = direction == Direction::remove;
    Lanes density, x, y;
    for (int i = 0; i < kLanes; ++i) {
        const double u = (j0 + static_cast<double>(i)) * k.h;
        density[i] = lane_exp(-0.5 * (u * u));
    }
    for (int i = 0; i < kLanes; ++i) {
        const double u = (j0 + static_cast<double>(i)) * k.h;
        const DoubleDouble w0 = two_sum(u * k.c1, -k.half_c_squared.hi);
        const double w_lo0 = w0.lo + (u * k.c2 + (u * k.c3 - k.half_c_squared.lo));
        const double w = w0.hi + w_lo0;
        const double w_lo = (w0.hi - w) + w_lo0;
        const double raised = w > -708.0 ? w : -708.0;
        const ExpReduction e = reduce_exp(raised < 700.0 ? raised : 700.0);
        const double exp_w = exp_of(e);
        x[i] = k.q * (expm1_of(e) + exp_w * w_lo);
        y[i] = k.one_minus_q + k.q * (exp_w + exp_w * w_lo);
    }
    for (int i = 0; i < kLanes; ++i) {
        const LogReduction log = reduce_log(y[i], x[i]);
        const double l = log_of(log);
        const double l_minus_x = log1pmx_of(log, x[i]);
        out_l[i] = l;
        out_g[i] = density[i] * (remove ? x[i] * l + l_minus_x : -l_minus_x);
        out_m[i] = remove ? density[i] * y[i] : density[i];
    }
}

template <Direction direction>
RENYI_INLINE void fill_blocks(const Grid& grid, double j0, std::size_t blocks, NodeArrays out) noexcept {
    const Grid k = grid;
    for (std::size_t b = 0; b < blocks; ++b, j0 += kLanes) {
        const std::size_t first = b * kLanes;
        fill_block<direction>(k, j0, out.l + first, out.g + first, out.m + first);
    }
}

}  // namespace

RENYI_MULTIVERSION
void fill_nodes(const Grid& grid, Direction direction, double j0, std::size_t blocks, NodeArrays out) noexcept {
    if (direction == Direction::remove) {
        fill_blocks<Direction::remove>(grid, j0, blocks, out);
    } else {
        fill_blocks<Direction::add>(grid, j0, blocks, out);
    }
}

NodeArrays NodeTable::nodes(const Grid& grid, double j0, std::size_t blocks) noexcept {
    const double end = j0 + static_cast<double>(blocks * kLanes);
    if (!(j0 >= -kMost + kLanes && end <= kMost - kLanes)) return {};  // blocks reach beyond
    const int first = static_cast<int>(j0), last = static_cast<int>(end);
    if (!(grid == grid_)) {
        grid_ = grid;
        first_ = last_ = first;
    }
    const auto blocks_of = [](int count) { return static_cast<std::size_t>(std::max(count + kLanes - 1, 0) / kLanes); };
    if (const std::size_t more = blocks_of(first_ - first)) {
        first_ -= static_cast<int>(more) * kLanes;
        fill_nodes(grid, Direction::remove, first_, more, at(first_));
    }
    if (const std::size_t more = blocks_of(last - last_)) {
        fill_nodes(grid, Direction::remove, last_, more, at(last_));
        last_ += static_cast<int>(more) * kLanes;
    }
    return at(first);
}

RENYI_MULTIVERSION
double sum_phi(const double* l, const double* m, std::size_t blocks, double s) noexcept {
    Lanes sum = {};
    for (std::size_t b = 0; b < blocks; ++b, l += kLanes, m += kLanes) {
        for (int i = 0; i < kLanes; ++i) {
            const double t = s * l[i];
            const double clamped = t > -700.0 ? t : -700.0;  // phi is linear below, to the last bit
            sum[i] += m[i] * (phi_of(reduce_exp(clamped)) + (clamped - t));
        }
    }
    return total(sum);
}

RENYI_MULTIVERSION
NodeSums sum_phi_derivatives(const double* l, const double* m, std::size_t blocks, double s, double center) noexcept {
    Lanes value = {}, slope = {}, first = {}, second = {};
    for (std::size_t b = 0; b < blocks; ++b, l += kLanes, m += kLanes) {
        for (int i = 0; i < kLanes; ++i) {
            const double t = s * l[i];
            const double clamped = t > -700.0 ? t : -700.0;
            const ExpReduction e = reduce_exp(clamped);
            const double weight = m[i] * exp_of(e);
            const double d = l[i] - center;
            value[i] += m[i] * (phi_of(e) + (clamped - t));
            slope[i] += m[i] * l[i] * expm1_of(e);
            first[i] += weight * d;
            second[i] += weight * d * d;
        }
    }
    return {total(value), total(slope), total(first), total(second)};
}

RENYI_MULTIVERSION
double sum_plain(const double* g, std::size_t blocks) noexcept {
    Lanes sum = {};
    for (std::size_t b = 0; b < blocks; ++b, g += kLanes) {
        for (int i = 0; i < kLanes; ++i) sum[i] += g[i];
    }
    return total(sum);
}

RENYI_MULTIVERSION
double sum_products(const double* a, const double* b, std::size_t blocks) noexcept {
    Lanes sum = {};
    for (std::size_t k = 0; k < blocks; ++k, a += kLanes, b += kLanes) {
        for (int i = 0; i < kLanes; ++i) sum[i] += a[i] * b[i];
    }
    return total(sum);
}

// Far peak. With d = u - u_c and l(u) - l(u_c) = log1p(p expm1(d c)) = d c + log1p((1-p) expm1(-d c)), the exponent
// E = tilt l - u^2/2 relative to the reference is
//   E - E_c = -d (u_c - tilt c) - d^2/2 + tilt log1p((1-p) expm1(-d c))      right of the split point (posterior > 1/2)
//           = -d u_c            - d^2/2 + tilt log1p(p expm1(d c))           left of it
// so that no number larger than the differences is rounded. The positive-form factor is
//   tilt = alpha > 1:  1 - e^(-alpha l) (1 + alpha x) = 1 - e^(-beta l) (alpha - beta e^-l)
//   tilt = 1:          beta (l - 1 + e^-l) + phi(beta l)                     (beta small: the peak of mu itself)
//   alpha < 0, or e^(-beta l) negligible:  1; for alpha < 0 since there A > e^40 and the linear part is below one ulp.
namespace {

enum class FarForm { own_tilt, unit_tilt, plain };

template <FarForm form, bool derivatives>
RENYI_INLINE FarSums sum_far_block(const FarPeak& peak, double i0, double step, int count) noexcept {
    const FarPeak k = peak;
    constexpr bool unit_tilt = form == FarForm::unit_tilt;
    // Where one weight is negligible at u_c, log1p(e^-|logit + d c|) needs the logit only; on the other side of the
    // split point the logit itself is the difference.
    const double offset = k.extreme ? k.logit : 0.0;
    const double offset_right = offset < 0.0 ? offset : 0.0;
    const double offset_left = offset > 0.0 ? -offset : 0.0;
    const double own_left = k.extreme ? 1.0 : k.p;
    const double own_right = k.extreme ? 1.0 : k.one_minus_p;
    Lanes change, weight, magnitude, l, value, slope = {}, first = {}, second = {}, exponent;
    for (int i = 0; i < kLanes; ++i) {
        const double dc = (i0 + step * i) * k.h * k.c;
        const bool right = k.logit + dc >= 0.0;
        const double mine = select(right, own_right, own_left);
        const double other = select(right, own_left, own_right);
        double t = select(right, -dc, dc) + select(right, -offset, offset);
        t = t < -708.0 ? -708.0 : t;
        t = t > 708.0 ? 708.0 : t;
        const ExpReduction e = reduce_exp(t);
        const double bent =
            log_of(reduce_log(other + mine * exp_of(e), mine * select(k.extreme, exp_of(e), expm1_of(e))));
        change[i] = bent + select(right, offset_right, offset_left);
        l[i] = k.l + (select(right, dc, 0.0) + change[i]);
    }
    for (int i = 0; i < kLanes; ++i) {
        const double d = (i0 + step * i) * k.h;
        const double drift = d * select(k.logit + d * k.c >= 0.0, k.drift, k.u);
        const double bend = k.tilt * change[i];
        const double half_square = 0.5 * (d * d);
        weight[i] = select(i < count, lane_exp((bend - drift) - half_square), 0.0);
        magnitude[i] = std::fabs(drift) + half_square + std::fabs(bend);
    }
    for (int i = 0; i < kLanes; ++i) {
        double factor = 1.0, factor1 = l[i], tilted = weight[i], power_exponent = 0.0;
        if constexpr (form != FarForm::plain) {
            const double decay = lane_exp(-l[i]);
            double bl = unit_tilt ? k.beta * l[i] : -(k.beta * l[i]);
            bl = bl > -708.0 ? bl : -708.0;
            bl = bl < 708.0 ? bl : 708.0;
            const ExpReduction power = reduce_exp(bl);
            if constexpr (unit_tilt) {
                const double h = l[i] - (1.0 - decay);
                factor = k.beta * h + phi_of(power);
                factor1 = h + l[i] * expm1_of(power);
                tilted = weight[i] * exp_of(power);
                power_exponent = 4.0 * std::fabs(bl);
            } else {
                factor = 1.0 - exp_of(power) * (k.alpha - k.beta * decay);
                factor1 = l[i] - exp_of(power) * (1.0 - decay);
            }
        }
        const double away = l[i] - k.center;
        value[i] = weight[i] * factor;
        if constexpr (derivatives) {
            slope[i] = weight[i] * factor1;
            first[i] = tilted * away;
            second[i] = tilted * away * away;
        }
        exponent[i] = value[i] * (magnitude[i] + power_exponent);
    }
    return {total(value), total(slope), total(first), total(second), total(exponent), value[kLanes - 1]};
}

}  // namespace

RENYI_MULTIVERSION
FarSums sum_far(const FarPeak& peak, Direction direction, double i0, double step, int count) noexcept {
    // l is convex in u, so at least l_c + p c d; where e^(-beta l) (alpha + ...) < e^-60 1e6 < 2^-66 the factor is 1 to
    // the last bit.
    const double leftmost = (step > 0.0 ? i0 : i0 - (kLanes - 1)) * peak.h;
    const bool plain =
        direction == Direction::add || (peak.tilt != 1.0 && peak.beta * (peak.l + peak.p * peak.c * leftmost) > 60.0);
    if (plain && !peak.derivatives) return sum_far_block<FarForm::plain, false>(peak, i0, step, count);
    if (plain) return sum_far_block<FarForm::plain, true>(peak, i0, step, count);
    if (peak.tilt == 1.0) return sum_far_block<FarForm::unit_tilt, true>(peak, i0, step, count);
    if (!peak.derivatives) return sum_far_block<FarForm::own_tilt, false>(peak, i0, step, count);
    return sum_far_block<FarForm::own_tilt, true>(peak, i0, step, count);
}

}  // namespace renyi
