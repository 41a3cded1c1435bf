#include "renyi/transform/line_cells.hpp"

#include "renyi/special/circular.hpp"

namespace renyi::cells {

namespace {

constexpr double kLogTwo = 0x1.62e42fefa39efp-1;

// log of a bound of |Phi(u + i v)|, as in loss_window.hpp, by log(1 + e^E/2) <= e^min(E, 0)/2 + max(E, 0).
RENYI_INLINE double lane_cdf_bound(double u, double v) noexcept {
    const double exponent = 0.5 * (v * v - u * u), positive = exponent > 0.0 ? exponent : 0.0;
    const double near = (0.5 + 1e-12) * lane_exp(exponent - positive) + positive;
    return select(u < 0.0, exponent - kLogTwo + 1e-12, near);
}

enum class Shape { one_sided, two_sided, ratio };

// Cells i = 0 ... n - 2 between points i and i + 1: all factors are monotone, the largest at one of the ends.
template <Shape kShape>
RENYI_INLINE void fix_cells(const CellArrays& at, int n, const Rotation& turn, double weighted, const StepLine* steps,
                            int count, const FixedCells& to) noexcept {
    double *const rising = to.rising, *const falling = to.falling, *const factor = to.factor;
    const double versine = turn.versine, sine = turn.sine;
    for (int i = 0; i < n; ++i) {
        const double p = at.above[i];
        if (kShape == Shape::ratio) {
            to.re[i] = at.v[i] - p * versine;
            factor[i] = at.log_factor[i];
            rising[i] = p * sine;
            falling[i] = 0.0;
            continue;
        }
        const double up = 0.5 * lane_log1p(2.0 * p * versine * (p - 1.0));
        to.re[i] = at.v[i] + up;
        factor[i] = at.log_factor[i] + up;
        rising[i] = lane_argument(p * sine, 1.0 - p * versine);
        falling[i] = 0.0;
        if (kShape == Shape::two_sided) {
            const double r = at.below[i];
            to.re[i] -= 0.5 * lane_log1p(2.0 * r * versine * (r - 1.0));
            falling[i] = lane_argument(r * sine, 1.0 - r * versine);
        }
    }
    for (int i = 0; i + 1 < n; ++i) {
        to.high[i] = rising[i + 1] + falling[i];
        to.low[i] = rising[i] + falling[i + 1];
        to.fixed[i] = at.log_cell[i] + weighted * factor[i + 1];
    }
    // The last entries are of the right end, where Im L- falls to 0.
    to.high[n - 1] = rising[n - 1] + falling[n - 1];
    to.low[n - 1] = rising[n - 1];
    to.fixed[n - 1] = weighted * factor[n - 1];
    for (int s = 0; s < count; ++s) {
        const StepLine step = steps[s];
        // The bound e^{(v^2 - u^2)/2} is largest at the u nearest to 0.
        for (int i = 0; i + 1 < n; ++i) {
            const double low = (to.re[i] - step.level) * step.scale, high = (to.re[i + 1] - step.level) * step.scale;
            const double u = select(low > 0.0, low, select(high < 0.0, high, 0.0));
            to.fixed[i] += lane_cdf_bound(step.sign * u, to.high[i] * step.scale);
        }
    }
}

}  // namespace

RENYI_MULTIVERSION
void fix_one_sided(const CellArrays& at, int n, const Rotation& turn, double weighted, const StepLine* steps, int count,
                   const FixedCells& to) noexcept {
    fix_cells<Shape::one_sided>(at, n, turn, weighted, steps, count, to);
}

RENYI_MULTIVERSION
void fix_two_sided(const CellArrays& at, int n, const Rotation& turn, double weighted, const StepLine* steps, int count,
                   const FixedCells& to) noexcept {
    fix_cells<Shape::two_sided>(at, n, turn, weighted, steps, count, to);
}

RENYI_MULTIVERSION
void fix_ratio(const CellArrays& at, int n, const Rotation& turn, double weighted, const StepLine* steps, int count,
               const FixedCells& to) noexcept {
    fix_cells<Shape::ratio>(at, n, turn, weighted, steps, count, to);
}

RENYI_MULTIVERSION
void tilt_cells(const double* fixed, const double* re, const double* im, int n, double slope, double y,
                double* exponent) noexcept {
    for (int i = 0; i < n; ++i) exponent[i] = fixed[i] + slope * re[i] - y * im[i];
}

RENYI_MULTIVERSION
double sum_exponentials(const double* exponent, const double* per_width, int n, double spacing, double top) noexcept {
    double sum[kLanes] = {};
    for (int block = 0; block < n; block += kLanes)
        for (int i = 0; i < kLanes; ++i)
            sum[i] += lane_exp(exponent[block + i] - top) * (1.0 + spacing * per_width[block + i]);
    return total(sum);
}

RENYI_MULTIVERSION
double largest_of(const double* exponent, int n) noexcept {
    double largest[kLanes];
    for (int i = 0; i < kLanes; ++i) largest[i] = -1e300;
    for (int block = 0; block < n; block += kLanes)
        for (int i = 0; i < kLanes; ++i)
            largest[i] = exponent[block + i] > largest[i] ? exponent[block + i] : largest[i];
    double result = largest[0];
    for (int i = 1; i < kLanes; ++i) result = largest[i] > result ? largest[i] : result;
    return result;
}

RENYI_MULTIVERSION
void find_posteriors(const double* x, std::size_t n, double log_odds, double c, double* above, double* below) noexcept {
    for (std::size_t i = 0; i < n; ++i) {
        const double up = lane_exp(-(log_odds + c * x[i] - 0.5 * c * c)),
                     down = lane_exp(-(log_odds - c * x[i] - 0.5 * c * c));
        above[i] = 1.0 / (1.0 + up);
        below[i] = 1.0 / (1.0 + down);
    }
}

RENYI_MULTIVERSION
void weigh_cells(const double* x, std::size_t n, double* log_cell, double* per_width) noexcept {
    for (std::size_t i = 0; i + 1 < n; ++i) {
        const double width = x[i + 1] - x[i];
        const double far = x[i] > 0.0 ? x[i] : (x[i + 1] < 0.0 ? x[i + 1] : 0.0);
        log_cell[i] = width > 0.0 ? lane_log(width > 0.0 ? width : 1.0) - 0.5 * far * far : -1e4;
        per_width[i] = width > 0.0 ? 1.0 / width : 0.0;
    }
    log_cell[n - 1] = -1e4;
    per_width[n - 1] = 0.0;
}

}  // namespace renyi::cells
