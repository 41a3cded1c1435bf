// The privacy curve of few effective steps and heavy tails, where one vertical line serves badly: the sum is split by
// smooth windows of the loss at two levels.
//     base   every step below the inner level
//     jump   at least one step between the levels, none beyond
//     rest   at least one step beyond the outer level
// remove: a step beyond the outer level carries the sum beyond eps whatever the others do, so that the rest is
// P(any) - e^eps Q(any) and a gap E[(e^{eps - S} - 1)_+] that Chernoff's bound makes nothing of; the base does not
// reach eps, or is inverted on a line of its own.
// replace_one: the same, with an outer level beyond which nothing of delta is left, since others may lose as much.
// add: it is the base that is beyond eps for sure, and the rest that does not reach it.
// The jumps are a positive measure whose transform dies as fast as that of the windows (measure_inversion.hpp).
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "renyi/fp/bracket.hpp"
#include "renyi/loss/sampled_step.hpp"
#include "renyi/transform/measure_inversion.hpp"

namespace renyi {

class SplitSum {
public:
    // Steps with 0 < q <= 1 and finite sigma; q = 1 are Gaussian steps.
    SplitSum(std::span<const SampledStep> steps, SampledPair pair);

    // Places windows and lines for eps, where delta is roughly e^log_delta or above.
    bool place(double epsilon, double log_delta);

    Bracket delta(double epsilon) const noexcept;
    // Newton's method on the nodes, then outward until delta is certainly on the right side.
    Bracket epsilon(double delta, double start) const noexcept;

private:
    static constexpr double kFew = 8.0;         // steps
    static constexpr double kDepth = 34.0;      // e^-34 of delta
    static constexpr double kNothing = 40.0;    // e^-40 of delta
    static constexpr double kMassDepth = 44.0;  // e^-44 of a mass
    static constexpr double kMany = 64.0;       // whose moments are worth E[e^{t L}] - 1

    // P(any) - e^eps Q(any) or P(all) - e^eps Q(all), and what it misses.
    struct Sure {
        double log_kept = 0.0, grown = 0.0, reverse = 0.0, error = 0.0;
        double kept_error = 0.0;  // of log_kept, absolutely, where it is that of a mass next to 1
        double gap_tilt = 0.0, log_gap = -kInfinity;
        double lost_tilt = 0.0, log_lost = -kInfinity;
        double ignored = 0.0;  // mass of steps that are nothing against delta
    };
    struct Value {
        double value, slope, lower, upper;  // slope: of the value itself
    };

    bool place_parts(double epsilon, double log_delta);
    std::vector<double> levels(double epsilon) const;
    std::vector<double> unseen_levels() const;
    double origin(const SplitStep& step) const noexcept;
    bool is_few() const noexcept { return count_ <= kFew && gaussian_ == 0.0 && pair_ != SampledPair::replace_one; }
    static void leave_out(const WindowedLaw& law, const WindowedNodes::Masses& m, LeftOut& to);
    bool weigh(std::vector<SplitStep>& steps, double epsilon);
    double log_whole_moment(std::span<const SplitStep> steps, double s) const;
    void bound_gap(std::span<const SplitStep> steps, const std::vector<WindowedLaw>& decisive,
                   const std::vector<double>& counts, double margin, double epsilon);
    void bound_lost(std::span<const SplitStep> steps, const std::vector<WindowedLaw>& lost,
                    const std::vector<double>& counts, double margin, double epsilon);
    Value sure(double epsilon) const noexcept;
    Value value(double epsilon) const noexcept;
    double spread() const;

    SampledPair pair_;
    std::vector<SampledStep> steps_;
    double gaussian_ = 0.0, count_ = 0.0, log_delta_ = 0.0;
    bool placed_ = false;
    Sure sure_;
    std::vector<MeasureInversion> parts_;
};

}  // namespace renyi
