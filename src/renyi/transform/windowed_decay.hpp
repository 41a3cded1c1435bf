// Bounds of |E[W e^{(t + i y') loss}]| / E[W e^{t loss}] for all y' >= y by moving the line of integration, from the
// nodes: for a base, whose transform is raised to a large power, so that the bound may not be a few nats too large.
//
// The modulus on the line is analytic too: on Im x = b it is at most the root of the product of those on the lines
// a + b and b - a at ordinate 0. WindowedLaw::discretise() makes the step for a = b.
#pragma once

#include <vector>

#include "renyi/transform/windowed_nodes.hpp"

namespace renyi {

class DecayByNodes {
public:
    // Lines up to the angle; `left_out`, a bound of the share of the nodes left out.
    DecayByNodes(const WindowedNodes& nodes, double tilt, double highest, double left_out);

    double log_bound(double y) const;

private:
    struct Nodes {
        std::vector<double> weight, above,
            below;  // the posteriors of the sampled components in e^{L+} and e^{L-}; or 1 + V
    };

    double mean_decay(double y, double angle) const;

    SampledLoss law_;
    LossWindow window_;
    double tilt_, highest_, left_out_, mean_posterior_ = 0.0;
    Nodes open_, edge_;  // where the window is 1, and the others, with the arguments of its steps
    std::vector<double> argument_[LossWindow::kMost], log_cdf_[LossWindow::kMost];
};

}  // namespace renyi
