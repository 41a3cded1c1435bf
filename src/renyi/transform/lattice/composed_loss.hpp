// delta(epsilon) from the tilted law of one side of a composition.
//
//     delta(epsilon) = infinite + e^(log_scale - theta start) * sum of weights(k) masses(start + k),
//
// start the first node above epsilon and weights(k) = (1 - e^-x) e^(-theta k), x the distance to epsilon: a sum of
// non-negative terms. The bound adds, or subtracts, the errors of the masses times the sum of the weights, and the mass
// that the window does not hold or holds twice times the largest weight.
#pragma once

#include <memory>
#include <optional>

#include "renyi/fp/double_double.hpp"
#include "renyi/pair/pair.hpp"
#include "renyi/transform/lattice/tilted_law.hpp"

namespace renyi::lattice {

// What outcomes all in the bulk give to delta is at most e^(log_factor - slope epsilon).
struct LeftOut {
    double log_factor, slope;
};

struct ComposedLoss {
    Side side;
    double step;
    DoubleDouble offset;  // of the nodes' losses, to 2^-98 of its terms, which are below offset_terms
    double offset_terms;
    Tilt tilt;
    Window window;
    std::shared_ptr<const TailSums> law;
    Int128 log_scale;       // the true mass of node n is its tilted one times e^(log_scale / 2^bits - theta n)
    double outside;         // bounds the tilted mass outside the window
    double relative_error;  // of the masses put in, beyond their own outward rounding
    double infinite, drift;
    std::optional<LeftOut> left_out;

    // The bound of delta(epsilon) on this side.
    double delta(double epsilon) const;

private:
    struct Place {
        std::int64_t start;  // the first node above epsilon inside the window, its end if there is none
        double distance;     // from epsilon to start
    };

    Place place_of(double epsilon) const noexcept;
};

}  // namespace renyi::lattice
