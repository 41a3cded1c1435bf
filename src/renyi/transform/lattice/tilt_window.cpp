#include "renyi/transform/lattice/tilt_window.hpp"

#include <algorithm>
#include <cmath>

#include "renyi/transform/lattice/tilted_law.hpp"

namespace renyi::lattice {

namespace {

struct End {
    double distance, exponent;
};

// The loss beyond which, upwards (sign 1) or downwards (-1), the law tilted by `shift` has a mass of e^goal at most by
// E e^(s (L - x)), and the exponent s at which the bound reaches it.
End chernoff(const NodeLaws& blocks, double shift, double goal, double sign, double steepest) {
    constexpr int kTried = 24;
    const LogMoment k = log_moment(blocks, shift);
    const double guess = std::sqrt(-2.0 * goal / std::max(k.variance, 1e-300));
    End best{kInfinity, steepest};
    for (int i = 0; i < kTried; ++i) {
        const double s = std::min(guess * 0.01 * std::pow(300.0, i / (kTried - 1.0)), steepest);
        const double end = (log_moment(blocks, shift + sign * s).value - k.value - goal) / s;
        if (end < best.distance) best = {end, s};
    }
    return best;
}

}  // namespace

TiltWindow tilt_and_window(const NodeLaws& laws, const TiltChoice& choice, const CompositionGoal& goal,
                           double steepest) {
    const OwnedLaws blocks = tilted_blocks(laws, choice.slope);
    const double origin = log_moment(laws, choice.slope).value - log_moment(blocks.laws, 0.0).value;
    std::optional<TiltWindow> best;
    double first_size = 0.0;
    for (const double factor : {1.0, 0.85, 0.7, 0.55, 0.4}) {
        const double slope = factor * choice.slope, shift = slope - choice.slope;
        // Tilted, delta is this small; the mass outside is tolerated relative to it.
        const double tilted = origin + log_moment(blocks.laws, shift).value - slope * goal.epsilon;
        const double log_size = std::min(choice.log_delta - tilted, 0.0);
        if (!best) {
            first_size = log_size;
        } else if (log_size < first_size - 7.0) {
            break;
        }
        const double tolerated = std::max(std::log(1e-3 * goal.rtol / largest_weight(slope)) + log_size, -690.0);
        const End low = chernoff(blocks.laws, shift, tolerated, -1.0, steepest);
        const End high = chernoff(blocks.laws, shift, tolerated, 1.0, steepest);
        const TiltWindow found{slope, -low.distance, high.distance, low.exponent, high.exponent};
        if (!best || found.high - found.low < 0.8 * (best->high - best->low)) best = found;
    }
    return *best;
}

}  // namespace renyi::lattice
