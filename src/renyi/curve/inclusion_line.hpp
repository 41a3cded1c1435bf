// The privacy curve of steps with little noise, inverted on one vertical line. The record is removed or replaced. The
// transform of a step has the two terms of sampled_loss.hpp. For a removed record A_i(z) = b_i + f_i, where
//     f_i = q^a e^{c^2 a (a-1)/2},  a = 1 + z,     b_i = (1-q)^a (1 + C(z)),
// and g is the transform of the Gaussian steps. The line inverts
//     M = g prod A_i^k_i                       where many steps have the record, or
//     M = g prod A_i^k_i - g prod b_i^k_i      the sums in which, nearly, at least one step has the record;
// f decays like e^{-c^2 y^2/2}. The part that the second M leaves out, g prod b_i^k_i, is bounded by Chernoff or,
// without Gaussian steps, computed up to a bound of the terms with several overlaps. Let C be the transform of the
// signed measure nu, E the mean over an output without the record, R = log(1 + e^v) and h(x) = (1 - e^{eps - x})_+. The
// term of b^k = (1-q)^{a k} (1 + C)^k that is linear in C, with
//     nu(h) = E (h(R) - h(0) + e^v (h(R) - h(v))),
// gives k (1-q)^{k-1} (delta_1(eps') - q delta_G(eps' - log q)), eps' = eps - (k-1) log(1-q), where delta_1 is the
// curve of a single step (closed_curve.hpp). For replaced records the log odds take the place of log q, and eps' = eps.
// (1 + C)^k - 1 - k C is a sum of C(k, 2) terms nu nu m^i, i < k, where m is the law with the transform 1 + C. As
// 0 <= h(x + y) - h(x) <= e^{t (x - eps)} (e^{t y} - 1)/t for 0 < t <= 1 and y >= 0, a second difference of h is at
// most the geometric mean of two such bounds, and
//     |nu nu m^i (h)| <= e^{-t eps} V(t)^2 |m|(t)^i/t   (InclusionOverlap::change).
//
// The certificate is that of measure_inversion.hpp: the trapezoidal sum is sum_m e^{m t D} I(eps + m D), D = 2 pi/h.
// The law of b is positive except for a small negative part (InclusionOverlap::negative_part). Let |b| be b plus twice
// that part, and |M| the polynomial M at |b| and f. Then |M| bounds the aliases, b itself, and the quadrature errors of
// the nodes; in the bound of the tail f has the factor e^{-c^2 y^2/2}. The sum of the first M, which is positive, is
// never below I.
#pragma once

#include <vector>

#include "renyi/fp/bracket.hpp"
#include "renyi/pair/composition.hpp"
#include "renyi/transform/measure_inversion.hpp"
#include "renyi/transform/node_sum.hpp"
#include "renyi/transform/sampled_loss.hpp"

namespace renyi {

class InclusionLine {
public:
    InclusionLine() = default;
    InclusionLine(const SortedSteps& c, SampledPair pair);

    // Whether outputs reveal often enough which steps had the record, and whether they nearly always do.
    bool serves() const noexcept { return serves_; }
    bool reveals_inclusions() const noexcept { return reveals_; }

    Bracket delta(double epsilon);
    // Answers where sums with nearly no inclusion make more than a little of delta only if `in_any_case`.
    Bracket epsilon(double delta, bool in_any_case = true);

private:
    // log M at a real tilt.
    struct Moment {
        double value, error;
        double absolute;  // log |M|, rounded up
        double mean, curvature;
    };
    using Bound = TiltBound;
    struct Reading {
        double value, slope;  // slope: of log value
        double lower, upper;
        double error;  // without that of the sums without inclusions
    };

    Moment rough_moment(double t) const noexcept;
    void find_overlaps();
    Moment moment(double t) const noexcept;
    static double epsilon_of(const Moment& at, double t) noexcept;
    static double log_estimate(const Moment& at, double t, double epsilon) noexcept;
    double tilt_where(auto has) const noexcept;
    double saddle(double epsilon) const noexcept;
    double guess(double delta) const noexcept;
    double log_tail(double y) const noexcept;
    bool place(double epsilon, bool roughly);
    bool place_line(double epsilon, double log_goal);
    void bound_without(double epsilon);
    Bracket one_overlap(double epsilon) const noexcept;
    void sum_nodes(double end);
    void sum_block(double first);
    Reading read(double epsilon) const noexcept;
    double search(double delta, int most_turns);
    double on_line(double delta, double epsilon) const noexcept;
    double end_of(double delta, double epsilon, double direction);

    std::vector<InclusionOverlap> steps_;
    double gaussian_ = 0.0;
    bool serves_ = false, reveals_ = false;
    SampledPair pair_ = SampledPair::remove;  // or replace_one
    bool is_many_ = false;   // the first M
    bool is_rough_ = false;  // the line has no errors
    bool overlaps_ = false;  // where it is false, rough lines take C = 0
    double tilt_ = 0.0, step_ = 0.0, centre_ = 0.0;
    Moment at_{};
    std::vector<double> overlap_, without_at_;  // at the tilt: C, and |b|/(1-q)^a (the first M: b/(1-q)^a)
    double farthest_ = 0.0;                   // the largest tilt
    Bound below_{}, above_{}, without_{}, several_{};
    double log_tail_ = 0.0, missed_ = 0.0;
    NodeSum nodes_;
};

}  // namespace renyi
