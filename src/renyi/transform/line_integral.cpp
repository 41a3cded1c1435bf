#include "renyi/transform/line_integral.hpp"

#include <algorithm>
#include <cmath>

namespace renyi {

namespace {

constexpr double kLogRoot2Pi = 0x1.d67f1c864beb5p-1;
constexpr double kWidestCell = 0.5, kNarrowestCell = 1e-7;
constexpr double kNats = 3.0;       // by which the exponent may change in a cell
constexpr double kNegligible = 40.0, kFarBelow = 8.0;
constexpr double kHalfOverDensity = 0.23;  // Q(x) <= e^-x^2/2 / 2, log (sqrt(2 pi)/2)
constexpr double kLogThreeHalves = 0.4055;
constexpr int kMostCells = 4000;

class LineBound {
public:
    LineBound(const SampledLoss& law, const LossWindow& window, double angle, double tilt, double y) noexcept
        : law_(law), window_(window), line_(rotation(law, angle)), slope_(law.sign() * tilt), y_(y) {}

    double over(const LineRange& range) noexcept;

private:
    // The bound over [left, right] of the logarithm of everything but the normal density.
    double factors(const OnLine& left, const OnLine& right) const noexcept {
        double e = law_.weighted() ? right.log_factor : 0.0;
        e += slope_ * (slope_ > 0.0 ? right.re : left.re);
        const double im_high = right.rising + left.falling, im_low = left.rising + right.falling;
        e -= y_ * (y_ > 0.0 ? im_low : im_high);
        for (const LossStep& step : window_)
            e += log_cdf_bound(step.argument(step.sign > 0.0 ? right.re : left.re), im_high / step.width);
        return e;
    }

    // How fast the exponent changes at x.
    double steepness(double x, const OnLine& at) const noexcept {
        const double p = std::min(1.0, std::fabs(at.rising) / std::max(line_.sine, 1e-9));
        const double slope = law_.c * std::max(p, slope_of(x));
        double s = std::fabs(x) + (std::fabs(slope_) + 1.0) * slope + std::fabs(y_) * slope * line_.sine;
        for (const LossStep& step : window_) {
            const double u = step.argument(at.re), v = (at.rising + at.falling) / step.width;
            if (u < v + 3.0) s += std::min(std::fabs(u) + v, 40.0) * slope / step.width;  // else next to 1
        }
        return s;
    }

    // The posterior of the sampled component, roughly dV/dx / c.
    double slope_of(double x) const noexcept {
        const double w = law_.c * x - 0.5 * law_.c * law_.c;
        const double odds = law_.q / law_.one_minus_q * std::exp(std::min(w, 600.0));
        const double above = odds / (1.0 + odds);
        if (!law_.two_sided()) return above;
        const double other = law_.q / law_.one_minus_q * std::exp(std::min(-law_.c * x - 0.5 * law_.c * law_.c, 600.0));
        return above + other / (1.0 + other);
    }

    // The ends of what the factors are at -infinity.
    OnLine leftmost() const noexcept {
        const double least = std::log1p(-law_.q);
        if (law_.two_sided()) return {least, -1e300, 0.0, line_.a * law_.c};
        return {least, least, 0.0, 0.0};
    }

    bool beyond_window(double x, const OnLine& at) const noexcept;
    double right_tail(double x, const OnLine& at) const noexcept;

    void add(double log_term) noexcept {
        if (log_term > top_) {
            sum_ = sum_ * std::exp(top_ - log_term) + 1.0;
            top_ = log_term;
        } else {
            sum_ += std::exp(log_term - top_);
        }
    }
    double total() const noexcept { return sum_ > 0.0 ? top_ + std::log(sum_) : -kInfinity; }

    const SampledLoss& law_;
    const LossWindow& window_;
    Rotation line_;
    double slope_, y_;
    double top_ = -1e300, sum_ = 0.0;
};

// Beyond the falling step the exponent falls in Re V, whose rise carries Im V along by at most tan(theta) times it:
// d Im L+/d Re L+ = Im p/Re p <= tan theta for the complex posterior p, and Im V <= tan theta (Re V + 2 |least|).
bool LineBound::beyond_window(double x, const OnLine& at) const noexcept {
    if (x < 0.0) return false;
    for (const LossStep& step : window_)  // |Phi| <= 3/2 from where u >= v on, since dv <= tan(theta) du
        if (step.sign > 0.0 && step.argument(at.re) < (at.rising + at.falling) / step.width) return false;
    const LossStep* falling = window_.falling();
    if (falling == nullptr) return y_ >= 0.0 && slope_ <= 0.0;
    const double t2 = line_.tangent * line_.tangent, w2 = falling->width * falling->width;
    const double reached = (1.0 - t2) * at.re + 2.0 * t2 * std::log1p(-law_.q), room = reached - falling->level;
    for (const LossStep& step : window_)
        if (step.sign < 0.0 && !(reached > step.level)) return false;
    const double rise = std::max(slope_, 0.0) + 1.0 + std::max(-y_, 0.0) * line_.tangent;
    return room > rise * w2;
}

// All factors but the normal density are largest at x from here on; without a falling step the density itself has the
// factor 1 - q + q e^w at most.
double LineBound::right_tail(double x, const OnLine& at) const noexcept {
    const double here = factors(at, at);
    const double moved = std::max(x - law_.c, 0.0);
    if (window_.falling() != nullptr || !law_.weighted()) {
        const double rising = window_.rises() ? LossWindow::kMost * kLogThreeHalves : 0.0;
        return here + rising + kHalfOverDensity - 0.5 * x * x;
    }
    return here - at.log_factor + LossWindow::kMost * kLogThreeHalves + kHalfOverDensity - 0.5 * moved * moved;
}

double LineBound::over(const LineRange& range) noexcept {
    const double base = 0.5 * line_.a * line_.a - kLogRoot2Pi;
    double x = range.first > -1e300 ? range.first : -38.0, width = kWidestCell;
    OnLine left = on_line(law_, line_, x);
    if (!(range.first > -1e300)) add(base + factors(leftmost(), left) - 0.5 * x * x);
    for (int cell = 0; cell < kMostCells && x < range.last; ++cell) {
        const double floor = std::max(range.log_scale, total()) - kFarBelow;
        if (beyond_window(x, left)) {
            const double tail = base + right_tail(x, left);
            if (tail < std::max(total() - kNegligible, floor) || x > 38.0 + law_.c) {
                add(tail);
                return total() + 1e-6;
            }
        }
        const double fine = std::clamp(kNats / steepness(x, left), kNarrowestCell, kWidestCell);
        for (width = std::max(2.0 * width, fine);; width = std::max(0.25 * width, fine)) {
            const double next = std::min(x + width, range.last);
            const OnLine right = on_line(law_, line_, next);
            const double nearest = x <= 0.0 && next >= 0.0 ? 0.0 : std::min(std::fabs(x), std::fabs(next));
            const double term =
                base + factors(left, right) - 0.5 * nearest * nearest + std::log(next - x + range.spacing);
            if (!(term < floor) && width > fine) continue;
            add(term);
            x = next;
            left = right;
            break;
        }
    }
    return x < range.last ? kInfinity : total() + 1e-6;
}

}  // namespace

double log_line_integral(const SampledLoss& law, const LossWindow& window, double angle, double tilt, double y,
                         const LineRange& range) noexcept {
    return LineBound(law, window, angle, tilt, y).over(range);
}

}  // namespace renyi
