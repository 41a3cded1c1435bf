// The privacy curve of few effective steps with heavy tails. One vertical line serves badly there, so the sum is split
// by smooth windows of the loss at two levels.
//     base   every step below the inner level
//     jump   at least one step between the levels, none beyond
//     rest   at least one step beyond the outer level
// remove: a step beyond the outer level carries the sum beyond eps, whatever the other steps lose. The rest is then
// P(any) - e^eps Q(any) plus a gap E[(e^{eps - S} - 1)_+], which Chernoff's bound shows to be negligible. The base does
// not reach eps, or is inverted on a line of its own.
// replace_one: the same, but another step may offset a large loss, so beyond the outer level delta is negligible.
// add: sums with a step beyond the outer level contribute next to nothing. Below that level delta is a closed form
// plus a part of `remove` (split_sum.cpp).
// Where delta is tiny, sums of one large loss and of several may be equally likely, with tilts far apart. The jumps are
// then inverted by their number. They are a positive measure whose transform decays as fast as that of the windows
// (measure_inversion.hpp).
//
// The same method serves one epoch of random allocation, whose likelihood ratio is 1 + (sum of t ratios less 1)/t. The
// quantity sought is then E[(S - x)_+], and the rest has a closed form of its own (split_sum_of_ratios.cpp).
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "renyi/fp/bracket.hpp"
#include "renyi/loss/sampled_gaussian.hpp"
#include "renyi/transform/measure_inversion.hpp"

namespace renyi {

class SplitSum {
public:
    // Steps with 0 < q <= 1 and finite sigma; q = 1 are Gaussian steps.
    SplitSum(std::span<const SampledStep> steps, SampledPair pair);

    // The split sum for E[(S - x)_+] in place of delta(eps), where S is the sum of `count` ratios or reversed ratios.
    static SplitSum of_ratios(double count, double sigma, SampledPair pair);

    // Places windows and lines for eps, where delta is roughly e^log_delta or above.
    bool place(double epsilon, double log_delta);

    // The quantity sought at epsilon and its derivative, both from the nodes, and certified bounds of the quantity.
    struct Value {
        double value, slope, lower, upper;
    };
    Value value(double epsilon) const noexcept;

    Bracket delta(double epsilon) const noexcept;
    // The approximate standard deviation of the sum of losses, without events that happen in less than one of e^5 runs.
    double spread() const;

    // Runs Newton's method on the nodes, then moves both ends outward until the certified delta is on the right side.
    Bracket epsilon(double delta, double start) const noexcept;

private:
    // Tuning: these affect width and time, not validity.
    static constexpr double kFew = 8.0;         // number of steps up to which they count as few
    static constexpr double kDepth = 34.0;      // nats: the error of a line is e^-34 of delta
    static constexpr double kNothing = 40.0;    // nats: e^-40 of delta is negligible
    static constexpr double kMassDepth = 44.0;  // nats: nodes miss e^-44 of a mass
    static constexpr double kGapTilts[] = {3.0, 6.0, 12.0, 25.0, 50.0, 100.0, 200.0, 500.0, 1500.0};  // any is valid
    static constexpr double kMany = 64.0;       // number of steps above which moments are taken from E[e^{t L}] - 1

    // For ratios: the masses of the decisive window under Q and P, and their relative error.
    struct Decided {
        double mass = 0.0, weighted = 0.0, error = 0.0;
    };

    // P(any) - e^eps Q(any) or P(all) - e^eps Q(all), and bounds of what it misses.
    struct ClosedPart {
        double log_kept = 0.0, grown = 0.0, reverse = 0.0, error = 0.0;
        double kept_error = 0.0, grown_error = 0.0;  // for `add`, absolute
        double gap_tilt = 0.0, log_gap = -kInfinity;
        double lost_tilt = 0.0, log_lost = -kInfinity;
        double ignored = 0.0;  // mass of the steps that are negligible against delta
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
    // Direction add (split_sum.cpp): whether a part is left that the parts of `remove` must place.
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
    LossStep outer_;           // the outer window of `add`, measured from the least loss
    double deviations_ = 0.0;  // number of standard deviations up to which the Gaussian steps are followed
    std::vector<MeasureInversion> parts_;
};

}  // namespace renyi
