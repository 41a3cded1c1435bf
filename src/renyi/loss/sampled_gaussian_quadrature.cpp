// log A by the trapezoidal rule on the convex form
//     A - 1 = E_mu0[ (1+x)^alpha - 1 - alpha x ],   x = mu/mu0 - 1,
// whose integrand is >= 0 (Bernoulli) and is computed as a sum of non-negative pieces: nothing cancels, and the relative error of the sum
// S = A - 1 is the largest relative error of a term. The budget is the sum of
//   aliasing    2^-54 for alpha >= 1, what step_add proves for alpha < 0   (sampled_gaussian_grid.hpp)
//   rounding    of the terms and of the summation                          (sampled_gaussian_bulk.cpp, sampled_gaussian_far.cpp)
//   truncation  of the nodes left out                                      (same)
// log A = log1p(S) keeps it: |d log log1p(S) / d log S| = S / ((1+S) log1p(S)) <= 1.
#include <algorithm>
#include <cmath>

#include "renyi/loss/sampled_gaussian.hpp"
#include "renyi/loss/sampled_gaussian_bulk.hpp"
#include "renyi/loss/sampled_gaussian_far.hpp"
#include "renyi/loss/sampled_gaussian_grid.hpp"
#include "renyi/loss/sampled_gaussian_quadrature.hpp"
#include "renyi/special/elementary_dd.hpp"

namespace renyi {

namespace {

constexpr double kInverseSqrt2Pi = 0x1.9884533d43651p-2;
constexpr double kFarFrom = 9.0;     // up to here the bulk loses at most 12 * 81/2 u
constexpr double kNegligible = 45.0;  // e^-45 < 2^-64
constexpr double kVanishingBeta = 0x1p-500;  // alpha - 1 at alpha = 1: (A - 1)/beta = KL (1 + O(beta))

// S = A - 1 and the derivatives of A, all to be multiplied by e^scale; `first`, `second` are moments of l - center under the tilted law.
struct Excess {
    double scale, value, slope, first, second;
    double relative_error;
};

LogADerivatives logarithm(const Excess& e) noexcept {
    if (!(e.relative_error < 0x1p-20)) return {kOutsideDomain, kNaN, kNaN};
    const double unit = lane_exp(-e.scale);  // 1 in the scale of the sums
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
    return {{value, e.relative_error * sensitivity + 4.0 * kUnitRoundoff}, e.slope / a, std::max(e.second / a - mean * mean, 0.0)};
}

// l at u, from the height of the integrand there.
double l_at(double q, double c, double alpha, double u) noexcept {
    return (far_height(q, c, alpha, u) + 0.5 * u * u) / alpha;
}

Excess excess_of(const BulkSums& bulk, const Grid& grid) noexcept {
    const double f = grid.h * kInverseSqrt2Pi;
    const double error = bulk.overflow ? kInfinity : bulk.rounding / bulk.value + bulk.truncation;
    return {0.0, f * bulk.value, f * bulk.slope, f * bulk.first, f * bulk.second, error + 4.0 * kUnitRoundoff};
}

// e^exponent is multiplied in while it stays within range.
Excess excess_of(const FarResult& far, const Grid& grid) noexcept {
    const bool large = far.exponent.hi > 600.0;
    const double f = grid.h * kInverseSqrt2Pi * (large ? 1.0 + far.exponent.lo : exp_of_dd(far.exponent));
    const FarSums& s = far.sums;
    return {large ? far.exponent.hi : 0.0, f * s.value, f * s.slope, f * s.first, f * s.second,
            far.rounding + far.truncation + 8.0 * kUnitRoundoff};
}

Excess operator+(const Excess& a, const Excess& b) noexcept {
    if (b.scale > a.scale) return b + a;
    const double w = lane_exp(b.scale - a.scale);
    const double value = a.value + w * b.value;
    return {a.scale, value, a.slope + w * b.slope, a.first + w * b.first, a.second + w * b.second,
            (a.relative_error * a.value + b.relative_error * (w * b.value)) / value};
}

// Up to two peaks beyond u = 9 and the bulk below; see the head of sampled_gaussian_bulk.cpp for why the gaps between them are dead.
Excess excess_remove(double q, double sigma, double alpha, double beta, bool derivatives) noexcept {
    const double log_excess = log_excess_remove(q, 1.0 / sigma, alpha);
    const Grid grid = make_grid(q, sigma, step_remove(q, 1.0 / sigma, alpha, log_excess));
    const double c = grid.c;
    const bool reaches_far = alpha * c > kFarFrom;
    const double low = derivatives || reaches_far ? far_mode(q, c, alpha, 0.0) : 0.0;
    if (!reaches_far) {
        const double center = derivatives ? l_at(q, c, alpha, low) : 0.0;
        return excess_of(integrate_bulk_remove({grid, alpha, beta, log_excess, derivatives, center}, {kInfinity, std::max(alpha, 2.0) * c, alpha * c}), grid);
    }

    const double high = far_mode(q, c, alpha, alpha * c);
    const bool two = high - low > 1.0;
    const double height = far_height(q, c, alpha, high);
    const double low_height = far_height(q, c, alpha, low);
    const double alive_margin = lane_log((1.0 + 0.5 * alpha * alpha) * (20.0 + alpha * c)) + kNegligible;
    const bool high_alive = high > kFarFrom && (alpha < 2.0 || height + alive_margin > std::max(log_excess, two && low > kFarFrom ? low_height - 2.0 : log_excess));
    const double center = l_at(q, c, alpha, two && (!high_alive || low_height > height) ? low : high);
    // The bulk form is the better one while alpha l < 2; beyond u = 27 it is all below 2^-500.
    const double crossing = (lane_log1p(lane_expm1(2.0 / alpha) / q) + 0.5 * c * c) * sigma;
    FarRange range{std::floor(std::clamp(crossing, kFarFrom, 27.0) / grid.h), kInfinity, true};
    const bool low_far = two && low > range.left * grid.h;

    Excess sum{};
    bool any = false, joined = true;
    if (high_alive) {
        FarRange high_range = range;
        if (low_far) high_range.left = std::max(range.left, std::floor(far_valley(q, c, alpha, low, high) / grid.h));
        const FarResult far = integrate_far(grid, Direction::remove, alpha, beta, high, center, high_range);
        sum = excess_of(far, grid);
        any = true;
        joined = far.joined;
        range = {range.left, far.leftmost, false};
    }
    if (low_far && (!any || joined || low_height > height - kNegligible - 20.0)) {
        range.last = false;
        const FarResult far = integrate_far(grid, Direction::remove, alpha, beta, low, center, range);
        sum = any ? sum + excess_of(far, grid) : excess_of(far, grid);
        any = true;
        joined = far.joined;
        range.right = far.leftmost;
    }
    if (joined || sum.scale + lane_log(sum.value) < 100.0) {
        // Where the upper peak is dead, so is everything above the valley before it (alive_margin covers the bulk's tail bound).
        const bool dead = !high_alive && high > kFarFrom;
        const double index = !any && dead && two ? std::ceil(far_valley(q, c, alpha, low, high) / grid.h) : range.right;
        const double single_after = any ? (alpha < 2.0 ? kInfinity : 0.0) : dead && two ? 0.0 : std::max(alpha, 2.0) * c;
        const BulkSums bulk = integrate_bulk_remove({grid, alpha, beta, log_excess, derivatives, center}, {index, single_after, high});
        sum = any ? sum + excess_of(bulk, grid) : excess_of(bulk, grid);
    }
    return sum;
}

Excess excess_add(double q, double sigma, double alpha, bool derivatives) noexcept {
    const double c = 1.0 / sigma, z = -alpha;
    const double mode = z * q * c < 0.01 ? 0.0 : far_mode(q, c, alpha, 0.0);
    const double center = l_at(q, c, alpha, mode);
    const double log_a = std::max(far_height(q, c, alpha, mode), 0.0);
    const double small = std::min(lane_log(z * (z + 1.0) * q * q * std::min(c * c, 1.0) * 0.125), 0.0);
    const double log_excess = log_a > 1.0 ? std::max(log_a - 20.0, small) : small;
    const AddStep step = step_add(q, c, z, mode, log_excess, log_a);
    const Grid grid = make_grid(q, sigma, step.h);
    if (mode >= -kFarFrom && log_a < 45.0) {
        Excess e = excess_of(integrate_bulk_add({grid, alpha, alpha, log_excess, derivatives, center}, mode), grid);
        e.relative_error += lane_exp(std::min(step.log_aliasing - lane_log(e.value), 0.0));
        return e;
    }
    // The weights alone are summed here: this is A, not A - 1.
    Excess e = excess_of(integrate_far(grid, Direction::add, alpha, alpha - 1.0, mode, center, {-kInfinity, kInfinity, true}), grid);
    e.relative_error += lane_exp(std::min(step.log_aliasing - e.scale - lane_log(e.value), 0.0));
    if (e.scale == 0.0) e.value -= 1.0;
    return e;
}

}  // namespace

LogADerivatives log_a_by_quadrature(double q, double sigma, double alpha, bool derivatives) noexcept {
    if (alpha < 0.0) return logarithm(excess_add(q, sigma, alpha, derivatives));
    Excess e = excess_remove(q, sigma, alpha, alpha > 1.0 ? alpha - 1.0 : kVanishingBeta, derivatives);
    e.relative_error += 0x1p-54;  // aliasing, step_remove
    return logarithm(e);
}

Certified kullback_leibler_by_quadrature(double q, double sigma) noexcept {
    const Excess e = excess_remove(q, sigma, 1.0, kVanishingBeta, false);
    if (!(e.relative_error < 0x1p-20)) return kOutsideDomain;
    return {e.value / kVanishingBeta, e.relative_error + 0x1p-54};
}

}  // namespace renyi
