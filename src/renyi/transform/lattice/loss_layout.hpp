// The lattices of all parts of a composition at one step.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "renyi/fp/bracket.hpp"
#include "renyi/pair/composition.hpp"
#include "renyi/transform/lattice/tilt_placement.hpp"

namespace renyi::lattice {

// Point masses of a loss: which lattice can hold them.
struct PointMass {
    double loss, mass, loss_error;
};

// What the coarsest spans of a pair tell of its finite loss.
struct LossOutline {
    double low = 0.0, high = 0.0;         // ends of the losses
    double largest = 0.0;                 // no finite loss is larger
    double largest_reached = -kInfinity;  // a finite loss at least as large exists; -inf without finite losses
    Bracket infinite{0.0, 0.0};
    bool only_atoms = true;
    std::vector<PointMass> atoms;  // of different losses, the heaviest first
};

LossOutline outline_of(const Pair& pair);

// The step of a lattice that holds all atoms of every part, if there is one: Euclid's algorithm on the differences of
// each part's losses, stopped at their rounding errors.
std::optional<double> common_step(const std::vector<LossOutline>& parts);

struct LossRange {
    double low, high;
};

class LossLayout {
public:
    // Lattices of about so many nodes over all losses; ranges that are too wide for any step are cut.
    LossLayout(const std::vector<CountedPair>& parts, const std::vector<LossOutline>& outlines, std::int64_t max_points,
               std::int64_t nodes);

    double step() const noexcept { return step_; }
    // All losses are at nodes: no step does better.
    bool exact() const noexcept { return exact_; }
    // A smaller step would not bring both sides together.
    bool final() const noexcept { return final_; }
    const std::vector<LatticePair>& pairs() const noexcept { return pairs_; }
    const std::vector<LossRange>& ranges() const noexcept { return ranges_; }
    std::int64_t count(std::size_t i) const noexcept { return counts_[i]; }
    double uses() const noexcept;
    std::int64_t longest() const noexcept;  // nodes of a part
    OwnedLaws laws(Side side) const;
    // About what the upper masses were before they were spread, estimated at a tilt: e^{tL} is spread by t (t+1)/2 of the
    // squared distance.
    OwnedLaws unspread_laws(double tilt) const;

    LossLayout with_step(double step, const std::vector<LossRange>& ranges) const;
    LossLayout coarsened(double step) const;  // to this step or a larger one
    // The same lattices on shorter ranges, if they are much shorter.
    LossLayout cropped(const std::vector<LossRange>& ranges) const;
    LossLayout as_final() const;

private:
    LossLayout made(double step, const std::vector<LossRange>& ranges) const;
    void discretise_all();

    std::vector<PairPointer> parts_;
    std::vector<std::int64_t> counts_;
    std::vector<LossRange> ranges_;
    std::vector<double> anchors_;  // losses that are at nodes
    double step_;
    double quantum_ = 0.0;  // smaller steps divide it, so that two atoms are on nodes
    bool exact_, final_ = false;
    std::vector<LatticePair> pairs_;
};

// Refinement of a layout until both sides agree.
struct Refined {
    TiltChoice choice;
    LossLayout layout;
};

// About how much the moment function of the upper side exceeds that of the composition, at the tilt.
double spread_gap(const LossLayout& layout, const TiltChoice& choice);

// Reduces the step until both sides' log moment functions agree at the tilt, or the cap is reached.
Refined refined(LossLayout layout, const CompositionGoal& goal);

}  // namespace renyi::lattice
