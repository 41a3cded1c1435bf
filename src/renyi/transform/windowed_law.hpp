// The part of one step's law that a smooth window of the loss lets through: its nodes, and bounds of what the nodes
// miss and of the decay of the transform.
//
// Quadrature error: the integrand density W e^{z loss} is analytic in the strip |Im x| < a, so that sum and integral
// differ by at most 2 M/(e^{2 pi a/h} - 1), M the larger integral of the modulus over the two edges (Trefethen,
// Weideman 2014, Theorem 5.1), for every |Im z| <= y at once (line_integral.hpp). The step is chosen such that this is
// e^-target of the moment at the tilt. Nodes that differ from the least loss by a similarly small amount are merged
// into one.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "renyi/fp/certified.hpp"
#include "renyi/fp/lanes.hpp"
#include "renyi/special/elementary.hpp"
#include "renyi/transform/line_integral.hpp"
#include "renyi/transform/sampled_loss.hpp"

namespace renyi {

namespace windowed {

constexpr double kOpen = 9.0;  // argument beyond which the window is 1: 1 - Phi(9) < 2^-62

}  // namespace windowed

// log E[W e^{t loss}] with its absolute error, and mean and variance of the tilted law.
struct WindowedMoment {
    double value, error;
    double mean, mean_error, variance;
};

// What a window leaves out of a law of mass 1: E[1 - W] and E[(1 - W)(1 - e^-loss)], for ratios E[(1 - W) loss], each
// to the absolute error. In `add`, and in `remove` used in its place, only E[1 - W] counts, under the law without the
// record.
struct LeftOut {
    double mass = 0.0, fall = 0.0, error = 0.0;
    bool from_least = false;
};

// The part of one step's law that a window lets through, as weighted nodes of the trapezoidal rule in x, and its
// moments. Their errors are rounding errors only; WindowedLaw bounds what the nodes miss.
class WindowedNodes {
public:
    WindowedNodes(const SampledLoss& law, const LossWindow& window) : law_(law), window_(window) {}

    // Places nodes at the multiples of the step in [first, last]. Nodes whose loss is within the tolerance of the flat
    // part of V are merged into one.
    void fill(double first, double last, double step, double tolerance);

    WindowedMoment moment(double tilt) const;
    // The moment without its errors.
    WindowedMoment rough_moment(double tilt) const;
    // The fourth cumulant of the tilted law.
    double fourth_cumulant(double tilt, const WindowedMoment& at) const;

    // The moment from E[e^{t L}] - 1, whose error is small against 1/count where the loss hardly differs from 0: with
    // phi(v) = e^v - 1 - v and E[e^-L - 1] = 0,
    //     E[W e^{t L}] = 1 + E[W (phi(t L) + t phi(-L))] - E[1 - W] - t E[(1 - W)(1 - e^-L)].
    // and for ratios, where E[L] = 0,
    //     E[W e^{t L}] = 1 + E[W phi(t L)] - E[1 - W] - t E[(1 - W) L].
    // Returns `plain` where that is better. Not for replace_one, where e^-L is large at outputs that the nodes do not
    // reach.
    WindowedMoment moment_by_excess(double tilt, const WindowedMoment& plain, const LeftOut& left_out) const;

    // The moment where the loss hardly differs from the least one. With G = V - least, s the factor of V in the
    // exponent, and E_0 the expectation without the record,
    //     E[W e^{t L}] = e^{s least} (1 + E_0[W (e^{s G} - 1)] - E_0[1 - W]).
    WindowedMoment moment_by_rise(double tilt, const WindowedMoment& plain, const LeftOut& left_out) const;

    // E[W], E[W (1 - e^-loss)] and E[W e^-loss]. The error is relative; that of the second is relative to
    // E[W |1 - e^-loss|] = size. For ratios only E[W] is set.
    struct Masses {
        double mass, fall, reverse, size, error;
    };
    Masses masses() const noexcept;

    // E[W (e^{V - least} - 1)], for `add`; the error is absolute.
    struct Rise {
        double value, error;
    };
    Rise rise() const noexcept;

    std::size_t size() const noexcept { return loss_.size(); }
    // The logarithm of what the merged node adds to the moment.
    double log_merged(double tilt) const noexcept { return log_weight_[0] + tilt * loss_[0]; }
    double first() const noexcept { return first_; }  // the next nodes on both sides, which are left out
    double last() const noexcept { return last_; }

private:
    friend class WindowedTransform;
    friend class DecayByNodes;

    void merge_flat(double tolerance);
    double tilt_weights(double tilt, double& sum) const;

    SampledLoss law_;
    LossWindow window_;
    double first_ = 0.0, last_ = 0.0;
    std::vector<double> x_, v_, loss_, log_weight_;
    std::vector<double> rounding_, loss_error_;  // in u: relative error of the weight at tilt 0, error of the loss
    mutable std::vector<double> weight_;         // at the last tilt, times e^-top
};

class WindowedLaw {
public:
    WindowedLaw(const SampledLoss& law, const LossWindow& window);

    // Places nodes that are accurate to e^-target of the moment at the tilt, for |Im z| <= y, and reach far enough for
    // real tilts up to the farthest. With `decay` they serve DecayByNodes at the tilt as well. Returns false where too
    // many nodes are needed. Nodes placed before tell the size of the moment.
    bool discretise(double tilt, double y, double target, double farthest, bool decay = false);

    // Places nodes for searches, without certificate, for real tilts between 0 and the farthest.
    void discretise_roughly(double farthest);

    const WindowedNodes& nodes() const noexcept { return nodes_; }
    const SampledLoss& law() const noexcept { return law_; }
    const LossWindow& window() const noexcept { return window_; }

    // The moment at the tilt, from what the window leaves out where that is known and better.
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

    // A bound of what the nodes miss of E[W] and of E[W (1 - e^-loss)], for ratios of E[W loss].
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
    double most_angle(double shift) const noexcept;

    SampledLoss law_;
    LossWindow window_;
    std::shared_ptr<const LineIntegral> line_;  // shared by all copies
    WindowedNodes nodes_;
    double step_ = 0.0, angle_ = 0.0, tolerance_ = 0.0;  // tolerance of the losses that are merged
    double decay_angle_ = 0.0, left_out_ = 0.0;
    mutable std::optional<std::pair<double, double>> missed_;  // of E[W] and E[W e^-loss], of ratios E[W (1 + V)]
};

}  // namespace renyi
