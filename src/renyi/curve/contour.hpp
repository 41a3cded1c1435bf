// The exact privacy curve of a composition of Poisson-sampled Gaussian steps, by one contour integral.
//
// With K(z) = sum_i count_i log E e^{z L_i}, the log moment generating function of the privacy loss, and any t > 0,
//     delta(eps) = 1/(2 pi i) integral_{t - i inf}^{t + i inf} e^{K(z) - z eps} / (z (z+1)) dz
// (Alghamdi et al. 2023, Theorem 3.1). t is taken at the saddle point, where no terms cancel: delta = 1e-300 is as
// accurate as delta = 0.1.
//
// Certificate. The trapezoidal sum T_h over z = t + i j h is, by Poisson's summation formula with D = 2 pi/h,
//     T_h = sum_m e^{m t D} delta(eps + m D):
// every term is >= 0, so T_h is never below delta, and the other terms are bounded by delta(eps') <= e^{K(s) - s eps'}
// s^s/(1+s)^(1+s) at some s below t for m < 0 (s = 0 gives delta <= 1) and above t for m > 0. The nodes left out are
// bounded by |e^{K(t+iy)}| <= e^{K(t)} rho for all y >= Y (TiltedLaw::log_decay) and 1/|z (z+1)| <= 1/y^2. The bounds
// hold for any t and h; good choices only make them small. Losses beyond a limit are left out of the sum and
// their mass is added to the upper end.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "renyi/curve/saddle.hpp"
#include "renyi/fp/bracket.hpp"
#include "renyi/loss/sampled_gaussian_tilted.hpp"

namespace renyi {

// The effort of a contour. The bracket is about e^-depth wide, relatively. If it needs more than most_nodes nodes,
// there is no bracket.
struct Effort {
    double depth;
    std::size_t most_nodes;
    double most_work;  // terms of the transforms, for each kind of step
    bool leaves_out;   // whether losses of negligible probability are left out if the tilted law peaks among them
};

constexpr Effort kPlainEffort{37.0, 1 << 12, 2e5, false};  // e^-37 < 2^-53; beyond, the split sum is faster
constexpr Effort kLastEffort{37.0, 1 << 13, 2e7, true};    // if the split sum has no answer: some ten milliseconds
constexpr Effort kShortEffort{37.0, 1 << 12, 3e6, true};   // the same with a seventh of the work

// A composition of fixed steps and of `times` repetitions of repeated ones, whose transform is evaluated once on the
// nodes of a contour and serves every epsilon, delta and number of repetitions near those it was placed for: each
// answer is certified by itself, and only wider where the contour is out of place.
class Contour {
public:
    Contour(std::span<const SampledStep> fixed, std::span<const SampledStep> repeated, Direction direction,
            Effort effort);

    void repeat(double times) noexcept;

    // Evaluates the transform at the saddle point. False if the transform decays too slowly or takes too much work, if
    // there is no saddle point, or if the tilted law peaks among losses of negligible probability.
    bool place_for_epsilon(double epsilon);
    bool place_for_delta(double delta);

    // The bracket, NaN before the contour is placed.
    Bracket delta(double epsilon) const noexcept;
    Bracket epsilon(double delta) const noexcept;

private:
    static constexpr int kGroups = 2;  // fixed, repeated

    struct Group {
        std::size_t first, last;  // of steps_
        double times;
        double gaussian = 0.0;     // variance of the Gaussian steps
        double total_count = 0.0;  // of the others
        TiltedMoment at{};
        double beyond = 0.0;                         // mass of the losses left out
        std::vector<double> log_modulus{}, phase{};  // of the tilted characteristic function at the nodes
        double log_tail = 0.0;                       // bound of log_modulus beyond the last node
    };
    // A tilt of the aliasing bounds, and K there, with its error.
    struct Bound {
        double tilt = 0.0;
        double value[kGroups] = {};
    };
    struct Sum {
        double log_value;  // of the trapezoidal sum
        double slope;      // d log_value / d epsilon
        double error;      // relative, rounding and truncation
    };

    std::vector<SampledStep> repeated_steps() const;
    double most_work() const noexcept { return effort_.most_work * static_cast<double>(steps_.size()); }
    bool place_at_epsilon(double epsilon);
    bool place_by_epsilon(std::span<const SampledStep> all, double delta);
    bool leaves_out() const noexcept { return effort_.leaves_out && direction_ == Direction::remove; }
    bool reaches(const Saddle& saddle, double limit) const noexcept;
    bool place(const Saddle& saddle, double epsilon);
    bool discretise(double log_delta, double epsilon) noexcept;
    bool sum_nodes(double log_delta, double epsilon);
    void make_laws(const TiltedMoment& at);
    bool add_nodes(std::size_t count);
    void bound_tails();
    void add_law(std::size_t law, std::size_t first, Group& group);
    std::span<const SampledStep> steps_of(const Group& g) const noexcept;
    TiltedMoment moment_of(const Group& g, double t) const noexcept;
    Bound bound_at(double t) const noexcept;
    double value_of(const Bound& bound) const noexcept { return bound.value[0] + groups_[1].times * bound.value[1]; }
    Sum sum(double epsilon) const noexcept;
    double log_aliasing(double epsilon) const noexcept;
    template <class Value>
    double total(Value value) const noexcept {
        return value(groups_[0]) + groups_[1].times * value(groups_[1]);
    }

    std::vector<SampledStep> steps_;
    Group groups_[kGroups];
    Direction direction_;
    Effort effort_;
    double limit_ = kInfinity;  // losses with u beyond this are left out, see LossSum
    double t_ = 0.0, step_ = 0.0;
    Bound below_, above_;
    double guess_ = 0.0;  // epsilon of the last placement
    std::size_t nodes_ = 0;
    double work_ = 0.0;  // terms evaluated for the current question
    std::vector<TiltedLaw> laws_;
    double rounding_ = 0.0, rounding_of_mean_ = 0.0;  // the largest of all laws
    TiltedLine line_;                                 // scratch
};

}  // namespace renyi
