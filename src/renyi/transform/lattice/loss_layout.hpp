// The lattices of all parts of a composition at one step.
#pragma once

#include <cstdint>
#include <vector>

#include "renyi/transform/lattice/loss_atoms.hpp"
#include "renyi/transform/lattice/node_law.hpp"

namespace renyi::lattice {

// A pair and how often it is used.
struct LossPart {
    PairPointer pair;
    std::int64_t count;
};

struct LossRange {
    double low, high;
};

// What is wanted: delta at epsilon, to a relative width, with so many nodes at most; from above alone, perhaps.
struct CompositionGoal {
    double epsilon, rtol;
    std::int64_t max_points;
    bool upper_only = false;
};

class LossLayout {
public:
    // Lattices of about so many nodes over all losses; ranges that are too wide for any step are cut.
    LossLayout(const std::vector<LossPart>& parts, const std::vector<LossOutline>& outlines, std::int64_t max_points,
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
    // About what the upper masses were before they were spread, seen at a tilt: e^{tL} is spread by t (t+1)/2 of the
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

}  // namespace renyi::lattice
