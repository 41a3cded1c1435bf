#include "renyi/mechanism/poisson_bound.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "renyi/mechanism/excess.hpp"
#include "renyi/mechanism/polygon_segment.hpp"
#include "renyi/mechanism/windowed_sum.hpp"

namespace renyi {

namespace {

// The sum from l = 2, for WindowedSum.
struct PoissonTerms {
    using Value = Certified;  // K_l

    const RenyiCurve& base;
    double factor;
    Excess excess{};

    Certified value(double l) const { return base.log_moment(l).value; }
    double exponent(Certified k, double) const { return k.value * (1.0 + 2.0 * k.relative_error); }
    // e^K - 1 <= min(1, K) e^K and 3 e^K - 1 <= 3 e^K; K does not fall.
    double limit(Certified k, double) const {
        return factor > 1.0 ? lane_log(factor) : lane_log(std::clamp(k.value, 1e-300, 1.0));
    }
    void add(Certified k, double l, const Scaled& w) {
        const double c = l > 2.0 ? factor : 1.0;
        const Scaled growth = scaled_expm1({k.value, 0.0});
        const Scaled x = c > 1.0 ? growth * DoubleDouble{c, 0.0} + Scaled{{c - 1.0, 0.0}, 0.0} : growth;
        excess.add(w * x, log_error(k));
    }
    double log_total() const { return excess.log_total(); }
};

}  // namespace

PoissonBound::PoissonBound(CurvePointer base, double q, PoissonBoundKind kind, bool cut)
    : base_(std::move(base)),
      q_(q),
      kind_(kind),
      largest_order_(q == 0.0 ? kInfinity : base_->largest_order()),
      largest_loss_(cut ? upper(log_mixture(q, {base_->largest_loss(), 0.0})) : kInfinity) {
    if (q < 1.0 && kind != PoissonBoundKind::lower) largest_order_ = std::floor(largest_order_);
}

// Beyond K_n = 2^50 the last term is the sum: K is convex and K_1 = 0, so K_l <= K_n - 2^50/n for l < n <= 2^20, and
// no weight outweighs e^{2^30}.
Certified PoissonBound::at_whole_order(double n) const noexcept {
    const double factor = kind_ == PoissonBoundKind::general ? 3.0 : 1.0;
    const Certified last = base_->log_moment(n).value;
    if (last.value == kInfinity || (last.value == 0.0 && factor == 1.0)) return last;
    if (!(last.value < kLargestExponent)) {
        const double value = last.value + n * log_of(scaled(q_)) + (n > 2.0 ? lane_log(factor) : 0.0);
        return {value, last.relative_error * (last.value / value) + 4.0 * kUnitRoundoff};
    }
    const BinomialTerms weights = BinomialTerms::sampled(n, q_);
    PoissonTerms terms{*base_, factor};
    if (factor == 1.0 || n == 2.0) {
        WindowedSum(weights, terms).run(2.0, n);
    } else {
        terms.add(terms.value(2.0), 2.0, weights.at(2.0));
        WindowedSum(weights, terms).run(3.0, n);
    }
    return terms.excess.log_moment(12.0 * kUnitRoundoff);
}

LogMoment PoissonBound::above(double alpha) const noexcept {
    LogMoment m = polygon_segment(alpha, largest_order_, [this](double n) { return at_whole_order(n); });
    const double cut = (alpha - 1.0) * largest_loss_;
    if (alpha > 1.0 && cut < m.value.value) return {{cut, 2.0 * kUnitRoundoff}, largest_loss_, 0.0};
    return m;
}

// The lines through (n-1, n) and (n+1, n+2) at alpha = n + t; the second needs the base at n+2.
LogMoment PoissonBound::below(double alpha) const noexcept {
    const double n = std::floor(alpha), t = alpha - n;
    if (t == 0.0) {
        return polygon_segment(alpha, largest_order_, [this](double order) { return at_whole_order(order); });
    }
    const auto at = [this](double order) { return order < 2.0 ? Certified{0.0, 0.0} : at_whole_order(order); };
    const auto absolute = [](Certified c) { return c.value * c.relative_error; };
    const Certified k0 = at(n - 1.0), k1 = at(n);
    const double rise = k1.value - k0.value;
    double value = k1.value + t * rise, slope = rise, error = 2.0 * absolute(k1) + absolute(k0);
    if (n + 2.0 <= std::min(largest_order_, kLastOrder)) {
        const Certified k2 = at(n + 1.0), k3 = at(n + 2.0);
        const double line = k2.value - (1.0 - t) * (k3.value - k2.value);
        if (line > value) {
            value = line, slope = k3.value - k2.value;
            error = 2.0 * absolute(k2) + absolute(k3) + kUnitRoundoff * k3.value;
        }
    }
    if (value == 0.0) return {{0.0, 0.0}, slope, 0.0};
    return {{value, std::min(error / value + 4.0 * kUnitRoundoff, 1.0 - 0x1p-22)}, slope, 0.0};
}

LogMoment PoissonBound::log_moment(double alpha) const noexcept {
    if (q_ == 0.0) return {{0.0, 0.0}, 0.0, 0.0};
    if (q_ == 1.0) return base_->log_moment(alpha);
    return kind_ == PoissonBoundKind::lower ? below(alpha) : above(alpha);
}

// Up to 2 the curve is one segment from (1, 0).
Certified PoissonBound::divergence(double alpha) const noexcept {
    if (q_ == 1.0) return base_->divergence(alpha);
    if (alpha == 1.0 && kind_ == PoissonBoundKind::lower) return {0.0, 0.0};
    return RenyiCurve::divergence(alpha == 1.0 && largest_order_ >= 2.0 ? 2.0 : alpha);
}

}  // namespace renyi
