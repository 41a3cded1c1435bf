// Where to place the tilt and the window of a composition, and which outcomes to leave out; nothing here is certified.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "renyi/transform/lattice/lattice.hpp"

namespace renyi::lattice {

// What is wanted: delta at epsilon, to a relative width, with so many nodes at most; from above alone, perhaps.
struct CompositionGoal {
    double epsilon, rtol;
    std::int64_t max_points;
    bool upper_only = false;
};

// The law of one part's loss: log masses at increasing losses. The first `bulk` of them count as small (see choose_tilt).
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
    // The law tilted by t, of sum 1, in a few thousand blocks; its bulk is so many blocks.
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
    double log_delta = 0.0;        // about
    double log_tail = -kInfinity;  // log mass to cut off above
    double limit = -kInfinity;     // losses up to it are bulk
    double bulk_slope = 1.0;       // where Chernoff's bound on outcomes all in the bulk is least
};

// t > 0 where K(t) - epsilon t - log t - log(1 + t) is least, within 1 %; from a tilt near it, if one is known.
double saddle(const NodeLaws& laws, double epsilon, std::optional<double> near = {});

// The saddle-point approximation of log delta, at its saddle t.
double log_delta_at(const NodeLaws& laws, double t, double epsilon);

// What makes delta(epsilon) stand out. With few effective steps delta comes from one large loss, and no tilt makes that
// likely: then outcomes in which every loss is small are left out and bounded apart.
TiltChoice choose_tilt(const NodeLaws& laws, double epsilon, double rtol);

// The tilt to compose at and the losses that hold the tilted mass; what they leave out is bounded apart.
struct TiltWindow {
    double slope;
    double low, high;              // losses of the composition
    double low_shift, high_shift;  // exponents with which Markov's inequality shows that little is outside
};

// The saddle makes rounding errors least. With heavy tails a smaller tilt needs a shorter window, and some of the
// sixteen digits can be spared for it. No exponent is above `steepest`.
TiltWindow tilt_and_window(const NodeLaws& laws, const TiltChoice& choice, const CompositionGoal& goal,
                           double steepest);

}  // namespace renyi::lattice
