// Certified brackets of delta(epsilon) and epsilon(delta) of a composition: independent, possibly adaptive uses of
// several pairs, in one direction.
//
// One use alone is a sum over spans. Otherwise the loss is discretised from both sides with one step, chosen so that
// the log moment functions of the two sides differ by less than `rtol` at the tilt, and composed by FFT; the results
// enclose delta whatever was chosen. Results are kept: questions nearby are answered from them.
//
// Of pairs that are known by two each side is composed by itself, roughly where the two are far apart.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "renyi/transform/lattice/composed_sides.hpp"
#include "renyi/transform/lattice/merged_parts.hpp"

namespace renyi::lattice {

class LossComposition {
public:
    // Counts are in [0, 1e9] in all, rtol in [1e-12, 1] is the relative width of delta that is aimed for, max_points in
    // [2^10, 2^26] the nodes that a lattice or window may have. Where that is reached brackets are wider.
    // With `upper_only` the lower ends are estimates.
    LossComposition(const std::vector<LossPart>& parts, double rtol, std::int64_t max_points, bool upper_only = false);

    // delta in [0, 1] at any epsilon, infinite ones included. Where `known` is certainly enough the answer may be rough.
    Bracket delta(double epsilon, FourierTransform& fourier, double known = 0.0);

    // The least epsilon with delta(epsilon) <= delta, for delta in [0, 1]: negative where even P and Q exchanged would
    // satisfy it; inf below the infinite mass. `known` likewise.
    Bracket epsilon(double delta, FourierTransform& fourier, double known = -kInfinity);

private:
    bool alone() const noexcept { return merged_.parts.size() == 1 && merged_.parts[0].count == 1; }
    Bracket known_delta(double epsilon);  // as far as lattices were composed already
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
        std::unique_ptr<LossComposition> above, below;

        Bracket delta(double epsilon, FourierTransform& fourier) const;
        Bracket epsilon(double delta, FourierTransform& fourier) const;
        bool are_apart(double epsilon, FourierTransform& fourier) const;
    };
    static Sides sides_of(const std::vector<LossPart>& parts, double rtol_above, double rtol_below,
                          std::int64_t max_points);
    void compose_apart(const std::vector<LossPart>& parts);
    Bracket two_sided_delta(double epsilon, FourierTransform& fourier, double known) const;
    Bracket two_sided_epsilon(double delta, FourierTransform& fourier, double known) const;
    LossComposition* scout();

    std::optional<Sides> rough_, middle_, fine_;  // where sides differ, instead of all that follows
    MergedParts merged_;
    double rtol_;
    std::int64_t max_points_;
    bool upper_only_;
    std::vector<LossOutline> outlines_;
    Bracket infinite_{0.0, 0.0};
    double largest_, reached_;  // no finite loss exceeds the one, some reach the other
    std::mutex mutex_;          // of what follows
    std::vector<ComposedSides> solved_;
    std::optional<LossLayout> coarse_, finest_;
    double finest_width_ = 0.0;  // of the bracket that it gave, relative
    std::once_flag scouted_;
    std::unique_ptr<LossComposition> scout_;  // a rough one
};

}  // namespace renyi::lattice
