// The privacy curve of few effective steps and heavy tails, where one vertical line serves badly: the sum is split by
// smooth windows of the loss at two levels.
//     base   every step below the inner level
//     jump   at least one step between the levels, none beyond
//     rest   at least one step beyond the outer level
// remove: a step beyond the outer level carries the sum beyond eps whatever the others do, so that the rest is
// P(any) - e^eps Q(any) and a gap E[(e^{eps - S} - 1)_+] that Chernoff's bound makes nothing of; the base does not
// reach eps, or is inverted on a line of its own.
// replace_one: the same, with an outer level beyond which nothing of delta is left, since others may lose as much.
// add: a step beyond the outer level leaves nothing of delta; below it the same is taken from a closed form
// (split_sum.cpp).
// Where delta is tiny, sums of one large loss and of several may be as likely, with tilts far apart: jumps by number.
// The jumps are a positive measure whose transform dies as fast as that of the windows (measure_inversion.hpp).
//
// The same serves one epoch of random allocation, whose likelihood ratio is 1 + (sum of t ratios less 1)/t: what is
// then sought is E[(S - x)_+], and the rests are closed forms of their own (split_sum.cpp).
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "renyi/fp/bracket.hpp"
#include "renyi/loss/direction.hpp"
#include "renyi/transform/measure_inversion.hpp"

namespace renyi {

class SplitSum {
public:
    // Steps with 0 < q <= 1 and finite sigma; q = 1 are Gaussian steps.
    SplitSum(std::span<const SampledStep> steps, SampledPair pair);

    // E[(S - x)_+] in place of delta(eps), S the sum of `count` ratios or reversed ratios.
    static SplitSum of_ratios(double count, double sigma, SampledPair pair);

    // Places windows and lines for eps, where delta is roughly e^log_delta or above.
    bool place(double epsilon, double log_delta);

    // What is sought at epsilon and its derivative, from the nodes, and certified ends.
    struct Value {
        double value, slope, lower, upper;
    };
    Value value(double epsilon) const noexcept;

    Bracket delta(double epsilon) const noexcept;
    // Standard deviation of the sum of losses, roughly, but for what happens in less than one of e^5 runs.
    double spread() const;

    // Newton's method on the nodes, then outward until the certified delta is on the right side.
    Bracket epsilon(double delta, double start) const noexcept;

private:
    // They affect width and time, not validity.
    static constexpr double kFew = 8.0;         // steps
    static constexpr double kDepth = 34.0;      // e^-34 of delta
    static constexpr double kNothing = 40.0;    // e^-40 of delta
    static constexpr double kMassDepth = 44.0;  // e^-44 of a mass
    static constexpr double kGapTilts[] = {3.0, 6.0, 12.0, 25.0, 50.0, 100.0, 200.0, 500.0, 1500.0};  // any is valid
    static constexpr double kMany = 64.0;       // whose moments are worth E[e^{t L}] - 1

    // Of ratios: masses of the window that decides, under Q and P, and their relative error.
    struct Decided {
        double mass = 0.0, weighted = 0.0, error = 0.0;
    };

    // P(any) - e^eps Q(any) or P(all) - e^eps Q(all), and what it misses.
    struct ClosedPart {
        double log_kept = 0.0, grown = 0.0, reverse = 0.0, error = 0.0;
        double kept_error = 0.0, grown_error = 0.0;  // of `add`, absolutely
        double gap_tilt = 0.0, log_gap = -kInfinity;
        double lost_tilt = 0.0, log_lost = -kInfinity;
        double ignored = 0.0;  // mass of steps that are nothing against delta
        Decided ratios;
        bool is_decided = false;
    };
    bool place_parts(double epsilon, double log_delta);
    double reach(double epsilon) const;
    std::vector<double> levels(double reach) const;
    std::vector<double> negligible_levels() const;
    double origin(const SplitStep& step) const noexcept;
    SplitSum(SampledPair pair, double count, double sigma);

    bool is_few() const noexcept {
        if (pair_ == SampledPair::reversed_ratio) return true;
        return count_ <= kFew && gaussian_ == 0.0 && pair_ != SampledPair::replace_one;
    }
    bool is_reversed() const noexcept { return pair_ == SampledPair::add || pair_ == SampledPair::reversed_ratio; }
    bool are_ratios() const noexcept { return pair_ == SampledPair::ratio || pair_ == SampledPair::reversed_ratio; }
    bool place_single_line(double x);
    bool find_closed_part_of_ratios(std::vector<SplitStep>& steps, double x);
    void bound_lost_ratios(const SplitStep& step, double x, double scale);
    Value closed_part_of_ratios(double x) const noexcept;
    static bool leave_out(const WindowedLaw& law, const WindowedNodes::Masses& m, LeftOut& to);
    static bool leave_out_ratio(const WindowedLaw& law, const WindowedNodes::Masses& m, LeftOut& to);
    void lower_levels(std::vector<SplitStep>& steps, std::vector<double>& outer, double ratio) const;
    void lower(std::vector<SplitStep>& steps, std::vector<double>& outer, double ratio) const;
    bool place_numbers(const SplitStep& above, const SplitStep& below, double epsilon, double& scale);
    // Direction add (split_sum.cpp): what of it is left for the parts of `remove`.
    enum class Below { nothing, unplaced, failed };
    Below place_add(std::vector<SplitStep>& steps, std::vector<double>& outer, double epsilon);
    bool place_frequent(std::vector<SplitStep> steps, double epsilon);
    bool place_whole(const std::vector<SplitStep>& steps, double epsilon);
    bool leave_out_mass(SplitStep& step, const LossWindow& window) const;
    static void turn(std::vector<SplitStep>& steps) noexcept;
    bool find_closed_part(std::vector<SplitStep>& steps, double epsilon);
    bool find_closed_part_of_add(const std::vector<SplitStep>& steps);
    Value closed_part_of_add(double epsilon) const noexcept;
    double log_whole_moment(std::span<const SplitStep> steps, const std::vector<std::optional<WindowedLaw>>& whole,
                            double s) const;
    void bound_gap(std::span<const SplitStep> steps, const std::vector<WindowedLaw>& decisive,
                   const std::vector<double>& counts, double margin, double epsilon);
    double least_sum() const noexcept;
    double reach_of_add(double epsilon) const noexcept;
    double lost(double epsilon) const noexcept;
    Value closed_part(double epsilon) const noexcept;

    SampledPair pair_;
    std::vector<SampledStep> steps_;
    std::vector<SampledLoss> laws_;  // of the steps
    double gaussian_ = 0.0, count_ = 0.0, log_delta_ = 0.0;
    bool placed_ = false;
    ClosedPart closed_;
    LossStep outer_;           // of `add`, above the least loss
    double deviations_ = 0.0;  // deviations of the Gaussian steps beyond which they are not followed
    std::vector<MeasureInversion> parts_;
};

}  // namespace renyi
