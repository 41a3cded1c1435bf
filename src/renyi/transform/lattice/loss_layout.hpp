// The lattices of all parts of a composition at one step, and the choice of the tilt, of the window, and of the
// outcomes to leave out. Only the lattices are certified here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "renyi/fp/bracket.hpp"
#include "renyi/pair/composition.hpp"
#include "renyi/transform/lattice/lattice.hpp"

namespace renyi::lattice {

// The goal: delta at epsilon, to the relative width rtol, with at most max_points nodes; perhaps from above alone.
struct CompositionGoal {
    double epsilon, rtol;
    std::int64_t max_points;
    bool upper_only = false;
};

// The law of one part's loss: log masses at increasing losses. The first `bulk` of them count as small (see
// choose_tilt).
struct NodeLaw {
    std::span<const double> logs, losses;
    std::span<const double> above;  // mass at and above each loss
    double count;
    std::size_t bulk = 0;

    std::size_t size() const noexcept { return logs.size(); }
    NodeLaw first(std::size_t n) const noexcept;  // without the losses from the n-th on
};

using NodeLaws = std::vector<NodeLaw>;

// The arrays that laws are views of.
class NodeLawArrays {
public:
    void add(double log_mass, double loss) {
        logs_.push_back(log_mass);
        losses_.push_back(loss);
    }
    void reserve(std::size_t n);
    NodeLaw law(double count);  // of all that was added

    // The masses of a lattice, zeros left out.
    static NodeLawArrays of(const Lattice& lattice, std::span<const double> masses);
    // The law in about a thousand blocks.
    static NodeLawArrays in_blocks(const NodeLaw& law);
    // The law tilted by t, of sum 1, in a few thousand blocks. Sets `bulk` to the number of blocks in the bulk.
    static NodeLawArrays tilted(const NodeLaw& law, double t, std::size_t& bulk);

private:
    std::vector<double> logs_, losses_, above_;
};

// Laws together with their arrays.
struct OwnedLaws {
    std::vector<NodeLawArrays> arrays;
    NodeLaws laws;

    OwnedLaws() = default;
    OwnedLaws(OwnedLaws&&) = default;  // vectors keep their storage when they are moved
    OwnedLaws& operator=(OwnedLaws&&) = default;
    void add(NodeLawArrays of_one, double count, std::size_t bulk = 0);
};

void set_bulk(NodeLaws& laws, double limit);  // losses up to the limit are bulk
bool bulk_splits_all(const NodeLaws& laws);   // into two parts that are not empty
NodeLaws bulk_alone(const NodeLaws& laws);
// Each law cut where its count times the mass above falls below e^log_tail, not inside the bulk.
NodeLaws truncated(const NodeLaws& laws, double log_tail);
OwnedLaws tilted_blocks(const NodeLaws& laws, double t);

struct LogMoment {
    double value, mean, variance;  // K(t), K'(t), K''(t)
};

// K = log(prod (b + s)^count - prod b^count) of the sum of all parts less the outcomes all in the bulk, b and s the
// sums over bulk and rest: a positive measure, computed without cancellation from log1p(s/b).
LogMoment log_moment(const NodeLaws& laws, double t);

// How to compose for delta(epsilon).
struct TiltChoice {
    double slope = 1.0;
    double log_delta = 0.0;        // approximate
    double log_tail = -kInfinity;  // log mass to cut off above
    double limit = -kInfinity;     // losses up to it are bulk
    double bulk_slope = 1.0;       // where Chernoff's bound on outcomes all in the bulk is least
};

// t > 0 where K(t) - epsilon t - log t - log(1 + t) is least, within 1 %; from a tilt near it, if one is known.
double saddle(const NodeLaws& laws, double epsilon, std::optional<double> near = {});

// The saddle-point approximation of log delta, at its saddle t.
double log_delta_at(const NodeLaws& laws, double t, double epsilon);

// Chooses the composition that makes delta(epsilon) stand out. With few effective steps delta comes from one large
// loss, which no tilt makes likely. Then outcomes in which every loss is small are left out and bounded separately.
TiltChoice choose_tilt(const NodeLaws& laws, double epsilon, double rtol);

// The tilt to compose at and the losses that hold the tilted mass; the mass that they leave out is bounded separately.
struct TiltWindow {
    double slope;
    double low, high;              // losses of the composition
    double low_shift, high_shift;  // exponents with which Markov's inequality shows that little is outside
};

// The saddle makes rounding errors least. With heavy tails a smaller tilt needs a shorter window, and some of the
// sixteen digits can be spared for it. No exponent is above `steepest`.
TiltWindow tilt_and_window(const NodeLaws& laws, const TiltChoice& choice, const CompositionGoal& goal,
                           double steepest);

// A point mass of a loss, for the search of a lattice that holds all of them.
struct PointMass {
    double loss, mass, loss_error;
};

// The finite loss of a pair as far as its coarsest spans describe it.
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
    // Makes lattices of about `nodes` nodes over all losses. Ranges that are too wide for any step are cut.
    LossLayout(const std::vector<CountedPair>& parts, const std::vector<LossOutline>& outlines, std::int64_t max_points,
               std::int64_t nodes);

    double step() const noexcept { return step_; }
    // Whether all losses are at nodes, so that no step does better.
    bool exact() const noexcept { return exact_; }
    // Whether a smaller step would not bring both sides together.
    bool final() const noexcept { return final_; }
    const std::vector<LatticePair>& pairs() const noexcept { return pairs_; }
    const std::vector<LossRange>& ranges() const noexcept { return ranges_; }
    std::int64_t count(std::size_t i) const noexcept { return counts_[i]; }
    double uses() const noexcept;
    std::int64_t longest() const noexcept;  // the largest number of nodes of a part
    OwnedLaws laws(Side side) const;
    // The upper laws approximately before they were spread, estimated at a tilt: spreading changes e^{tL} by t (t+1)/2
    // of the squared distance.
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

// Approximates by how much the moment function of the upper side exceeds that of the composition, at the tilt.
double spread_gap(const LossLayout& layout, const TiltChoice& choice);

// Reduces the step until both sides' log moment functions agree at the tilt, or the cap is reached.
Refined refined(LossLayout layout, const CompositionGoal& goal);

}  // namespace renyi::lattice
