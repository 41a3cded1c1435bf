#include "renyi/iteration/shuffled.hpp"

#include <algorithm>
#include <limits>

#include "renyi/iteration/step_terms.hpp"
#include "renyi/special/elementary.hpp"

namespace renyi {

namespace {

// The mean of B^k, k < n, falls as c = 1 - B grows, so a lower bound of c serves. It is (1 - e^{-nt})/(n c) with
// t = -log1p(-c), 2u; the error of nt is not enlarged by 1 - e^{-nt} (6u), and two products and a quotient follow.
double mean_power(double c, double n) noexcept {
    if (c == 0.0) return 1.0;
    const double t = c < 1.0 ? -lane_log1p(-c) : 0.0;
    const double numerator = c < 1.0 ? -lane_expm1(-n * t) : 1.0;
    return std::min(numerator / (n * c) * (1.0 + 0x1p-48), 1.0);
}

}  // namespace

double shuffled_delta(const IterationSetting& setting, double scale, double n) noexcept {
    const StepDivergence record = step_divergence(setting.law, setting.epsilon, setting.record_shift, scale);
    const StepDivergence state = step_divergence(setting.law, setting.epsilon, setting.state_shift, scale);
    if (record.upper == 0.0) return 0.0;
    const double delta = record.upper * mean_power(state.complement_lower, n) * (1.0 + 0x1p-52);
    return std::clamp(delta, std::numeric_limits<double>::min(), record.upper);
}

}  // namespace renyi
