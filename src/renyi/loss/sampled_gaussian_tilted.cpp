// Rounding, in units of u = 2^-53: t has a relative error of 11u and that of its argument v/sigma; the weights have one
// of (40 + their exponents) u; the sums of exponentials as in the header, and u for every block of nodes. rounding()
// uses 48u instead of 40u: the difference covers the system's log1p, log, hypot, sin and atan2.
#include "renyi/loss/sampled_gaussian_tilted.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "renyi/fp/certified.hpp"
#include "renyi/fp/lanes.hpp"
#include "renyi/fp/search.hpp"
#include "renyi/loss/sampled_gaussian_quadrature.hpp"
#include "renyi/special/gauss_legendre.hpp"

namespace renyi {

using namespace tilted;

namespace {

constexpr double kTarget = 41.0;        // nats of the aliasing error: e^-41 = 1.6e-18
constexpr double kLargestShift = 2.0;   // largest shift, in widths of the tilted law: sums are up to e^2 larger there
constexpr double kPanel = 0.4;          // largest half-width of a panel, see log_a_below
constexpr double kFlank = 4.0;          // half-width times S, where the integrand rises to the limit like e^{S u}
constexpr double kPanelPerStep = 1.0;   // half-width in steps of the trapezoidal rule, which fall with y
constexpr double kMostNodes = 65536.0;  // most nodes, a limit of time: with more the transform is NaN
constexpr int kMostShifts = 12;         // most shifts tried; affects the width of log_decay alone
constexpr double kShiftPays = 0.4;      // ratio of steps below which the shifted line is taken; affects time alone

}  // namespace

TiltedLaw::TiltedLaw(double q, double sigma, Direction direction, double alpha, double mean, double log_count,
                     double limit) noexcept
    : law_(q, sigma), direction_(direction), alpha_(alpha), target_(kTarget + std::max(log_count, 0.0)) {
    const double c = law_.c;
    // Only the part below the limit of a peak beyond it counts: the limit replaces its mode.
    const bool cut = direction == Direction::remove && limit < kInfinity;
    const double low = std::min(far_mode(law_, alpha, 0.0), cut ? limit : kInfinity);
    const double high = alpha > 0.0 ? std::min(far_mode(law_, alpha, alpha * c), limit) : low;
    const bool two = high - low > 1.0;
    const double at_low = far_height(law_, alpha, low), at_high = two ? far_height(law_, alpha, high) : at_low;
    mode_ = at_high > at_low ? high : low;
    const double odds = lane_exp(-std::fabs(law_.logit(mode_)));
    const double larger = 1.0 / (1.0 + odds), smaller = odds / (1.0 + odds);
    const bool sampled = law_.logit(mode_) >= 0.0;
    p_ = sampled ? larger : smaller;
    one_minus_p_ = sampled ? smaller : larger;
    const double narrow = 1.0 + std::max(-alpha * p_ * one_minus_p_, 0.0) * c * c;
    shift_ = std::min(0.5 * strip(), kLargestShift / std::sqrt(narrow));
    shifted_step_ = 2.0 * std::numbers::pi * shift_ / (target_ + 0.7 + growth(2.0 * shift_));
    // The windows are for both lines. For alpha < 0 the modulus on the shifted line is larger, most so where p = 1/2.
    const double half_sine = std::sin(0.5 * shift_ * c);
    const auto log_modulus = [&](double u) {
        const double p = law_.posterior(u);
        const double excess = 0.5 * alpha * std::log1p(-4.0 * p * (1.0 - p) * half_sine * half_sine);
        return far_height(law_, alpha, u) + 0.5 * shift_ * shift_ + std::max(excess, 0.0);
    };
    const double floor = std::max(at_low, at_high) - target_ - 2.0;
    const auto reach = [&](double mode, double sign) {
        double u = mode, step = 2.0 / std::sqrt(1.0 + std::max(-alpha * c * c, 0.0) * 0.25);
        while (log_modulus(u) > floor && std::fabs(u - mode) < 1e8) u += sign * (step *= 1.2);
        return u;
    };
    windows_[0] = {reach(low, -1.0) - mode_, reach(low, 1.0) - mode_};
    window_count_ = 1;
    if (two && at_high > floor && high - mode_ > windows_[0].last) {
        const Window second{reach(high, -1.0) - mode_, reach(high, 1.0) - mode_};
        if (second.first <= windows_[0].last) {
            windows_[0].last = second.last;
        } else {
            windows_[1] = second;
            window_count_ = 2;
        }
    }
    edge_ = cut && windows_[window_count_ - 1].last + mode_ > limit;
    if (edge_) {
        windows_[0].last = limit - mode_;
        window_count_ = 1;
        panel_ = std::min(kPanel, kFlank / std::max(alpha * c * law_.posterior(limit) - limit, 0.0));
    }
    const double w = std::max(law_.w(mode_), -708.0);
    if (w < 700.0) {
        const double x = law_.q * lane_expm1(w);
        loss_ = x > -0.5 ? lane_log1p(x) : lane_log(law_.one_minus_q + law_.q * lane_exp(w));
    } else {
        loss_ = law_.log_ratio(mode_);
    }
    centre_ = loss_ - mean;
}

// The log of the bound of the integral of the modulus on the line Im u = a, relative to A(alpha).
double TiltedLaw::growth(double a) const noexcept {
    if (alpha_ > 0.0) return 0.5 * a * a;
    // D(u) = log of the modulus on the line is concave; integral e^D <= sqrt(2 pi) e^{D(mode) + D'(mode)^2/2}.
    const double c = law_.c, z = -alpha_, pq = p_ * one_minus_p_;
    const double sine = std::sin(0.5 * a * c);
    const double shrink = 1.0 - 4.0 * pq * sine * sine;
    const double slope = -mode_ - z * c * (p_ - 2.0 * pq * sine * sine) / shrink;
    return 0.5 * (a * a - z * std::log(shrink) + slope * slope + std::log1p(z * pq * c * c));
}

// The half-width of the strip: the widest that growth() covers, or less where the integrand is narrow.
double TiltedLaw::strip() const noexcept {
    const double c = law_.c;
    if (alpha_ > 0.0) return std::min(std::sqrt(2.0 * target_), 3.1 / c);
    return std::min(std::sqrt(2.0 * target_ / (1.0 - alpha_ * p_ * one_minus_p_ * c * c)), 1.57 / c);
}

double TiltedLaw::step_for(double y) const noexcept {
    const double a = strip();
    return 2.0 * std::numbers::pi * a / (target_ + 0.7 + growth(a) + y * a * law_.c);
}

bool TiltedLaw::shifts(double y) const noexcept { return !edge_ && step_for(y) < kShiftPays * shifted_step_; }

double TiltedLaw::spacing_for(double y) const noexcept {
    if (shifts(y)) return shifted_step_;
    // With an edge the panels are also used for the bound of the decay, which has half of the strip.
    return edge_ ? std::min(step_for(y), 0.5 * step_for(0.0)) : step_for(y);
}

double TiltedLaw::cost(double y) const noexcept {
    double length = 0.0;
    for (int k = 0; k < window_count_; ++k) length += windows_[k].last - windows_[k].first;
    const double h = spacing_for(y);
    return edge_ ? kLegendreHalf * length / std::min(panel_, kPanelPerStep * h) : length / h;
}

double TiltedLaw::far() const noexcept {
    const double end = std::max(windows_[window_count_ - 1].last, -windows_[0].first);
    return std::fabs(mode_) + std::max(end - 10.0, 0.0);
}

double TiltedLaw::rounding(double y) const noexcept {
    return (48.0 + 48.0 * far() + kPowerRounding + cost(y) / kLanes) *
           (shifts(y) ? std::exp(std::max(growth(shift_), 0.0)) : 1.0);
}

double TiltedLaw::rounding_of_mean() const noexcept { return 24.0 + 24.0 * far(); }

void TiltedLaw::lay_nodes(double h, TiltedLine& line) const {
    if (edge_) {
        lay_panels(h, line.nodes);
    } else {
        lay_grid(h, line.nodes);
    }
    fill({alpha_, law_.c, mode_, p_, one_minus_p_, law_.logit(mode_)}, line.nodes);
    line.spacing = h;
    line.weight = sum_weights(line.nodes);
}

void TiltedLaw::lay_grid(double h, Nodes& nodes) const {
    double count = 0.0;
    for (int k = 0; k < window_count_; ++k)
        count += std::floor(windows_[k].last / h) - std::ceil(windows_[k].first / h) + 1.0;
    if (!(count <= kMostNodes)) return nodes.resize(0);
    nodes.resize(static_cast<std::size_t>(std::ceil(count / kLanes)) * kLanes);
    std::size_t n = 0;
    for (int k = 0; k < window_count_; ++k) {
        const double last = std::floor(windows_[k].last / h);
        for (double j = std::ceil(windows_[k].first / h); j <= last; ++j, ++n) {
            nodes.v[n] = j * h;
            nodes.weight[n] = 1.0;
        }
    }
    for (; n < nodes.count(); ++n) nodes.v[n] = nodes.weight[n] = 0.0;
}

// Lays pairs of panels of Gauss-Legendre nodes for the trapezoidal step h; the last panel ends at the limit.
void TiltedLaw::lay_panels(double h, Nodes& nodes) const {
    const double first = windows_[0].first, length = windows_[0].last - first;
    const double pairs = std::ceil(length / (4.0 * std::min(panel_, kPanelPerStep * h)));
    if (!(2.0 * pairs * kLanes <= kMostNodes)) return nodes.resize(0);
    const std::size_t panels = 2 * static_cast<std::size_t>(pairs);
    const double half_width = 0.5 * length / static_cast<double>(panels);
    nodes.resize(panels * kLanes);
    for (std::size_t k = 0; k < nodes.count(); ++k) {
        const std::size_t i = k % kLanes;
        const double middle = first + static_cast<double>(2 * (k / kLanes) + 1) * half_width;
        nodes.v[k] = middle + (i < kLegendreHalf ? -half_width : half_width) * kLegendreNode[i % kLegendreHalf];
        nodes.weight[k] = kLegendreWeight[i % kLegendreHalf] * half_width;
    }
}

double TiltedLaw::recentre(TiltedLine& line) {
    lay_nodes(step_for(0.0), line);
    centre_ = -sum_losses(line.nodes) / line.weight;
    return loss_ - centre_;
}

// On the line Im u = b, E d = 0 as well. Between the real axis and Im u = 2b, at y >= 0, the modulus is bounded by
// growth(0) = 0 and growth(2b), for every y: one step is enough for all ordinates.
void TiltedLaw::lay(double y, double step, TiltedLine& line) const {
    const bool shifted = shifts(y);
    lay_nodes(spacing_for(y), line);
    ExponentialSums& sums = line.sums;
    sums.resize(line.nodes.count(), shifted);
    if (shifted) {
        shift(line.nodes, alpha_, mode_, Line(shift_, law_.c),
              {sums.weight.data(), sums.weight_im.data(), sums.damping.data(), sums.frequency.data()});
    } else {
        sums.weight = line.nodes.weight;
        sums.frequency = line.nodes.t;
    }
    for (double& f : sums.frequency) f += centre_;
    sums.set_step(step);
}

void TiltedLaw::add_log_characteristic(TiltedLine& line, double first, double count, double* log_modulus,
                                       double* phase) const noexcept {
    double cosine[kLanes], sine[kLanes];
    line.sums.at(first, cosine, sine);
    const double sign = direction_ == Direction::remove ? 1.0 : -1.0;
    for (int j = 0; j < kLanes; ++j) {
        const double re = cosine[j] / line.weight, im = sine[j] / line.weight;
        // Near 1 the log is log1p of the sums; elsewhere |log| may be small against re, but errors are relative to re.
        log_modulus[j] +=
            count * (re > -0.5 ? 0.5 * std::log1p(2.0 * re + (re * re + im * im)) : std::log(std::hypot(1.0 + re, im)));
        phase[j] += count * sign * std::atan2(im, 1.0 + re);
    }
}

// The integrand at the limit, in units of the weights of lay_panels.
double TiltedLaw::edge_weight() const noexcept {
    const double v = windows_[0].last;
    const double t = lane_log1p(p_ * lane_expm1(std::min(v * law_.c, 700.0)));
    return lane_exp(alpha_ * t - mode_ * v - 0.5 * v * v);
}

// Rounding of E[e^E - 1]: weights have an error of (48 + 48 far()) u, twice since they are normalised by their own sum,
// and E[|e^E - 1|] <= 2 plus the rise; an exponent E has one of 48u of the sizes of its parts, and E[e^E] <= 1 where
// the bound is useful. The aliasing bound takes 2.01 instead of 2.
double TiltedLaw::log_decay(const TiltedLine& line, double y) const noexcept {
    const Nodes& nodes = line.nodes;
    const auto decay = [&](double shift) {
        const Line at(shift, law_.c);
        // The strip of the rule is narrower by the shift.
        const double exponent = growth(strip()) - 2.0 * std::numbers::pi * (strip() - shift) / line.spacing;
        const double aliasing = edge_ ? 0.0 : 2.01 * lane_exp(std::min(exponent, 700.0));
        // The path from the shifted line down to the limit: a segment of height b.
        const double rise = edge_ ? shift * lane_exp(0.5 * shift * shift) * edge_weight() : 0.0;
        const double parts = shift * shift + 2.0 * std::fabs(alpha_) * at.versine + y * shift * law_.c;
        const double rounding = (100.0 + 96.0 * far()) * (2.0 + rise / line.weight) + 48.0 * parts;
        return (sum_decay(nodes, alpha_, y, at) + rise) / line.weight + (aliasing + kUnitRoundoff * rounding);
    };
    // The best shift is near y E[r]/sigma while that is small.
    const double start = std::min(0.5 * strip(), y * law_.c * sum_posterior(nodes) / line.weight);
    const double best = descend(start, 2.0, 0.5, 0.0, 0.5 * strip(), kMostShifts, decay).value;
    return best < 0.0 ? std::log1p(std::max(best, -lowered(6))) * lowered(2) : 0.0;
}

}  // namespace renyi
