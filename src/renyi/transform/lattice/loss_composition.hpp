// Certified brackets of delta(epsilon) and epsilon(delta) of a composition: independent, possibly adaptive uses of
// several pairs, in one direction.
//
// One use alone is a sum over spans. Otherwise the loss is discretised from both sides with one step, chosen so that
// the log moment functions of the two sides differ by less than `rtol` at the tilt, and composed by FFT. The results
// enclose delta whatever the step. Results are kept and answer questions nearby.
//
// Where a pair is known by one pair above and one below, each side is composed by itself, and only roughly where the
// two sides are far apart.
#pragma once

#include <algorithm>
#include <cmath>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "renyi/fp/bracket.hpp"
#include "renyi/fp/certified.hpp"
#include "renyi/fp/search.hpp"
#include "renyi/pair/pair.hpp"
#include "renyi/transform/lattice/composed_sides.hpp"
#include "renyi/transform/lattice/loss_layout.hpp"

namespace renyi::lattice {

// Where a falling bound of delta(epsilon) crosses a given delta: curve(low) > delta >= curve(high), with ends as near
// as `close`, relative to their size. An end that is not found is infinite.
struct Crossing {
    double low, high;
};

// A point where a lower bound exceeds delta is below epsilon(delta), and a point where an upper bound does not exceed
// delta is above epsilon(delta), however the points were found.
template <class Curve>
Crossing log_crossing(const Curve& curve, double delta, double start, double stride, double close) {
    constexpr int kStrides = 40, kSteps = 200;
    constexpr double kGrowth = 1.5;
    const auto log_excess = [delta](double value) {
        if (!(value > 0.0)) return -kInfinity;
        return delta > 0.0 ? std::log(value / delta) : kInfinity;
    };
    double low = start, high = start, above = curve(start), below = above;
    for (double reach = stride, i = 0; !(above > delta); reach *= kGrowth, ++i) {
        if (i == kStrides) return {-kInfinity, low};
        high = low;
        below = above;
        low -= reach;
        above = curve(low);
    }
    for (double reach = stride, i = 0; below > delta; reach *= kGrowth, ++i) {
        if (i == kStrides) return {high, kInfinity};
        low = high;
        above = below;
        high += reach;
        below = curve(high);
    }
    FalsePosition ends{low, high, log_excess(above), log_excess(below)};
    for (int step = 0; step < kSteps; ++step) {
        const double least = close * std::max(std::fabs(ends.low), std::fabs(ends.high));
        if (ends.width() <= 2.0 * least) break;
        // Log delta is nearly linear. The point is no closer to an end than the accuracy asked for.
        double middle = ends.low + 0.5 * ends.width();
        if (step % 4 != 3 && std::isfinite(ends.at_low) && std::isfinite(ends.at_high)) {
            middle = std::min(std::max(ends.low + ends.width() * ends.part(), ends.low + least), ends.high - least);
        }
        if (!(ends.low < middle && middle < ends.high)) break;
        const double value = curve(middle);
        value > delta ? ends.move_low(middle, log_excess(value)) : ends.move_high(middle, log_excess(value));
    }
    return {ends.low, ends.high};
}

// One use of a pair: delta(epsilon) = E_P[(1 - e^(epsilon - L))_+] is a sum over its spans, no lattice is needed.
// Encloses delta(epsilon); losses may have an error of `drift` beyond the errors of the spans.
Bracket single_delta(const Pair& pair, double epsilon, double drift = 0.0);

// Encloses the least epsilon with delta(epsilon) <= delta; -inf and inf where there is none.
Bracket single_epsilon(const Pair& pair, double delta, double drift = 0.0);

// The parts, with all Gaussians among them merged into one.
struct GaussiansMerged {
    std::vector<CountedPair> parts;
    double drift = 0.0;  // how far the merge may have moved the loss
};

GaussiansMerged merge_gaussians(const std::vector<CountedPair>& parts);

class LossComposition {
public:
    // The sum of all counts is in [0, 1e9]. rtol in [1e-12, 1] is the target for the relative width of delta.
    // max_points in [2^10, 2^26] is the largest number of nodes of a lattice or window; where it is reached brackets
    // are wider. With `upper_only` the lower ends are estimates.
    LossComposition(const std::vector<CountedPair>& parts, double rtol, std::int64_t max_points,
                    bool upper_only = false);

    // delta in [0, 1] at any epsilon, infinite ones included. If a quick bound proves that `known` is valid, the answer
    // may be rough.
    Bracket delta(double epsilon, FourierTransform& fourier, double known = 0.0);

    // The least epsilon with delta(epsilon) <= delta, for delta in [0, 1]: negative where even P and Q exchanged would
    // satisfy it; inf below the infinite mass. `known` likewise.
    Bracket epsilon(double delta, FourierTransform& fourier, double known = -kInfinity);

private:
    bool alone() const noexcept { return merged_.parts.size() == 1 && merged_.parts[0].count == 1; }
    Bracket known_delta(double epsilon);  // from the lattices composed so far
    Bracket composed_delta(double epsilon, FourierTransform& fourier);
    Bracket composed_epsilon(double delta, Bracket best, FourierTransform& fourier);
    bool is_near(Bracket epsilons) const;
    bool is_tight(Bracket epsilons, double delta) const;
    const ComposedSides& solve(double epsilon, FourierTransform& fourier);
    std::optional<ComposedSides> solve_again(const CompositionGoal& goal, FourierTransform& fourier);
    ComposedSides solve_anew(const CompositionGoal& goal, FourierTransform& fourier);
    const LossLayout& coarse_layout();
    double guess(double delta);

    // The upper and the lower sides of the parts.
    struct Sides {
        std::shared_ptr<LossComposition> above, below;

        Bracket delta(double epsilon, FourierTransform& fourier) const;
        Bracket epsilon(double delta, FourierTransform& fourier) const;
        bool are_apart(double epsilon, FourierTransform& fourier) const;
    };
    static Sides sides_of(const std::vector<CountedPair>& parts, double rtol_above, double rtol_below,
                          std::int64_t max_points);
    void compose_apart(const std::vector<CountedPair>& parts);
    Bracket two_sided_delta(double epsilon, FourierTransform& fourier, double known) const;
    Bracket two_sided_epsilon(double delta, FourierTransform& fourier, double known) const;
    LossComposition* scout();

    std::optional<Sides> rough_, middle_, fine_;  // where the sides are composed apart, in place of all that follows
    std::unique_ptr<LossComposition> finest_below_;
    GaussiansMerged merged_;
    double rtol_;
    std::int64_t max_points_;
    bool upper_only_;
    std::vector<LossOutline> outlines_;
    Bracket infinite_{0.0, 0.0};
    double largest_, reached_;  // no finite loss exceeds the first, some finite losses reach the second
    std::mutex mutex_;          // guards the members below
    std::vector<ComposedSides> solved_;
    std::optional<LossLayout> coarse_, finest_;
    double finest_width_ = 0.0;  // relative width of the bracket that finest_ gave
    std::once_flag scouted_;
    std::unique_ptr<LossComposition> scout_;  // a rough composition
};

}  // namespace renyi::lattice
