// See the header. Rounding: the reference exponent is right to 2^-80 of its parts; every term to (80 + 16 E) u, where E is the
// magnitude of the exponents added, accumulated by the kernel together with the sum.
// Truncation: g(u) = alpha l - u^2/2 has g' = alpha p c - u with p increasing in u. Right of a node with u > alpha c, g' <= alpha c - u < 0, so
// the rest is below a geometric series; for alpha < 0, g is concave and the slope at the node itself serves, on both sides. To the left of
// the mode for alpha > 1, g' falls to the valley and g can only rise again towards the bulk, which the caller integrates by itself.
#include "renyi/loss/sampled_gaussian_far.hpp"

#include <algorithm>
#include <cmath>

#include "renyi/fp/certified.hpp"
#include "renyi/special/elementary_dd.hpp"

namespace renyi {

namespace {

constexpr double kMostBlocks = 1e5;  // a guard: the answer is then refused, not guessed

double logit_at(double q, double c, double u) noexcept {
    return lane_log(q) - lane_log(1.0 - q) + (u * c - 0.5 * c * c);
}

double posterior(double logit) noexcept {
    const double e = lane_exp(-std::fabs(logit));
    return (logit >= 0.0 ? 1.0 : e) / (1.0 + e);
}

FarPeak reference(const Grid& grid, Direction direction, double alpha, double beta, double u, DoubleDouble& exponent) noexcept {
    const DoubleDouble c{grid.c, grid.c3};
    const DoubleDouble w = c * u - grid.half_c_squared;
    const DoubleDouble rest = two_sum(1.0, -grid.q);
    DoubleDouble l;
    FarPeak peak{};
    if (w.hi < 600.0) {
        const Scaled e = exp_dd(w);
        const double scale = e.exponent < -1000.0 ? 0.0 : std::ldexp(1.0, static_cast<int>(e.exponent));
        const DoubleDouble sampled = DoubleDouble{e.mantissa.hi * scale, e.mantissa.lo * scale} * grid.q;
        const DoubleDouble y = rest + sampled;
        l = log_dd(y);
        peak.p = sampled.hi / y.hi;
        peak.one_minus_p = rest.hi / y.hi;
    } else {  // (1-q)/q e^-w < 2^53 e^-600 does not reach l
        l = log_dd({grid.q, 0.0}) + w;
        peak.p = 1.0;
        peak.one_minus_p = lane_exp(-(lane_log(grid.q) - lane_log(grid.one_minus_q) + w.hi));
    }
    // The weight may be tilted by 1 instead of alpha where both tilts share one peak: then alpha l would cancel against l.
    const bool unit_tilt = direction == Direction::remove && beta * grid.c < 6.0;
    peak.alpha = alpha;
    peak.beta = beta;
    peak.tilt = unit_tilt ? 1.0 : alpha;
    peak.c = grid.c;
    peak.h = grid.h;
    peak.u = u;
    peak.drift = ((-(c * peak.tilt)) + u).hi;
    peak.logit = logit_at(grid.q, grid.c, u);
    peak.extreme = std::fabs(peak.logit) > 500.0;
    peak.l = l.hi;
    exponent = l * peak.tilt - two_prod(0.5 * u, u);
    return peak;
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

double far_mode(double q, double c, double alpha, double start) noexcept {
    double u = start;
    double below = alpha * c, above = 0.0;  // for alpha < 0 the slope falls through its zero in between
    for (int i = 0; i < 100; ++i) {
        const double p = posterior(logit_at(q, c, u));
        const double residual = alpha * p * c - u;
        const double curvature = 1.0 - alpha * p * (1.0 - p) * c * c;
        double step = residual / (curvature > 0.1 ? curvature : 1.0);
        if (alpha < 0.0) {
            (residual > 0.0 ? below : above) = u;
            if (!(u + step > below && u + step < above)) step = 0.5 * (below + above) - u;
        }
        u += step;
        if (std::fabs(step) <= 0.01 / std::sqrt(1.0 + std::fabs(1.0 - curvature))) break;
    }
    return u;
}

double far_height(double q, double c, double alpha, double u) noexcept {
    const double w = u * c - 0.5 * c * c;
    const double l = w > 600.0 ? lane_log(q) + w : lane_log((1.0 - q) + q * lane_exp(w));
    return alpha * l - 0.5 * u * u;
}

double far_valley(double q, double c, double alpha, double low, double high) noexcept {
    for (int i = 0; i < 40 && high - low > 0.05; ++i) {
        const double middle = 0.5 * (low + high);
        const double slope = alpha * posterior(logit_at(q, c, middle)) * c - middle;
        (slope < 0.0 ? low : high) = middle;
    }
    return 0.5 * (low + high);
}

FarResult integrate_far(const Grid& grid, Direction direction, double alpha, double beta, double mode, double center,
                        FarRange range) noexcept {
    const double index = std::clamp(std::nearbyint(mode / grid.h), range.left, range.right - 1.0);
    FarResult result{};
    FarPeak peak = reference(grid, direction, alpha, beta, index * grid.h, result.exponent);
    peak.center = center;
    FarSums& sums = result.sums;
    const auto slope_at = [&](double u) { return alpha * posterior(logit_at(grid.q, grid.c, u)) * grid.c - u; };
    const auto rest_of = [&](double fall) { return fall > 0.0 ? sums.last * (1.0 + 1.0 / (fall * grid.h)) : kInfinity; };
    const double margin = std::max(1.0, 0.5 * alpha * peak.beta);  // the bulk's tail bound exceeds the integrand by this factor
    double blocks = 0.0;
    for (double i = 0.0; index + i < range.right && blocks < kMostBlocks; i += kLanes, ++blocks) {
        add(sums, sum_far(peak, direction, i, 1.0, static_cast<int>(std::min<double>(kLanes, range.right - index - i))));
        const double u = (index + i + kLanes - 1) * grid.h;
        const bool final_fall = direction == Direction::remove && range.last;
        const double rest = rest_of(final_fall ? u - alpha * grid.c : -slope_at(u));
        if (rest * (final_fall ? 1.0 : margin) <= 0x1p-57 * sums.value) {
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
        const double rest = rest_of(slope_at(j * grid.h));
        if (count == kLanes && rest * margin <= 0x1p-57 * sums.value) {
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
