// K' and K'' are the mean of K_i' under the shares w_i A_i / A, and the mean of K_i'' + K_i'^2 less the square of K'.
#include "renyi/mechanism/shown_choice.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "renyi/mechanism/excess.hpp"
#include "renyi/special/elementary.hpp"

namespace renyi {

ShownChoice::ShownChoice(std::vector<WeightedPart> parts) : parts_(std::move(parts)) {
    std::erase_if(parts_, [](const WeightedPart& part) { return part.weight == 0.0; });
    for (const WeightedPart& part : parts_) {
        largest_order_ = std::min(largest_order_, part.curve->largest_order());
        largest_loss_ = std::max(largest_loss_, part.curve->largest_loss());
    }
}

LogMoment ShownChoice::log_moment(double alpha) const noexcept {
    Excess excess;
    Certified farthest{0.0, 0.0};  // beyond the range of the excess one part is all
    std::vector<LogMoment> moments;
    for (const WeightedPart& part : parts_) {
        moments.push_back(part.curve->log_moment(alpha));
        const Certified k = moments.back().value;
        if (!(k.value > 0.0)) continue;
        if (!(k.value < kLargestExponent)) {
            const Certified alone = log_mixture(part.weight, k);
            if (alone.value > farthest.value) farthest = alone;
            continue;
        }
        excess.add(scaled(part.weight) * scaled_expm1({k.value, 0.0}), log_error(k));
    }
    LogMoment found{excess.log_moment(12.0 * kUnitRoundoff), 0.0, 0.0};
    if (farthest.value > 0.0) found.value = {farthest.value, farthest.relative_error + 0x1p-40};
    double square = 0.0;
    for (std::size_t i = 0; i < parts_.size(); ++i) {
        const LogMoment& m = moments[i];
        const double exponent = m.value.value - found.value.value + lane_log(parts_[i].weight);
        const double share = std::exp(std::min(exponent, 0.0));
        found.first += share * m.first;
        square += share * (m.second + m.first * m.first);
    }
    found.second = std::max(square - found.first * found.first, 0.0);
    return found;
}

Certified ShownChoice::divergence(double alpha) const noexcept {
    if (alpha > 1.0) return RenyiCurve::divergence(alpha);
    CertifiedSum sum;
    for (const WeightedPart& part : parts_) sum.add(part.weight, part.curve->divergence(alpha));
    return sum.total();
}

}  // namespace renyi
