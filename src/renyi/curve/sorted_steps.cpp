#include "renyi/curve/sorted_steps.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

#include "renyi/fp/certified.hpp"

namespace renyi {

SortedSteps sorted_steps(std::span<const SampledStep> steps) {
    SortedSteps c;
    for (const SampledStep& s : steps)
        if (s.q > 0.0 && s.sigma < kInfinity && s.count > 0.0) c.steps.push_back(s);
    std::sort(c.steps.begin(), c.steps.end(), [](const SampledStep& a, const SampledStep& b) {
        return std::tie(a.q, a.sigma, a.count) < std::tie(b.q, b.sigma, b.count);
    });
    const auto kept = [&] {  // equal steps merge
        std::size_t n = 0;
        for (const SampledStep& s : c.steps) {
            if (n > 0 && c.steps[n - 1].q == s.q && c.steps[n - 1].sigma == s.sigma) {
                c.steps[n - 1].count += s.count;
            } else {
                c.steps[n++] = s;
            }
        }
        return n;
    }();
    c.steps.resize(kept);
    double least = kInfinity, squares = 0.0;
    for (const SampledStep& s : c.steps)
        if (s.q == 1.0) least = std::min(least, s.sigma);
    for (const SampledStep& s : c.steps) {
        if (s.q == 1.0) {  // relative to the least, for squares may underflow
            squares += s.count * (least / s.sigma) * (least / s.sigma);
        } else {
            c.only_gaussian = false;
            c.largest_loss -= s.count * std::log1p(-s.q);
        }
    }
    if (squares > 0.0) {
        c.gaussian_mu = std::sqrt(squares) / least;
        c.gaussian = std::max(c.gaussian_mu * c.gaussian_mu, std::numeric_limits<double>::min());
    }
    c.largest_loss = c.gaussian > 0.0 ? kInfinity : c.largest_loss * (1.0 + 8.0 * kUnitRoundoff);
    return c;
}

}  // namespace renyi
