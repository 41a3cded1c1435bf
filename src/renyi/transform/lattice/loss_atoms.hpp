// Point masses of a loss: which lattice can hold them.
#pragma once

#include <optional>
#include <vector>

#include "renyi/fp/bracket.hpp"
#include "renyi/pair/pair.hpp"

namespace renyi::lattice {

struct PointMass {
    double loss, mass, loss_error;
};

// What the coarsest spans of a pair tell of its finite loss.
struct LossOutline {
    double low = 0.0, high = 0.0;        // ends of the losses
    double largest = 0.0;                // no finite loss is larger
    double surely_reached = -kInfinity;  // there are finite losses as large, unless there are none
    Bracket infinite{0.0, 0.0};
    bool only_atoms = true;
    std::vector<PointMass> atoms;  // of different losses, the heaviest first
};

LossOutline outline_of(const Pair& pair);

// The step of a lattice that holds all atoms of every part, if there is one: Euclid's algorithm on the differences of
// each part's losses, stopped at their rounding errors.
std::optional<double> common_step(const std::vector<LossOutline>& parts);

}  // namespace renyi::lattice
