#include "renyi/mechanism/repeat_and_select.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "renyi/fp/golden_section.hpp"
#include "renyi/mechanism/excess.hpp"
#include "renyi/mechanism/polygon_segment.hpp"

namespace renyi {

namespace {

constexpr double kSmallestDistance = 1e-5;  // of orders that are tried, from 1
constexpr double kUp = 1.0 + 0x1p-48;
constexpr double kInvisible = 1e-7;  // share of a divergence

double log_expm1(double t) noexcept { return t < 1.0 ? lane_log(lane_expm1(t)) : t + lane_log1p(-lane_exp(-t)); }

// log E[N] at x = log(1/gamma) > 0.
double log_mean_runs(double x, double shape) noexcept {
    const double size = std::fabs(shape) * x;
    if (size < 1e-290) return log_expm1(x) - lane_log(x);
    const double rest = shape > 0.0 ? log_expm1(size) - size : log_expm1(size);
    return lane_log(std::fabs(shape)) + log_expm1(x) - rest;
}

// x for a given mean, rounded up: the mean rises with x, and its logarithm is right to 16u of its parts.
double log_inverse_gamma(double mean, double shape) noexcept {
    if (mean == 1.0) return 0.0;
    const auto enough = [&](double x) {
        const double parts = 2.0 + x * (2.0 + std::fabs(shape)) + std::fabs(lane_log(x));
        return log_mean_runs(x, shape) >= lane_log(mean) + 16.0 * kUnitRoundoff * (parts + lane_log(mean));
    };
    double low = -700.0, high = 0.0;  // of log x
    while (!enough(lane_exp(high)) && high < 700.0) high += 1.0;
    for (int i = 0; i < 64; ++i) {
        const double middle = 0.5 * (low + high);
        (enough(lane_exp(middle)) ? high : low) = middle;
    }
    return lane_exp(high) * kUp;
}

// With what the Renyi curve tells. K'/(alpha-1) is at least D_1 of the base: a delta far below D_1/mean does not show.
std::vector<ProfilePoint> joined(std::vector<ProfilePoint> known, const RenyiCurve& base, double mean) {
    const double least = kInvisible * std::min(upper(base.divergence(1.0)), 1.0) / std::max(mean, 1.0);
    const std::vector<ProfilePoint> found = renyi_profile(base, std::max(least, 0x1p-1000));
    known.insert(known.end(), found.begin(), found.end());
    return known;
}

// Where a function of the order turns from false to true, to 1e-4 of log(order - 1), or the end of the range: what is
// minimised there is flat.
template <class Function>
double crossing(double largest, Function rises) noexcept {
    double low = lane_log(kSmallestDistance), high = lane_log(std::max(largest - 1.0, kSmallestDistance));
    while (high - low > 1e-4) {
        const double middle = 0.5 * (low + high);
        (rises(1.0 + lane_exp(middle)) ? high : low) = middle;
    }
    return std::min(1.0 + lane_exp(high), largest);
}

}  // namespace

RepeatAndSelectCurve::RepeatAndSelectCurve(CurvePointer base, double mean, double shape,
                                           std::vector<ProfilePoint> known)
    : base_(std::move(base)),
      mean_(mean),
      log_mean_(mean > 0.0 ? log_of(scaled(mean)) : -kInfinity),
      poisson_(shape == kInfinity),
      profile_(poisson_ ? joined(std::move(known), *base_, mean) : std::move(known)),
      largest_order_(base_->largest_order()) {
    const double most = base_->largest_loss();
    if (poisson_) {
        largest_loss_ = (most + mean * profile_.at(0.0).delta) * kUp;
    } else {
        if (mean > 1.0) cost_ = selection_cost(log_inverse_gamma(mean, shape), shape);
        largest_loss_ = cost_ == 0.0 ? most : (most + cost_) * kUp;
    }
    find_flat_part();
}

// C. (K + x)/l falls while l K' < K + x.
double RepeatAndSelectCurve::selection_cost(double x, double shape) const noexcept {
    const double last = std::min(largest_order_, kLastOrder);
    const auto rises = [&](double l) {
        const LogMoment m = base_->log_moment(l);
        return l * m.first >= m.value.value + x;
    };
    const double l = crossing(last, rises);
    const double inside = (upper(base_->log_moment(l).value) + x) / l;
    const double least = std::min({x, inside, base_->largest_loss()});
    return (1.0 + shape) * least * kUp;
}

// Sums of terms >= 0. C was rounded up, log E[N] is right to 3u.
LogMoment RepeatAndSelectCurve::negative_binomial(double alpha) const noexcept {
    const LogMoment m = base_->log_moment(alpha);
    if (mean_ == 1.0) return m;
    const double value = m.value.value + (alpha - 1.0) * cost_ + log_mean_;
    return {{value, m.value.relative_error + 6.0 * kUnitRoundoff}, m.first + cost_, m.second};
}

// (alpha-1) delta at e^eps - 1 = 1/(alpha-1) is the perspective of a convex function, and convex itself. The hull has
// no second derivative to speak of.
LogMoment RepeatAndSelectCurve::poisson(double alpha) const noexcept {
    const LogMoment m = base_->log_moment(alpha);
    const double beta = alpha - 1.0, x = 1.0 / beta * (1.0 - 0x1p-50);
    const auto [delta, slope] = profile_.at(x);
    const double u = m.value.value + beta * mean_ * delta, error = m.value.relative_error + 6.0 * kUnitRoundoff;
    const double first = m.first + mean_ * (slope < 0.0 ? delta - x * slope : delta);
    if (mean_ >= 1.0) return {{u + log_mean_, error}, first, m.second};
    if (!(u < 0x1p20)) return {{u, error}, first, m.second};
    Excess excess;  // e^-m + m e^u - 1 = (e^-m - 1 + m) + m (e^u - 1)
    excess.add(scaled(std::max(phi_of(reduce_exp(-mean_)), 0x1p-1000)), 16.0 * kUnitRoundoff);
    if (u > 0.0) excess.add(scaled(mean_) * scaled_expm1({u, 0.0}), log_error({u, error}));
    const double share = mean_ / (mean_ + lane_exp(-mean_ - u));
    return {excess.log_moment(16.0 * kUnitRoundoff), share * first, share * (m.second + (1.0 - share) * first * first)};
}

// The order at which K'/(alpha-1) is least, by a scan and golden sections on log(alpha-1).
void RepeatAndSelectCurve::find_flat_part() noexcept {
    if (!poisson_ && mean_ == 1.0) return;
    const double last = std::min(largest_order_, kLastOrder);
    const auto divergence = [&](double s) {
        const double alpha = std::min(1.0 + lane_exp(s), last);
        return alpha > 1.0 ? upper(formula(alpha).value) / (alpha - 1.0) : kInfinity;
    };
    constexpr double kStep = 0.5;
    const double end = last > 1.0 ? lane_log(last - 1.0) : 0.0;
    double best = end;
    for (double s = end; s > lane_log(kSmallestDistance); s -= kStep)
        if (divergence(s) < divergence(best)) best = s;
    const Least least = golden_section(best - kStep, std::min(best + kStep, end), 1e-6, divergence);
    if (least.value < divergence(best)) best = least.place;
    flat_until_ = std::min(1.0 + lane_exp(best), last);
    flat_divergence_ = divergence(best) * kUp;
}

LogMoment RepeatAndSelectCurve::log_moment(double alpha) const noexcept {
    if (alpha > largest_order_) return {{kInfinity, 0.0}, kInfinity, 0.0};
    const double cut = (alpha - 1.0) * largest_loss_;
    if (alpha >= flat_until_ && (alpha > 1.0 || flat_divergence_ == 0.0)) {
        const LogMoment m = formula(alpha);
        return m.value.value > cut ? LogMoment{{cut, 2.0 * kUnitRoundoff}, largest_loss_, 0.0} : m;
    }
    const double flat = std::min(flat_divergence_, largest_loss_);
    const double value = alpha > 1.0 ? (alpha - 1.0) * flat : 0.0;
    return {{value, value == 0.0 ? 0.0 : 2.0 * kUnitRoundoff}, flat, 0.0};
}

}  // namespace renyi
