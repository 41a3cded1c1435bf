// See the header. Rounding: the reference exponent is right to 2^-75 of its parts, or 6u of them where double is
// enough; every term to (80 + 16 E) u, where E is the magnitude of the exponents added, accumulated by the kernel
// together with the sum. Truncation: g(u) = alpha l - u^2/2 has g' = alpha p c - u with p increasing in u. It falls
// beyond the highest mode, with g' < -1 beyond alpha c + 1: the rest is below its first term times the number of nodes
// up to there plus a geometric series; for alpha < 0, g is concave and the slope at the node itself serves, on both
// sides. To the left of the mode for alpha > 1, g' falls to the valley and g can only rise again towards the bulk,
// which the caller integrates by itself.
#include "renyi/loss/sampled_gaussian_far.hpp"

#include <algorithm>
#include <cmath>

#include "renyi/fp/certified.hpp"
#include "renyi/special/elementary_dd.hpp"

namespace renyi {

namespace {

constexpr double kMostBlocks = 1e5;  // a guard: the answer is then refused, not guessed

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
            const bool halve = i % 3 == 2 && above - below > 1.0;  // Newton may jump to and fro across the sigmoid
            if (halve || !(u + step > below && u + step < above)) step = 0.5 * (below + above) - u;
        }
        u += step;
        if (std::fabs(step) <= 0.1 / std::sqrt(1.0 + std::fabs(1.0 - curvature))) break;
    }
    return u;
}

double far_valley(const SampledGaussianLaw& law, double alpha, double low, double high) noexcept {
    for (int i = 0; i < 40 && high - low > 0.05; ++i) {
        const double middle = 0.5 * (low + high);
        const double slope = alpha * law.posterior(middle) * law.c - middle;
        (slope < 0.0 ? low : high) = middle;
    }
    return 0.5 * (low + high);
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
    const double margin =
        std::max(1.0, 0.5 * alpha * peak.beta);  // the bulk's tail bound exceeds the integrand by this factor
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
