// The part of one step's law that a smooth window of the loss lets through, as weighted nodes: what the split sum
// reads.
//
// The nodes are those of the trapezoidal rule in x. Quadrature error: the integrand density W e^{z loss} is analytic in
// the strip |Im x| < a, so that sum and integral differ by at most 2 M/(e^{2 pi a/h} - 1), M the larger integral of the
// modulus over the two edges (Trefethen, Weideman 2014, Theorem 5.1), for every |Im z| <= y at once
// (line_integral.hpp). The step is chosen such that this is e^-target of the moment at the tilt. Nodes at next to no
// loss differ from the least loss by less than the same and become one.
#pragma once

#include <cstddef>
#include <vector>

#include "renyi/transform/line_integral.hpp"
#include "renyi/transform/windowed_kernels.hpp"

namespace renyi {

// log E[W e^{t loss}] with its absolute error, and mean and variance of the tilted law.
struct WindowedMoment {
    double value, error;
    double mean, mean_error, variance;
};

// What a window leaves out of a law of mass 1: E[1 - W] and E[(1 - W)(1 - e^-loss)], with relative error.
struct LeftOut {
    double mass = 0.0, fall = 0.0, error = 0.0;
};

class WindowedLaw {
public:
    WindowedLaw(const SampledLoss& law, const LossWindow& window) : law_(law), window_(window), line_(law, window) {}

    // Nodes good to e^-target of the moment at the tilt, for |Im z| <= y, and reaching far enough for real tilts up to
    // the farthest; with `decay` for log_decay_by_nodes at the tilt as well. False where that takes too many.
    bool discretise(double tilt, double y, double target, double farthest, bool decay = false);

    // Nodes for searches, without certificate, for real tilts between 0 and the farthest.
    void discretise_roughly(double farthest);
    WindowedMoment rough_moment(double tilt) const;
    // Fourth cumulant of the tilted law, after tilt().
    double fourth_cumulant() const noexcept;

    // Needs nodes. With `left_out` the moment comes from E[e^{t L}] - 1, whose error is small against 1/count where the
    // loss hardly differs from 0: with phi(v) = e^v - 1 - v and E[e^-L - 1] = 0,
    //     E[W e^{t L}] = 1 + E[W (phi(t L) + t phi(-L))] - E[1 - W] - t E[(1 - W)(1 - e^-L)].
    // Not for replace_one, where e^-L is large at outputs that the nodes do not reach.
    WindowedMoment moment(double tilt, const LeftOut* left_out) const;

    // Sets the tilt of the transform; the mean that the phase refers to is that of the moment returned. Nodes that turn
    // by less than 1 up to y are summed as a Taylor series; with `turning` the others are turned from ordinate to
    // ordinate, which is faster and has an absolute error.
    WindowedMoment tilt(double tilt, const LeftOut* left_out, double y = 0.0, bool turning = true);

    // At y = (first + j) step, with the tilted expectation E and d = loss - mean:
    //     E[e^{i y d}] - 1 - i y E[d]    (excess)   or   E[e^{i y d}]    (whole).
    void excess(double first, double step, double* re, double* im) const noexcept;
    void whole(double first, double step, double* re, double* im) const noexcept;

    // Bounds of the absolute error of these, for excess also with y E[d] != 0 neglected.
    double excess_error(double y) const noexcept;
    double whole_error(double y) const noexcept;

    // log of a bound of |E[W e^{(t + i y') loss}]| / E[W e^{t loss}] for all y' >= y, by moving the line of
    // integration: from cells for a single factor, from the nodes for one that is raised to a large power.
    double log_decay_by_cells(double y, double log_moment) const noexcept;
    double log_decay_by_nodes(double y) const noexcept;
    void prepare_decay();

    // log of a bound of the error of the nodes, relative to the moment at that tilt, for |Im z| <= y: of the rule, and
    // of what is dropped or merged, which is small at the tilt that the nodes were made for and counted at any other.
    double log_node_error(double tilt, double log_moment, double y = 0.0) const noexcept;

    // E[W], E[W (1 - e^-loss)] and E[W e^-loss] from nodes made for tilt 0, and their relative rounding error.
    struct Masses {
        double mass, fall, reverse, error;
    };
    Masses masses() const noexcept;

    // log of a bound of E[W e^{tilt loss}], without nodes and a few nats too large.
    double log_moment_bound(double tilt) const noexcept { return line_.log_bound(0.0, tilt, 0.0); }

    std::size_t size() const noexcept { return loss_.size(); }

private:
    bool discretise_from(double scale, double tilt, double y, double target, double farthest, bool decay);
    void fill(double first, double last);
    void merge_flat(double tolerance);
    void separate(double y, bool turning);
    void add_still(double y, double& re, double& im) const noexcept;

    SampledLoss law_;
    LossWindow window_;
    LineIntegral line_;
    double first_ = 0.0, last_ = 0.0, tolerance_ = 0.0;  // the nodes left out begin here; of losses merged
    double step_ = 0.0, angle_ = 0.0, decay_angle_ = 0.0, tilt_ = 0.0, mean_ = 0.0;
    std::vector<double> x_, v_, loss_, log_weight_,
        rounding_;  // rounding: relative error of the weight, in u, at tilt 0
    std::vector<double> weight_, d_;
    std::vector<double> moving_weight_, moving_;  // the nodes outside the Taylor series
    double moments_[windowed::kMoments] = {};
    bool turning_ = true;
    // For decay by nodes: those where the window is 1, and the others with the arguments of its steps.
    struct DecayNodes {
        std::vector<double> weight, above, below;
    };
    DecayNodes open_, edge_;
    std::vector<std::vector<double>> edge_argument_, edge_log_cdf_;
    double mean_posterior_ = 0.0;
    mutable std::vector<double> scratch_;
    double quadratic_ = 0.0, linear_ = 0.0, constant_ = 0.0;  // of the errors
    double first_absolute_ = 0.0, moving_share_ = 0.0;        // E |d| and weight of the moving nodes
    double still_mass_ = 0.0, still_mean_ = 0.0;
    double flat_error_ = 0.0;  // of merged and dropped nodes
};

}  // namespace renyi
