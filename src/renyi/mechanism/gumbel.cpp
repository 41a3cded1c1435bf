// Near b c = 1 the rounding of b c is one of log1p(-b c): 4u b c/(1 - b c), so K is given up at 1 - b c = 2^-28.
#include "renyi/mechanism/gumbel.hpp"

#include <algorithm>
#include <cmath>

#include "renyi/mechanism/loss_nodes.hpp"
#include "renyi/special/elementary.hpp"

namespace renyi {

namespace {

constexpr double kNearest = 0x1p-28;

}  // namespace

GumbelCurve::GumbelCurve(double shift) noexcept : shift_(shift) {
    growth_ = shift > 700.0 ? kInfinity : lane_expm1(shift);
    divergence_ = shift > 700.0 ? kInfinity : phi_of(reduce_exp(shift));
    largest_order_ = growth_ > 0.0 ? 1.0 + (1.0 - kNearest) / growth_ : kInfinity;
    if (growth_ > 0.0 && (largest_order_ - 1.0) * growth_ > 1.0 - kNearest)  // the sum was rounded up
        largest_order_ = std::max(std::nextafter(largest_order_, 0.0), 1.0);
}

LogMoment GumbelCurve::log_moment(double alpha) const noexcept {
    const double beta = alpha - 1.0;
    if (beta == 0.0) return {{0.0, 0.0}, divergence_, growth_ * growth_};
    const double share = beta * growth_, rest = 1.0 - share;
    if (!(rest > 0.5 * kNearest)) return {{kInfinity, 0.0}, kInfinity, kInfinity};
    const double value = beta * divergence_ - log1pmx_of(reduce_log(rest, -share), -share);
    // -log1p(-s) - s has the derivative s/(1-s), and is at least s^2/2
    const double sensitivity = share * share / (rest * value);
    Certified certified{value, (24.0 + 8.0 * sensitivity) * kUnitRoundoff};
    if (value < kSmallestMoment) certified = shift_ > 0.0 ? kBelowSmallest : Certified{0.0, 0.0};
    return {certified, divergence_ + share * growth_ / rest, growth_ * growth_ / (rest * rest)};
}

Certified GumbelCurve::divergence(double alpha) const noexcept {
    if (alpha > 1.0) return RenyiCurve::divergence(alpha);
    return divergence_of(divergence_, shift_, 0.0, 1);
}

double GumbelCurve::largest_loss() const noexcept { return shift_ > 0.0 ? kInfinity : 0.0; }

}  // namespace renyi
