// The part of one step's law that a smooth window of the loss lets through: nodes for it, and bounds of what they miss
// and of the decay of the transform.
//
// Quadrature error: the integrand density W e^{z loss} is analytic in the strip |Im x| < a, so that sum and integral
// differ by at most 2 M/(e^{2 pi a/h} - 1), M the larger integral of the modulus over the two edges (Trefethen,
// Weideman 2014, Theorem 5.1), for every |Im z| <= y at once (line_integral.hpp). The step is chosen such that this is
// e^-target of the moment at the tilt. Nodes at next to no loss differ from the least loss by less than the same and
// become one.
#pragma once

#include <memory>
#include <optional>
#include <utility>

#include "renyi/transform/line_integral.hpp"
#include "renyi/transform/windowed_nodes.hpp"

namespace renyi {

class WindowedLaw {
public:
    WindowedLaw(const SampledLoss& law, const LossWindow& window);

    // Nodes good to e^-target of the moment at the tilt, for |Im z| <= y, and reaching far enough for real tilts up to
    // the farthest; with `decay` for DecayByNodes at the tilt as well. False where that takes too many. Nodes had
    // before tell the size of the moment.
    bool discretise(double tilt, double y, double target, double farthest, bool decay = false);

    // Nodes for searches, without certificate, for real tilts between 0 and the farthest.
    void discretise_roughly(double farthest);

    const WindowedNodes& nodes() const noexcept { return nodes_; }
    const SampledLoss& law() const noexcept { return law_; }
    const LossWindow& window() const noexcept { return window_; }

    // By what the window leaves out, where that is known and better.
    WindowedMoment moment(double tilt, const LeftOut* left_out) const;

    // For DecayByNodes: the largest angle, and a bound of the share of the moment at the tilt that the nodes miss.
    double decay_angle() const noexcept { return decay_angle_; }
    double left_out() const noexcept { return left_out_; }

    // log of a bound of |E[W e^{(t + i y') loss}]| / E[W e^{t loss}] for all y' >= y, by moving the line of
    // integration, from cells: a few nats too large.
    double log_decay_by_cells(double tilt, double y, double log_moment) const;

    // log of a bound of the error of the nodes, relative to the moment at that tilt, for |Im z| <= y: of the rule, and
    // of what is dropped or merged, which is small at the tilt that the nodes were made for and counted at any other.
    double log_node_error(double tilt, double log_moment, double y = 0.0) const {
        return log_node_error(*line_, tilt, y) - log_moment;
    }

    // A bound of what the nodes miss of E[W] and of E[W (1 - e^-loss)], of ratios E[W loss].
    double missed() const;

    // log E[W e^{tilt loss}] from the nodes, rounded up.
    double log_moment_above(double tilt) const;

    // log of a bound of E[W e^{tilt loss}], without nodes and a few nats too large.
    double log_moment_bound(double tilt) const { return line_->log_bound(0.0, tilt, 0.0); }

private:
    double log_decay_far(double tilt, double y, double log_moment) const;
    bool discretise_from(double scale, double tilt, double y, double target, double farthest, bool decay);
    double log_node_error(const LineIntegral& line, double tilt, double y) const;
    std::pair<double, double> missed_parts() const;
    double choose_step(double scale, double tilt, double y, double target, bool decay);

    SampledLoss law_;
    LossWindow window_;
    std::shared_ptr<const LineIntegral> line_;  // of all copies
    WindowedNodes nodes_;
    double step_ = 0.0, angle_ = 0.0, tolerance_ = 0.0;  // of losses merged
    double decay_angle_ = 0.0, left_out_ = 0.0;
    mutable std::optional<std::pair<double, double>> missed_;  // of E[W] and E[W e^-loss], of ratios E[W (1 + V)]
};

}  // namespace renyi
