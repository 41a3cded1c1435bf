// Refinement of a layout until both sides agree.
#pragma once

#include "renyi/transform/lattice/loss_layout.hpp"
#include "renyi/transform/lattice/tilt_choice.hpp"

namespace renyi::lattice {

struct Refined {
    TiltChoice choice;
    LossLayout layout;
};

// About how much the moment function of the upper side exceeds that of the composition, at the tilt.
double spread_gap(const LossLayout& layout, const TiltChoice& choice);

// Reduces the step until both sides' log moment functions agree at the tilt, or the cap is reached.
Refined refined(LossLayout layout, const CompositionGoal& goal);

}  // namespace renyi::lattice
