#include "renyi/transform/line_integral.hpp"

#include <algorithm>
#include <cmath>

#include "renyi/fp/lanes.hpp"
#include "renyi/special/circular.hpp"

namespace renyi {

namespace {

constexpr double kLogRoot2Pi = 0x1.d67f1c864beb5p-1, kLogTwo = 0x1.62e42fefa39efp-1;
constexpr double kLogThreeHalves = 0.4055;
constexpr double kHalfOverDensity = 0.23;  // Q(x) <= e^-x^2/2 / 2, log (sqrt(2 pi)/2)
constexpr double kFirst = -38.0, kFarLeft[] = {-20.0, -14.0, -12.0, -11.0};
constexpr double kNormalCell = 0.4;               // where next to nothing is lost
constexpr double kRelativeCell = 0.06;            // of the loss
constexpr double kSkirtCell = 0.8;                // of a window's width
constexpr double kDead = 39.0, kDeadCell = 0.05;  // no density is left so far out
constexpr double kSteep = 12.0;                   // level/width, at least
constexpr double kStill = 1.0 / 200.0;            // of the lowest level: such losses hardly differ from none
constexpr int kMostPoints = 1024;

struct LinePoint {
    double sine, versine;
    double slope, weighted, y;  // of Re V, of L+, of -Im V
};

struct StepLine {
    double level, scale, sign;  // scale = 1/width
};

struct CellArrays {
    const double *x, *v, *log_factor, *above, *below;
};

// log of a bound of |Phi(u + i v)|, as in loss_window.hpp.
RENYI_INLINE double lane_cdf_bound(double u, double v) noexcept {
    const double exponent = 0.5 * (v * v - u * u);
    const double small = lane_log1p(0.5 * lane_exp(exponent < 60.0 ? exponent : 60.0));
    const double large = exponent - kLogTwo + 1e-12;
    return select(u < 0.0 || exponent > 60.0, large, small);
}

// The exponents of cells i = 0 ... n - 2 between points i and i + 1; everything but the normal density and the width.
template <bool kTwoSided>
RENYI_INLINE void bound_cells(const CellArrays& at, int n, const LinePoint& line, const StepLine* steps, int count,
                              double* re, double* rising, double* falling, double* factor, double* exponent) noexcept {
    const LinePoint k = line;
    for (int i = 0; i < n; ++i) {
        const double p = at.above[i];
        const double up = 0.5 * lane_log1p(2.0 * p * k.versine * (p - 1.0));
        re[i] = at.v[i] + up;
        factor[i] = at.log_factor[i] + up;
        rising[i] = lane_argument(p * k.sine, 1.0 - p * k.versine);
        falling[i] = 0.0;
        if (kTwoSided) {
            const double r = at.below[i];
            re[i] -= 0.5 * lane_log1p(2.0 * r * k.versine * (r - 1.0));
            falling[i] = lane_argument(r * k.sine, 1.0 - r * k.versine);
        }
    }
    const bool rises = k.slope > 0.0, decays = k.y > 0.0;
    for (int i = 0; i + 1 < n; ++i) {
        const double high = rising[i + 1] + falling[i], low = rising[i] + falling[i + 1];
        exponent[i] = k.weighted * factor[i + 1] + k.slope * (rises ? re[i + 1] : re[i]) - k.y * (decays ? low : high);
    }
    for (int s = 0; s < count; ++s) {
        const StepLine step = steps[s];
        // The bound e^{(v^2 - u^2)/2} is largest at the u nearest to 0.
        for (int i = 0; i + 1 < n; ++i) {
            const double v = (rising[i + 1] + falling[i]) * step.scale;
            const double low = (re[i] - step.level) * step.scale, high = (re[i + 1] - step.level) * step.scale;
            const double u = select(low > 0.0, low, select(high < 0.0, high, 0.0));
            exponent[i] += lane_cdf_bound(step.sign * u, v);
        }
    }
}

RENYI_MULTIVERSION
void bound_one_sided(const CellArrays& at, int n, const LinePoint& line, const StepLine* steps, int count, double* re,
                     double* rising, double* falling, double* factor, double* exponent) noexcept {
    bound_cells<false>(at, n, line, steps, count, re, rising, falling, factor, exponent);
}

RENYI_MULTIVERSION
void bound_two_sided(const CellArrays& at, int n, const LinePoint& line, const StepLine* steps, int count, double* re,
                     double* rising, double* falling, double* factor, double* exponent) noexcept {
    bound_cells<true>(at, n, line, steps, count, re, rising, falling, factor, exponent);
}

RENYI_MULTIVERSION
double sum_exponentials(const double* exponent, int n, double top) noexcept {
    double sum = 0.0;
    for (int i = 0; i < n; ++i) sum += lane_exp(exponent[i] - top);
    return sum;
}

}  // namespace

LineIntegral::LineIntegral(const SampledLoss& law, const LossWindow& window) : law_(law), window_(window) {
    x_.push_back(kFirst);
    for (const double x : kFarLeft) x_.push_back(x);
    add_points();
}

// From the left to where all windows have closed on every line, or the density is nothing. The odds of the sampled
// component, e^{V - least} - 1 on one side, grow by e^{c width} from point to point.
void LineIntegral::add_points() {
    const double least = std::log1p(-law_.q), c = law_.c, log_odds = std::log(law_.q) - least;
    double lowest = kInfinity, highest = 0.0;
    for (const LossStep& s : window_) {
        lowest = std::min(lowest, kSteep * s.width);
        highest = std::max(highest, s.level - least);
    }
    const double end = (highest - 2.5 * least + 3.0 * std::min(lowest, highest)) / 0.28;
    const bool closes = window_.falling() != nullptr;
    double x = x_.back();
    for (int i = 0; i < kMostPoints - 16; ++i) {
        const double log_here = log_odds + c * x - 0.5 * c * c;
        double width = kNormalCell, size = 0.0;
        const double other = law_.two_sided() ? std::exp(std::min(log_odds - c * x - 0.5 * c * c, 700.0)) : 0.0;
        const double odds = std::exp(std::min(log_here, 700.0));
        const bool dead = x > kDead + c;
        if (dead) width = kDeadCell * x;
        if (odds + other > kStill * lowest) {
            size = log_here > 690.0 ? log_here : std::log1p(odds) + std::log1p(other);
            const double slope = c * (odds / (1.0 + odds) + other / (1.0 + other));
            width = std::min(width, (dead || size > 2.0 * highest ? 4.0 : 1.0) * kRelativeCell * size / slope);
            // And short against the skirts of the windows, which may be narrow against the least loss.
            const double v = least + size - (law_.two_sided() ? least + 2.0 * std::log1p(other) : 0.0);
            for (const LossStep& s : window_)
                if (!dead)
                    width = std::min(width, std::max(kSkirtCell * s.width, 0.25 * std::fabs(v - s.level)) / slope);
        }
        x += width;
        x_.push_back(x);
        if (x > 0.5 && (closes ? size > end : x > 14.0 + c && (size > 1.5 * highest || x > kDead + c))) break;
    }
    const std::size_t points = x_.size(), n = (points + kLanes - 1) / kLanes * kLanes;
    x_.resize(n, x_.back());
    for (auto* a : {&v_, &log_factor_, &above_, &below_, &log_cell_}) a->resize(n);
    evaluate(law_, x_, v_.data(), log_factor_.data());
    for (std::size_t i = 0; i < n; ++i) {
        const auto posterior = [&](double at) {
            const double v = log_odds + c * at - 0.5 * c * c, e = lane_exp(-std::fabs(v));
            return (v >= 0.0 ? 1.0 : e) / (1.0 + e);
        };
        above_[i] = posterior(x_[i]);
        below_[i] = law_.two_sided() ? posterior(-x_[i]) : 0.0;
        log_factor_[i] = law_.two_sided() ? log_factor_[i] + 0.5 * x_[i] * x_[i] : v_[i];
        const double next = i + 1 < n ? x_[i + 1] : x_[i];
        const double nearest = x_[i] <= 0.0 && next >= 0.0 ? 0.0 : std::min(std::fabs(x_[i]), std::fabs(next));
        log_cell_[i] = -0.5 * nearest * nearest + (next > x_[i] ? lane_log(next - x_[i]) : -1e4);
    }
}

double LineIntegral::log_bound(double angle, double tilt, double y, const LineRange& range) const noexcept {
    double re[kMostPoints], rising[kMostPoints], falling[kMostPoints], factor[kMostPoints], exponent[kMostPoints + 2];
    const int n = static_cast<int>(x_.size());
    const Rotation line = rotation(law_, angle);
    const double slope = law_.sign() * tilt, weighted = law_.weighted() ? 1.0 : 0.0;
    StepLine steps[LossWindow::kMost];
    int count = 0;
    for (const LossStep& s : window_) steps[count++] = {s.level, 1.0 / s.width, s.sign};
    const auto bound = law_.two_sided() ? bound_two_sided : bound_one_sided;
    bound({x_.data(), v_.data(), log_factor_.data(), above_.data(), below_.data()}, n,
          {line.sine, line.versine, slope, weighted, y}, steps, count, re, rising, falling, factor, exponent);
    const double base = 0.5 * line.a * line.a - kLogRoot2Pi;

    // Where the right tail may begin. The exponent of the lowest falling step falls in Re V, whose rise carries Im V
    // along by at most tan(theta) times it: d Im L+/d Re L+ = Im p/Re p <= tan(theta) for the complex posterior p, and
    // Im V <= tan(theta) (Re V + 2 |least|).
    const LossStep* closing = window_.falling();
    const double t2 = line.tangent * line.tangent, least = std::log1p(-law_.q);
    const auto is_beyond = [&](int i) {
        if (x_[i] < 0.5) return false;
        const double reached = (1.0 - t2) * re[i] + 2.0 * t2 * least;
        for (const LossStep& s : window_) {
            if (s.sign < 0.0 && !(reached > s.level)) return false;
        }
        if (closing == nullptr) return y >= 0.0 && slope <= 0.0;
        const double rise = std::max(slope, 0.0) + 1.0 + std::max(-y, 0.0) * line.tangent;
        return reached - closing->level > rise * closing->width * closing->width;
    };
    int last = n - 1;
    if (!is_beyond(last)) return kInfinity;

    int terms = 0;
    const auto keep = [&](double log_term) { exponent[terms++] = log_term; };
    // Compacts in place: terms <= i.
    const double far_slope = slope * (slope >= 0.0 ? re[0] : (law_.two_sided() ? -1e6 : least));
    const double left_im = y > 0.0 ? falling[1] : rising[0] + std::max(falling[0], law_.two_sided() ? angle : 0.0);
    const bool takes_left = !(range.first > kFirst), takes_right = !(range.last < kInfinity);
    double left = -kInfinity;
    if (takes_left) {
        left = base + weighted * factor[0] + far_slope - y * left_im - 0.5 * kFirst * kFirst;
        for (int s = 0; s < count; ++s)
            left += std::max(log_cdf_bound(steps[s].sign * (re[0] - steps[s].level) * steps[s].scale,
                                           (rising[0] + falling[0]) * steps[s].scale),
                             steps[s].sign > 0.0 ? -kInfinity : 0.0);
    }
    for (int i = 0; i < last; ++i) {
        if (x_[i + 1] <= range.first || x_[i] >= range.last) continue;
        const double width = x_[i + 1] - x_[i];
        const double wider = range.spacing > 0.0 && width > 0.0 ? std::log1p(range.spacing / width) : 0.0;
        keep(base + exponent[i] + log_cell_[i] + wider);
    }
    keep(left);
    if (takes_right) {
        // All factors but the normal density are largest here; without a falling step the density itself has the
        // factor 1 - q + q e^w at most.
        double e = slope * re[last] - y * (rising[last] + (y > 0.0 ? 0.0 : falling[last])) + kHalfOverDensity;
        for (int s = 0; s < count; ++s) {
            const double above = re[last] - steps[s].level, im = rising[last] + falling[last];
            // A rising step: 1 + e^{(v^2 - u^2)/2}/2 at most, where v <= tan(theta) (u + m).
            const double m = (std::fabs(steps[s].level) - 2.0 * least) * steps[s].scale;
            const double largest = above >= im ? 0.0 : 0.5 * t2 * m * m / (1.0 - t2);
            e += steps[s].sign > 0.0 ? largest + kLogThreeHalves
                                     : log_cdf_bound(-above * steps[s].scale, im * steps[s].scale);
        }
        const double moved = closing == nullptr && law_.weighted() ? std::max(x_[last] - law_.c, 0.0) : x_[last];
        keep(base + e + (closing == nullptr ? 0.0 : weighted * factor[last]) - 0.5 * moved * moved);
    }
    double top = -1e300;
    for (int i = 0; i < terms; ++i) top = std::max(top, exponent[i]);
    return top + std::log(sum_exponentials(exponent, terms, top)) + 1e-6;
}

}  // namespace renyi
