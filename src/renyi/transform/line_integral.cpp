#include "renyi/transform/line_integral.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "renyi/fp/lanes.hpp"
#include "renyi/special/elementary.hpp"

// The hot loops over the cells. Fixed summation order: the same bits on every instruction set.
namespace renyi::cells {

namespace {

struct StepLine {
    double level, scale, sign;  // scale = 1/width
};

// V, L+ and the posteriors of the sampled components in e^{L+} and e^{L-} at the points; for the cells the logarithm of
// the largest normal density times the width.
struct CellArrays {
    const double *v, *log_factor, *above, *below, *log_cell;
};

// The part that depends on neither tilt nor ordinate.
struct FixedCells {
    double *re, *high, *low, *fixed;
    double *rising, *falling, *factor;  // scratch: Im L+, -Im L- and Re L+ at the points
};

// log of a bound of |Phi(u + i v)|, as in sampled_loss.hpp, by log(1 + e^E/2) <= e^min(E, 0)/2 + max(E, 0).
RENYI_INLINE double lane_cdf_bound(double u, double v) noexcept {
    const double exponent = 0.5 * (v * v - u * u), positive = exponent > 0.0 ? exponent : 0.0;
    const double near = (0.5 + 1e-12) * lane_exp(exponent - positive) + positive;
    return select(u < 0.0, exponent - std::numbers::ln2 + 1e-12, near);
}

constexpr double kNoCell = -1e200;  // logarithm of its width

// Fills cells i = 0 ... n - 2 between points i and i + 1. All factors are monotone, so each is largest at one end.
template <LossShape kShape>
RENYI_INLINE void fix_cells(const CellArrays& at, int n, const Rotation& turn, double weighted, const StepLine* steps,
                            int count, const FixedCells& to) noexcept {
    double *const rising = to.rising, *const falling = to.falling, *const factor = to.factor;
    const double versine = turn.versine, sine = turn.sine;
    for (int i = 0; i < n; ++i) {
        const double p = at.above[i];
        if (kShape == LossShape::ratio) {
            to.re[i] = at.v[i] - p * versine;
            factor[i] = at.log_factor[i];
            rising[i] = p * sine;
            falling[i] = 0.0;
            continue;
        }
        if (kShape == LossShape::group) {
            to.re[i] = at.v[i] + p - at.below[i];
            factor[i] = at.log_factor[i] + p;
            continue;
        }
        const double up = 0.5 * lane_log1p(2.0 * p * versine * (p - 1.0));
        to.re[i] = at.v[i] + up;
        factor[i] = at.log_factor[i] + up;
        rising[i] = lane_argument(p * sine, 1.0 - p * versine);
        falling[i] = 0.0;
        if (kShape == LossShape::two_sided) {
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
    // The last entries belong to the right end, where Im L- falls to 0.
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

// For a group `above` and `below` are how much L+ and L- rise on the line, and rising and falling are filled in. For
// ratios `above` is 1 + V and `log_factor` its logarithm.
RENYI_MULTIVERSION
void fix_cells(LossShape shape, const CellArrays& at, int n, const Rotation& turn, double weighted,
               const StepLine* steps, int count, const FixedCells& to) noexcept {
    if (shape == LossShape::ratio) return fix_cells<LossShape::ratio>(at, n, turn, weighted, steps, count, to);
    if (shape == LossShape::group) return fix_cells<LossShape::group>(at, n, turn, weighted, steps, count, to);
    if (shape == LossShape::two_sided) return fix_cells<LossShape::two_sided>(at, n, turn, weighted, steps, count, to);
    fix_cells<LossShape::one_sided>(at, n, turn, weighted, steps, count, to);
}

// exponent = fixed + slope re - y im.
RENYI_MULTIVERSION
void tilt_cells(const double* fixed, const double* re, const double* im, int n, double slope, double y,
                double* exponent) noexcept {
    for (int i = 0; i < n; ++i) exponent[i] = fixed[i] + slope * re[i] - y * im[i];
}

// sum e^{exponent - top} (1 + spacing/width), in whole blocks.
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

// The logarithm of the largest normal density of a cell times its width, and 1/width.
RENYI_MULTIVERSION
void weigh_cells(const double* x, std::size_t n, double* log_cell, double* per_width) noexcept {
    for (std::size_t i = 0; i + 1 < n; ++i) {
        const double width = x[i + 1] - x[i];
        const double far = x[i] > 0.0 ? x[i] : (x[i + 1] < 0.0 ? x[i + 1] : 0.0);
        log_cell[i] = width > 0.0 ? lane_log(width > 0.0 ? width : 1.0) - 0.5 * far * far : kNoCell;
        per_width[i] = width > 0.0 ? 1.0 / width : 0.0;
    }
    log_cell[n - 1] = kNoCell;
    per_width[n - 1] = 0.0;
}

}  // namespace

}  // namespace renyi::cells

namespace renyi {

namespace {

constexpr double kLogThreeHalves = 0.4055;
constexpr double kHalfOverDensity = 0.23;  // Q(x) <= e^-x^2/2 / 2, log (sqrt(2 pi)/2)
// Tuning: these affect width and time, not validity. Every cell has a bound, whatever its ends.
constexpr double kFirst = -38.0, kFarLeft[] = {-20.0, -14.0, -12.0, -11.0};
constexpr double kFarRight = 14.0;
constexpr double kNormalCell = 0.4;               // largest width, where next to nothing is lost
constexpr double kRelativeCell = 0.06;            // width in parts of the loss
constexpr double kTailCell = 0.8;                 // width in parts of a window's width
constexpr double kDead = 60.0, kDeadCell = 0.05;  // no tilt makes good for the density so far out
constexpr double kSteep = 12.0;                   // level/width, at least
constexpr double kStill = 1.0 / 200.0;            // part of the lowest level: such losses hardly differ from none
constexpr int kMostPoints = 1024;

}  // namespace

LineIntegral::LineIntegral(const SampledLoss& law, const LossWindow& window) : law_(law), window_(window) {
    x_.push_back(kFirst);
    if (!law_.two_sided())  // with two sides losses are large there, too
        for (const double x : kFarLeft) x_.push_back(x);
    add_points();
    const std::size_t n = (x_.size() + kLanes - 1) / kLanes * kLanes;
    x_.resize(n, x_.back());
    for (auto* a : {&v_, &log_factor_, &above_, &below_, &log_cell_, &per_width_}) a->resize(n);
    evaluate(law_, x_, v_.data(), log_factor_.data());
    if (law_.is_ratio()) {
        for (std::size_t i = 0; i < n; ++i) {
            log_factor_[i] = law_.c * x_[i] - 0.5 * law_.c * law_.c;
            above_[i] = lane_exp(std::min(log_factor_[i], kLogLargestRatio));
        }
    } else {
        for (std::size_t i = 0; i < n; ++i)
            log_factor_[i] = law_.two_sided() ? log_factor_[i] + 0.5 * x_[i] * x_[i] : v_[i];
        if (law_.group) {
            group_above_ = GroupTurns(*law_.group, x_);
            std::vector<double> mirrored(n);
            for (std::size_t i = 0; i < n; ++i) mirrored[i] = -x_[i];
            if (law_.two_sided()) group_below_ = GroupTurns(*law_.group, mirrored);
        } else {
            const double start = std::log(law_.q) - std::log1p(-law_.q) - 0.5 * law_.c * law_.c;
            find_posteriors(x_.data(), n, start, law_.c, above_.data());
            find_posteriors(x_.data(), n, start, -law_.c, below_.data());
        }
    }
    cells::weigh_cells(x_.data(), n, log_cell_.data(), per_width_.data());
}

// An output beyond which little mass lies.
double LineIntegral::far_right() const noexcept {
    return law_.group ? law_.group->reach(0.5 * kFarRight * kFarRight) : kFarRight + law_.c;
}

// Adds points from the left to where all windows have closed on every line, or the density is negligible. The odds of
// the sampled component, e^{V - least} - 1 on one side, grow by e^{c width} from point to point.
void LineIntegral::add_points() {
    const double least = law_.is_ratio() ? -1.0 : law_.least_factor(), c = law_.c;
    const double log_odds = law_.is_ratio() ? 0.0 : std::log(law_.q) - least;
    double lowest = kInfinity, nearest = kInfinity, highest = 0.0, closing = kInfinity;
    for (const LossStep& s : window_) {
        lowest = std::min(lowest, kSteep * s.width);
        nearest = std::min(nearest, s.level - least);
        highest = std::max(highest, s.level - least);
        if (s.sign < 0.0) closing = std::min(closing, s.level - least);
    }
    if (!(closing < highest)) closing = highest;
    const double end = (highest - 2.5 * least + 3.0 * std::min(lowest, highest)) / 0.28;
    const double dead_from = law_.group ? law_.group->reach(0.5 * kDead * kDead) : kDead + c;
    const bool closes = window_.falling() != nullptr;
    double x = x_.back();
    for (int i = 0; i < kMostPoints - 16; ++i) {
        const double log_here = log_odds + c * x - 0.5 * c * c;
        double width = kNormalCell, size = 0.0;
        const double other = law_.two_sided() ? lane_exp(std::min(log_odds - c * x - 0.5 * c * c, 700.0)) : 0.0;
        const double odds = lane_exp(std::min(log_here, 700.0));
        const bool dead = x > dead_from;
        if (dead) width = kDeadCell * x;
        const GroupLoss::Rise up = law_.group ? law_.group->rise(x) : GroupLoss::Rise{};
        const GroupLoss::Rise down = law_.group && law_.two_sided() ? law_.group->rise(-x) : GroupLoss::Rise{};
        const bool moves = law_.group ? up.size + down.size > kStill * lowest : odds + other > kStill * lowest;
        if (moves) {
            const double log_other = lane_log1p(other);
            size = log_here > 690.0 ? log_here : lane_log1p(odds) + log_other;
            double slope = c * (odds / (1.0 + odds) + other / (1.0 + other));
            double v = least + size - (law_.two_sided() ? least + 2.0 * log_other : 0.0);
            if (law_.is_ratio()) {
                size = odds;
                slope = c * odds;
                v = least + size;
            } else if (law_.group) {
                size = up.size + down.size;
                slope = c * (up.number + down.number);
                v = up.size + (law_.two_sided() ? -down.size : least);
            }
            // Cells are longer where no window opens or closes,
            const bool is_quiet = dead || size < 0.25 * nearest || size > 2.5 * closing;
            width = std::min(width, (is_quiet ? 4.0 : 1.0) * kRelativeCell * size / slope);
            // and short against the tails of the windows, which may be narrow against the least loss.
            for (const LossStep& s : window_)
                if (!dead)
                    width = std::min(width, std::max(kTailCell * s.width, 0.25 * std::fabs(v - s.level)) / slope);
        }
        x += width;
        x_.push_back(x);
        if (x > 0.5 && (closes ? size > end : x > far_right() && (size > 1.5 * highest || dead))) break;
    }
}

const LineIntegral::Line& LineIntegral::line_at(double angle) const {
    for (const Line& line : lines_)
        if (line.angle == angle) return line;
    const int n = static_cast<int>(x_.size());
    Line& line = lines_.emplace_back();
    line.angle = angle;
    line.turn = rotation(law_, angle);
    for (auto* a : {&line.re, &line.high, &line.low, &line.fixed}) a->resize(x_.size());
    double rising[kMostPoints], falling[kMostPoints], factor[kMostPoints];
    cells::StepLine steps[LossWindow::kMost];
    int count = 0;
    for (const LossStep& s : window_) steps[count++] = {s.level, 1.0 / s.width, s.sign};
    const double *above = above_.data(), *below = below_.data();
    std::vector<double> risen, fallen(law_.group ? x_.size() : 0, 0.0);
    if (law_.group) {
        risen.resize(x_.size());
        std::fill_n(falling, n, 0.0);
        group_above_.turn(angle, risen.data(), rising);
        if (law_.two_sided()) group_below_.turn(angle, fallen.data(), falling);
        above = risen.data();
        below = fallen.data();
    }
    cells::fix_cells(law_.shape(), {v_.data(), log_factor_.data(), above, below, log_cell_.data()}, n, line.turn,
                     law_.weighted() ? 1.0 : 0.0, steps, count,
                     {line.re.data(), line.high.data(), line.low.data(), line.fixed.data(), rising, falling, factor});
    close_ends(line);
    return line;
}

// Bounds the windows on both ends of the line, and finds how far the right end has come.
//
// The exponent of the lowest falling step falls in Re V, whose rise carries Im V along by at most tan(theta) times it:
// d Im L+/d Re L+ = Im p/Re p <= tan(theta) for the complex posterior p, and Im V <= tan(theta) (Re V + 2 |least|).
// For ratios Im V = tan(theta) (Re V + 1). Where tan(theta) > 1 that is no help, but then arg e^{L+} <= theta and arg
// e^{L-} falls, so that Im V has a bound, which is enough unless losses are small.
void LineIntegral::close_ends(Line& line) const noexcept {
    const std::size_t last = x_.size() - 1;
    const double t2 = line.turn.tangent * line.turn.tangent, least = law_.is_ratio() ? -1.0 : law_.least_factor();
    const bool bounded = line.angle > kSteepAngle;
    line.reached = bounded ? line.re[last] : (1.0 - t2) * line.re[last] + 2.0 * t2 * least;
    line.turned = bounded ? (law_.two_sided() ? 2.0 : 1.0) * law_.records() * line.angle : line.high[last];
    line.is_past = !(x_[last] < 0.5) && !(bounded && law_.is_ratio());
    line.left = line.right = 0.0;
    // On the left arg e^{L-} may rise further; where tan(theta) <= 1 the windows close before it does.
    const double turned_left = line.high[0] + (bounded && law_.two_sided() ? law_.records() * line.angle : 0.0);
    for (const LossStep& s : window_) {
        const double scale = 1.0 / s.width;
        if (s.sign < 0.0) {
            line.is_past = line.is_past && line.reached > s.level;
            line.left += std::max(log_cdf_bound((s.level - line.re[0]) * scale, turned_left * scale), 0.0);
            line.right += log_cdf_bound((s.level - line.re[last]) * scale, line.turned * scale);
        } else {
            line.left += log_cdf_bound((line.re[0] - s.level) * scale, turned_left * scale);
            // 1 + e^{(v^2 - u^2)/2}/2 at most, where v <= tan(theta) (u + m) or its bound.
            const double m = bounded ? line.turned * scale : (std::fabs(s.level) - 2.0 * least) * scale;
            const double largest = 0.5 * m * m * (bounded ? 1.0 : t2 / (1.0 - t2));
            line.right += (line.re[last] - s.level >= line.turned ? 0.0 : largest) + kLogThreeHalves;
        }
    }
}

// Whether all factors but the normal density fall beyond the last point. Where the normal density is moved, it stands
// for the density of the step, which is at most the sum of two normal densities.
bool LineIntegral::falls_beyond(const Line& line, double slope, double y, bool is_moved) const noexcept {
    const LossStep* closing = window_.falling();
    if (!line.is_past) return false;
    if (closing == nullptr) return y >= 0.0 && slope <= 0.0;
    // The density may grow like e^{Re V}, or that of ratios like 1 + V.
    double density = is_moved ? 0.0 : 1.0;
    if (law_.is_ratio()) density = law_.weighted() ? 1.0 / (1.0 + line.re.back()) : 0.0;
    const double turning = line.angle > kSteepAngle ? 0.0 : line.turn.tangent;  // beyond, Im V is taken at its bound
    const double rise = std::max(slope, 0.0) + density + std::max(-y, 0.0) * turning;
    return line.reached - closing->level > rise * closing->width * closing->width;
}

double LineIntegral::log_bound(double angle, double tilt, double y, const LineRange& range) const {
    const Line& line = line_at(angle);
    const double slope = law_.sign() * tilt, weighted = law_.weighted() ? 1.0 : 0.0;
    const bool closes = window_.falling() != nullptr, is_far = !law_.is_ratio() && x_.back() > far_right();
    const bool is_moved = !closes || (is_far && !falls_beyond(line, slope, y, false));
    if (!falls_beyond(line, slope, y, is_moved)) return kInfinity;
    const double base = 0.5 * line.turn.a * line.turn.a - kHalfLog2Pi;
    const std::size_t last = x_.size() - 1;

    // The cells that the range touches.
    const auto first_point = std::upper_bound(x_.begin(), x_.end(), range.first) - x_.begin();
    const auto last_point = std::lower_bound(x_.begin(), x_.end(), range.last) - x_.begin();
    const int from = std::max(static_cast<int>(first_point) - 1, 0),
              to = std::min(static_cast<int>(last_point), static_cast<int>(last)), count = std::max(to - from, 0);
    double exponent[kMostPoints + 2 * kLanes], per_width[kMostPoints + 2 * kLanes];
    const std::vector<double>& im = y > 0.0 ? line.low : line.high;
    cells::tilt_cells(line.fixed.data() + from, line.re.data() + from + (slope > 0.0 ? 1 : 0), im.data() + from, count,
                      slope, y, exponent);
    std::copy_n(per_width_.data() + from, count, per_width);
    int terms = count;
    const auto keep = [&](double log_term) {
        exponent[terms] = log_term;
        per_width[terms++] = 0.0;
    };
    if (!(range.first > kFirst)) {
        const double far = slope >= 0.0 ? line.re[0] : (law_.two_sided() ? -1e6 : law_.least());
        const double turned = y > 0.0 ? 0.0 : line.high[0] + (law_.two_sided() ? law_.records() * angle : 0.0);
        keep(weighted * log_factor_[0] + slope * far - y * turned + line.left - 0.5 * kFirst * kFirst);
    }
    if (!(range.last < kInfinity)) {
        // The density has a factor of at most 1 - q + q e^w for every record. A sum over nodes is s f(x) + integral.
        const double from_x = std::max(x_[last], range.first);
        const double moved = is_moved && law_.weighted() ? std::max(from_x - law_.c, 0.0) : from_x;
        const bool has_tail = is_moved && law_.weighted() && law_.group;
        const double log_tail =
            has_tail ? law_.group->log_tail(from_x) + kHalfLog2Pi : kHalfOverDensity - 0.5 * moved * moved;
        const double turned = y > 0.0 ? line.low[last] : line.turned;
        keep(slope * line.re[last] - y * turned + line.right + (is_moved ? 0.0 : line.fixed[last]) + log_tail +
             range.spacing);
    }
    while (terms % kLanes != 0) keep(-1e300);
    const double top = cells::largest_of(exponent, terms);
    const double off = law_.group ? 1e-10 * (std::fabs(slope) + std::fabs(y)) : 0.0;  // error of the turns
    return base + top + std::log(cells::sum_exponentials(exponent, per_width, terms, range.spacing, top)) + 1e-6 + off;
}

}  // namespace renyi
