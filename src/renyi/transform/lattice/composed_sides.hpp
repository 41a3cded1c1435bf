// The sides of a composition at one tilt, with the windows and errors of each.
#pragma once

#include <optional>

#include "renyi/fp/bracket.hpp"
#include "renyi/transform/lattice/composed_loss.hpp"
#include "renyi/transform/lattice/fourier_transform.hpp"
#include "renyi/transform/lattice/loss_layout.hpp"
#include "renyi/transform/lattice/tilt_choice.hpp"

namespace renyi::lattice {

struct ComposedSides {
    ComposedLoss upper;
    std::optional<ComposedLoss> lower;
    double gap;      // where there is no lower side: about how much log delta is too large
    double epsilon;  // that the tilt is for

    double lower_delta(double epsilon) const;
    Bracket delta(double epsilon) const { return {lower_delta(epsilon), upper.delta(epsilon)}; }
    double relative_width(double epsilon) const;
    std::int64_t nodes() const noexcept { return upper.law->nodes(); }
};

// Composes both sides, or the upper one alone, on a window that holds all but a negligible tilted mass. `drift` is what
// merging parts may have moved their loss.
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
