// The part of one step's law that a smooth window of the loss lets through, as weighted nodes of the trapezoidal rule
// in x, and its moments. Rounding errors only; what the nodes miss is bounded in windowed_law.hpp.
#pragma once

#include <cstddef>
#include <vector>

#include "renyi/transform/loss_window.hpp"
#include "renyi/transform/sampled_loss.hpp"

namespace renyi {

// log E[W e^{t loss}] with its absolute error, and mean and variance of the tilted law.
struct WindowedMoment {
    double value, error;
    double mean, mean_error, variance;
};

// What a window leaves out of a law of mass 1: E[1 - W] and E[(1 - W)(1 - e^-loss)], of ratios E[(1 - W) loss], each to
// the absolute error.
// In `add`, and `remove` instead of it, only the first, under the law without the record.
struct LeftOut {
    double mass = 0.0, fall = 0.0, error = 0.0;
    bool from_least = false;
};

class WindowedNodes {
public:
    WindowedNodes(const SampledLoss& law, const LossWindow& window) : law_(law), window_(window) {}

    // At the multiples of the step in [first, last]; then those within the tolerance of the loss of no output become
    // one.
    void fill(double first, double last, double step, double tolerance);

    WindowedMoment moment(double tilt) const;
    // Without errors.
    WindowedMoment rough_moment(double tilt) const;
    // Fourth cumulant of the tilted law.
    double fourth_cumulant(double tilt, const WindowedMoment& at) const;

    // The moment from E[e^{t L}] - 1, whose error is small against 1/count where the loss hardly differs from 0: with
    // phi(v) = e^v - 1 - v and E[e^-L - 1] = 0,
    //     E[W e^{t L}] = 1 + E[W (phi(t L) + t phi(-L))] - E[1 - W] - t E[(1 - W)(1 - e^-L)].
    // and of ratios, where E[L] = 0,
    //     E[W e^{t L}] = 1 + E[W phi(t L)] - E[1 - W] - t E[(1 - W) L].
    // At most as good as `plain`, which is returned where it is better. Not for replace_one, where e^-L is large at
    // outputs that the nodes do not reach.
    WindowedMoment moment_by_excess(double tilt, const WindowedMoment& plain, const LeftOut& left_out) const;

    // The same where the loss hardly differs from the least one. With G = V - least, s what V is multiplied by, and E_0
    // the expectation without the record,
    //     E[W e^{t L}] = e^{s least} (1 + E_0[W (e^{s G} - 1)] - E_0[1 - W]).
    WindowedMoment moment_by_rise(double tilt, const WindowedMoment& plain, const LeftOut& left_out) const;

    // E[W], E[W (1 - e^-loss)] and E[W e^-loss]; the error is relative, for the second to E[W |1 - e^-loss|] = size. Of
    // ratios only E[W].
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
    // What the merged node adds to the logarithm of the moment.
    double log_merged(double tilt) const noexcept { return log_weight_[0] + tilt * loss_[0]; }
    double first() const noexcept { return first_; }  // the next ones on both sides, left out
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
    std::vector<double> rounding_, loss_error_;  // in u: relative of the weight at tilt 0, and of the loss
    mutable std::vector<double> weight_;         // of the last tilt, times e^-top
};

}  // namespace renyi
