#include "renyi/mechanism/mixture_bound.hpp"

#include <utility>

#include "renyi/mechanism/excess.hpp"

namespace renyi {

MixtureBound::MixtureBound(CurvePointer base, double r)
    : base_(std::move(base)), r_(r), largest_loss_(upper(log_mixture(r, {base_->largest_loss(), 0.0}))) {}

double MixtureBound::largest_order() const noexcept { return r_ == 0.0 ? kInfinity : base_->largest_order(); }

// With p = r e^K / (1 + r (e^K - 1)): first derivative p K', second p K'' + p (1-p) K'^2.
LogMoment MixtureBound::log_moment(double alpha) const noexcept {
    if (r_ == 0.0) return {{0.0, 0.0}, 0.0, 0.0};
    const LogMoment m = base_->log_moment(alpha);
    if (r_ == 1.0) return m;
    const double other = (1.0 - r_) * lane_exp(-m.value.value), p = r_ / (r_ + other);
    const double spread = other / (r_ + other);
    return {log_mixture(r_, m.value), p * m.first, p * (m.second + spread * m.first * m.first)};
}

}  // namespace renyi
