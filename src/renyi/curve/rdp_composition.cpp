#include "renyi/curve/rdp_composition.hpp"

#include <algorithm>

#include "renyi/loss/sampled_gaussian.hpp"

namespace renyi {

namespace {

// Sum of count times value over the steps; evaluate(step) is a Certified >= 0.
template <class Evaluate>
Certified weighted_sum(std::span<const SampledStep> steps, Evaluate evaluate) noexcept {
    double sum = 0.0, error = 0.0;
    for (const SampledStep& step : steps) {
        const Certified c = evaluate(step);
        sum += step.count * c.value;
        error = std::max(error, c.relative_error);
    }
    return {sum, sum > 0.0 ? error + (static_cast<double>(steps.size()) + 2.0) * kUnitRoundoff : 0.0};
}

}  // namespace

Certified log_moment(std::span<const SampledStep> steps, double alpha) noexcept {
    return weighted_sum(steps, [&](const SampledStep& s) { return log_a(s.q, s.sigma, alpha); });
}

LogMoment log_moment_derivatives(std::span<const SampledStep> steps, double alpha) noexcept {
    LogMoment total{{}, 0.0, 0.0};
    total.value = weighted_sum(steps, [&](const SampledStep& s) {
        const LogADerivatives d = log_a_derivatives(s.q, s.sigma, alpha);
        total.first += s.count * d.first;
        total.second += s.count * d.second;
        return d.value;
    });
    return total;
}

Certified rdp(std::span<const SampledStep> steps, double alpha) noexcept {
    return weighted_sum(steps, [&](const SampledStep& s) { return rdp_sampled_gaussian(s.q, s.sigma, alpha); });
}

}  // namespace renyi
