// Refinement of a layout until both sides agree.
#pragma once

#include "renyi/transform/loss_layout.hpp"
#include "renyi/transform/tilt_choice.hpp"

namespace renyi {

struct Refined {
    TiltChoice choice;
    LossLayout layout;
};

// Reduces the step until both sides' log moment functions agree at the tilt, or the cap is reached.
Refined refined(LossLayout layout, const CompositionGoal& goal);

}  // namespace renyi
