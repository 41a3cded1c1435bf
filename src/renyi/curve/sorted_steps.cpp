#include "renyi/curve/sorted_steps.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "renyi/fp/certified.hpp"
#include "renyi/pair/composition.hpp"

namespace renyi {

SortedSteps sorted_steps(std::span<const SampledStep> steps) {
    Composer composer;
    for (const SampledStep& s : steps)
        if (s.q > 0.0 && s.sigma < kInfinity && s.count > 0.0) composer.add(s);
    SortedSteps c{composer.composition().steps};
    double least = kInfinity, squares = 0.0;
    for (const SampledStep& s : c.steps)
        if (s.q == 1.0) least = std::min(least, s.sigma);
    for (const SampledStep& s : c.steps) {
        if (s.q == 1.0) {  // relative to the least, for squares may underflow
            squares += s.count * (least / s.sigma) * (least / s.sigma);
        } else {
            c.only_gaussian = false;
            c.has_groups |= s.records > 1;
            c.largest_loss -= s.count * s.records * std::log1p(-s.q);
        }
    }
    if (squares > 0.0) {
        c.gaussian_mu = std::sqrt(squares) / least;
        c.gaussian = std::max(c.gaussian_mu * c.gaussian_mu, std::numeric_limits<double>::min());
    }
    const double error = kSystemError + (4.0 + static_cast<double>(c.steps.size())) * kUnitRoundoff;
    c.largest_loss = c.gaussian > 0.0 ? kInfinity : c.largest_loss * (1.0 + error);
    return c;
}

}  // namespace renyi
