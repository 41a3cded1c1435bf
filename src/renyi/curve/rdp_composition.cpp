#include "renyi/curve/rdp_composition.hpp"

#include <algorithm>
#include <cmath>

#include "renyi/loss/sampled_gaussian.hpp"

namespace renyi {

namespace {

// Sum of count times value; of_step(step) and of_curve(curve) are Certified >= 0.
template <class OfStep, class OfCurve>
Certified weighted_sum(const Composition& c, double alpha, OfStep of_step, OfCurve of_curve) noexcept {
    CertifiedSum sum;
    for (const SampledStep& step : c.steps) sum.add(step.count, of_step(step));
    for (const CountedCurve& weighted : c.curves) {
        if (alpha > weighted.curve->largest_order()) return {kInfinity, 0.0};
        sum.add(weighted.count, of_curve(weighted));
    }
    return sum.total();
}

}  // namespace

Certified log_moment(const Composition& c, double alpha) noexcept {
    return weighted_sum(
        c, alpha, [&](const SampledStep& s) { return log_a(s.q, s.sigma, alpha); },
        [&](const CountedCurve& w) { return w.curve->log_moment(alpha).value; });
}

LogMoment log_moment_derivatives(const Composition& c, double alpha) noexcept {
    LogMoment total{{}, 0.0, 0.0};
    const auto add = [&](double count, const auto& moment) {
        total.first += count * moment.first;
        total.second += count * moment.second;
        return moment.value;
    };
    total.value = weighted_sum(
        c, alpha, [&](const SampledStep& s) { return add(s.count, log_a_derivatives(s.q, s.sigma, alpha)); },
        [&](const CountedCurve& w) { return add(w.count, w.curve->log_moment(alpha)); });
    return total;
}

Certified rdp(const Composition& c, double alpha) noexcept {
    return weighted_sum(
        c, alpha, [&](const SampledStep& s) { return rdp_sampled_gaussian(s.q, s.sigma, alpha); },
        [&](const CountedCurve& w) { return w.curve->divergence(alpha); });
}

double largest_order(const Composition& c) noexcept {
    double order = kInfinity;
    for (const CountedCurve& w : c.curves) order = std::min(order, w.curve->largest_order());
    return order;
}

bool is_convex(const Composition& c) noexcept {
    return std::ranges::all_of(c.curves, [](const CountedCurve& w) { return w.curve->convex(); });
}

double largest_loss(const Composition& c) noexcept {
    for (const SampledStep& s : c.steps) {
        if (s.q > 0.0 && std::isfinite(s.sigma)) return kInfinity;
    }
    double sum = 0.0;
    for (const CountedCurve& w : c.curves) sum += w.count * w.curve->largest_loss();
    return sum * (1.0 + 2.0 * (static_cast<double>(c.curves.size()) + 2.0) * kUnitRoundoff);
}

}  // namespace renyi
