// The tilt to compose at and the losses that hold the tilted mass; what they leave out is bounded apart.
#pragma once

#include "renyi/transform/lattice/loss_layout.hpp"
#include "renyi/transform/lattice/tilt_choice.hpp"

namespace renyi::lattice {

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
