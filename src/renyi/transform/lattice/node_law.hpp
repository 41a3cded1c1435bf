// The log moment function of composed lattice losses; it places tilts and windows, and nothing is certified by it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "renyi/transform/lattice/lattice.hpp"

namespace renyi::lattice {

// The law of one part's loss: log masses at increasing losses. The first `bulk` of them count as small
// (tilt_choice.hpp).
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

}  // namespace renyi::lattice
