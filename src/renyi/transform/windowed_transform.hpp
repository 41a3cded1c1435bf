// The characteristic function of a tilted windowed law at equidistant ordinates, from its nodes.
//
// Nodes that turn by less than 1 up to the last ordinate are summed as a Taylor series. The other nodes come as
// e^{i (s + t)} with s at the first ordinate of a block and t for its rows, which are the same for all blocks. With
// e^{i s} = 1 + c + i v all sums are of (1 + c)(1 + c') - v v' - 1 and its like, so that small angles keep their
// digits.
#pragma once

#include <memory>
#include <vector>

#include "renyi/transform/windowed_law.hpp"

namespace renyi {

constexpr int kMoments = 18;  // of a Taylor series, to 2^-60 where |y d| <= 1

class WindowedTransform {
public:
    // Takes the nodes at the tilt, for ordinates y = n step up to the last. Phases refer to the mean, which should be
    // near that of the nodes.
    WindowedTransform(const WindowedNodes& nodes, double tilt, double mean, double step, double last);

    // At y = (first + j) step, j = 0 ... kLanes - 1, with the tilted expectation E and d = loss - mean:
    //     E[e^{i y d}] - 1 - i y E[d]    (excess)   or   E[e^{i y d}]    (whole).
    void excess(double first, double* re, double* im) const;
    void whole(double first, double* re, double* im) const;

    // Bounds of the absolute errors of excess and whole, for excess also with y E[d] != 0 neglected.
    double excess_error(double y) const noexcept;
    double whole_error(double y) const noexcept;

private:
    void separate(const std::vector<double>& weight, const std::vector<double>& d, double last);
    void add_still(double y, double& re, double& im) const noexcept;
    void moving(double first, double* re, double* im) const;

    double step_;
    std::vector<double> moving_weight_, moving_;       // outside the Taylor series
    std::unique_ptr<double[]> row_cosine_, row_sine_;  // cos - 1 and sin of j step d, a row for each j
    double row_re_[kLanes], row_im_[kLanes];           // their weighted sums
    mutable std::vector<double> block_cosine_, block_sine_;
    double unit_, moments_[kMoments];                  // of the Taylor series, in which losses count in 1/unit
    double quadratic_ = 0.0, linear_ = 0.0, constant_ = 0.0, moved_ = 0.0;  // coefficients of the errors
    double still_mass_ = 0.0, still_mean_ = 0.0, additions_ = 0.0;
    double moving_mass_ = 0.0, moving_mean_ = 0.0, moving_absolute_ = 0.0;  // weight, E d and E |d|
};

// Bounds of |E[W e^{(t + i y') loss}]| / E[W e^{t loss}] for all y' >= y by moving the line of integration, from the
// nodes. They are for a base: its transform is raised to a large power, so that no bound may be a few nats too large.
//
// The modulus on the line is analytic too: on Im x = b it is at most the root of the product of the moduli on the lines
// a + b and b - a at ordinate 0. WindowedLaw::discretise() chooses the step for a = b.
class DecayByNodes {
public:
    // Uses lines up to the angle `highest`; `left_out` is a bound of the share of the nodes left out.
    DecayByNodes(const WindowedNodes& nodes, double tilt, double highest, double left_out);

    double log_bound(double y) const;

private:
    struct Nodes {
        // The posteriors of the sampled components in e^{L+} and e^{L-}, or 1 + V; for groups the arguments of L+ and
        // L-.
        std::vector<double> weight, above, below;
        GroupTurns rise, fall;
    };

    double mean_decay(double y, double angle) const;

    SampledLoss law_;
    LossWindow window_;
    double tilt_, highest_, left_out_, mean_posterior_ = 0.0;
    Nodes open_, edge_;  // where the window is 1, and the others, with the arguments of its steps
    std::vector<double> argument_[LossWindow::kMost], log_cdf_[LossWindow::kMost];
};

}  // namespace renyi
