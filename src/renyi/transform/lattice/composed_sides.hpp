// The sides of a composition at one tilt, with the windows and errors of each.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "renyi/fp/bracket.hpp"
#include "renyi/fp/double_double.hpp"
#include "renyi/pair/pair.hpp"
#include "renyi/transform/lattice/loss_layout.hpp"
#include "renyi/transform/lattice/spectrum.hpp"
#include "renyi/transform/lattice/tilted_law.hpp"

namespace renyi::lattice {

// Outcomes all in the bulk add at most e^(log_factor - slope epsilon) to delta.
struct LeftOut {
    double log_factor, slope;
};

// delta(epsilon) from the tilted law of one side of a composition.
//
//     delta(epsilon) = infinite + e^(log_scale - theta start) * sum of weights(k) masses(start + k),
//
// start the first node above epsilon and weights(k) = (1 - e^-x) e^(-theta k), x the distance to epsilon: a sum of
// non-negative terms. The bound adds, or subtracts, the errors of the masses times the sum of the weights, and the
// largest weight times the mass that the window does not hold or holds twice.
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

    // The bound of delta(epsilon) on this side. With `end`, a bound of this side's own delta from below or above.
    double delta(double epsilon) const { return delta(epsilon, side); }
    double delta(double epsilon, Side end) const;

private:
    struct Place {
        std::int64_t start;  // the first node above epsilon inside the window, its end if there is none
        double distance;     // from epsilon to start
    };

    Place place_of(double epsilon) const noexcept;
};

// Bounds the tilted mass at nodes beyond `node`, above it for s > 0 and below it for s < 0, by Markov's inequality
// P(N >= n) <= E e^(s (N - n)); without outcomes all in the bulk.
double mass_beyond(const std::vector<TiltedPart>& parts, std::int64_t lowest, std::int64_t node, double s);

// Outcomes all in the bulk give delta(epsilon) <= c e^(-slope epsilon): (1 - e^-x)_+ <= w e^(slope x), w the largest
// weight, so that c = w E[e^(slope L)].
LeftOut bound_left_out(const LossLayout& layout, const std::vector<std::size_t>& bulks, double slope);

struct ComposedSides {
    ComposedLoss upper;
    std::optional<ComposedLoss> lower;
    double gap;      // where there is no lower side: about how much log delta is too large
    double epsilon;  // for which the tilt was chosen

    double lower_delta(double epsilon) const;
    Bracket delta(double epsilon) const { return {lower_delta(epsilon), upper.delta(epsilon)}; }
    double relative_width(double epsilon) const;
    std::int64_t nodes() const noexcept { return upper.law->nodes(); }
};

// Composes both sides, or the upper one alone, on a window that holds all but a negligible tilted mass. `drift` bounds
// how far merging parts may have moved their loss.
ComposedSides compose_sides(const LossLayout& layout, TiltChoice choice, const CompositionGoal& goal, double drift,
                            FourierTransform& fourier);

// Encloses the mass at infinity, 1 - prod (1 - m)^count.
class InfiniteMass {
public:
    void add(double mass, std::int64_t count) noexcept;
    Bracket bounds() const noexcept;

private:
    double log_finite_ = 0.0, terms_ = 0.0;
};

}  // namespace renyi::lattice
