// The privacy curve of a composition of Poisson-sampled Gaussian steps by the best route for it:
//   nothing released                  delta = max(0, 1 - e^eps)
//   only Gaussian steps               closed form (closed_curve.hpp)
//   one step                          closed form (closed_curve.hpp)
//   the transform decays              one vertical line (contour.hpp), of delta or, next to 1, of 1 - delta; tried
//                                     before what follows
//   little noise, remove              a binomial mean over the steps with the record (included_records.hpp), or a line
//                                     (inclusion_line.hpp)
//   few effective steps, heavy tails  split sum (split_sum.hpp)
//   none of these is narrow           Chernoff's bound, basic composition, single events
// Every answer is a proven bracket. Wide brackets are intersected with each other; where no route is narrow, the answer
// is wide and still valid.
// Where records are replaced there are the closed form of Gaussian steps (their sigma in units of the distance between
// neighbours) and the split sum only. Steps have q in [0, 1], sigma in (0, inf] and counts >= 0. Their order does not
// matter, to the last bit.
#pragma once

#include <memory>
#include <span>

#include "renyi/curve/contour.hpp"
#include "renyi/transform/sampled_loss.hpp"

namespace renyi {

class CurveSolver;

// The route that answered; for several questions, that of the last.
enum class Route { nothing_new, closed_form, bounds, line, inclusion_line, split_sum, long_line };

// The curve of one composition. Later questions reuse the contours of earlier ones, so that nearby questions are cheap.
class PrivacyCurve {
public:
    PrivacyCurve(std::span<const SampledStep> steps, SampledPair pair);
    ~PrivacyCurve();

    // In any order. If a quick bound proves that known[i] is valid, it may be returned as the upper end.
    void delta(std::span<const double> epsilons, std::span<const double> known, Bracket* answers);
    // 0 <= delta <= 1; epsilons of either sign.
    void epsilon(std::span<const double> deltas, std::span<const double> known, Bracket* answers);

    // A quick upper bound of delta, usually within a factor of ten.
    double rough_delta(double epsilon) const noexcept;

    // The route of the last question.
    Route route() const noexcept;

private:
    std::unique_ptr<CurveSolver> solver_;
};

// epsilon after `steps` and each number of repetitions of `repeated`.
void curve_epsilon_after(std::span<const SampledStep> steps, std::span<const SampledStep> repeated, SampledPair pair,
                         std::span<const double> times, double delta, Bracket* answers);

}  // namespace renyi
