// How far one step with little noise is from outputs that tell whether the record was in the sample. With
// v = c x - c^2/2 + lambda the logarithm of the odds at the output x, c = 1/sigma and lambda = log(q/(1-q)), the loss
// is log(1-q) + log(1 + e^v), so that at order a = 1 + z
//     E e^{z L} = (1-q)^a (1 + C(z) + e^{a lambda + c^2 a (a-1)/2}),
//     C(z) = integral phi(x) ((1 + e^v)^a - 1 - e^{a v}) dx:
// 1 for records that were not seen, the last term for those that were, were their losses log q + c x - c^2/2, and C for
// the outputs around v = 0, on which both may fall. It is all that takes nodes.
//
// Errors of the trapezoidal rule in v, with step h: on the lines Im v = -+ pi/2, where |1 + e^v| >= 1, and on the real
// line for y = 0,
//     |(1 + e^v)^a - 1 - e^{a v}| <= (2 + t + |y|) min(1, e^{Re v}) (1 + e^{Re v})^t e^{pi |y|},   z = t + i y, t >= 0,
// since (1 + w)^a - 1 is the integral of a (1 + s w)^z w, and for v > 0 the same of e^{a v} ((1 + e^-v)^a - 1). So the
// rule is off by 2 M/(e^{pi^2/h} - 1), M the integral of that times phi e^{(pi/(2 c))^2/2} (Trefethen, Weideman 2014,
// Theorem 5.1), and the nodes left out on either side fall like a geometric series.
#pragma once

#include <vector>

#include "renyi/loss/sampled_step.hpp"

namespace renyi {

class SeenOverlap {
public:
    // 0 < q < 1; where is_little is false nothing else may be asked.
    explicit SeenOverlap(const SampledStep& step) noexcept;

    // Whether an output of 0 is more likely where the record was not seen.
    bool is_little() const noexcept { return log_odds < 0.5 * c * c; }

    // Nodes that serve for 0 <= t <= tilt and |y| <= ordinate; false where that takes too many.
    bool place(double tilt, double ordinate);
    // C = 0, but for its error.
    void ignore() noexcept { is_ignored_ = true; }

    // log e^{a lambda + c^2 a (a-1)/2} at a real tilt, and its slope.
    double log_seen(double t) const noexcept { return (1.0 + t) * (log_odds + 0.5 * c * c * t); }
    double log_seen_slope(double t) const noexcept { return log_odds + c * c * (t + 0.5); }

    // A bound of |C(t)| that takes no nodes.
    double above(double t) const noexcept;

    // C(t), and a bound of the error of C(t + i y) for |y| <= y_most.
    double at(double t) const noexcept;
    double error(double t, double y_most) const noexcept;

    // C at t + i y for kLanes ordinates; set_tilt(t) comes first.
    void set_tilt(double t);
    void at_ordinates(const double* y, double* re, double* im) const noexcept;

    // The law of the losses but for those of records that were seen is no positive measure where outputs x < 0 are
    // more likely by the latter: a bound of that part, over (1-q)^a.
    double negative_part(double t) const noexcept;

    double count, q, rest, log_q, log_rest, log_odds, c;

private:
    double output(double v) const noexcept { return (v - log_odds) / c + 0.5 * c; }
    double log_density(double v) const noexcept;
    double log_mass(double t) const noexcept;
    double log_beyond(double v, double slope, double t, double y) const noexcept;

    bool is_ignored_ = true;
    double tilt_ = -1.0, ordinate_ = 0.0;  // that the nodes were placed for
    double h_ = 0.0;
    double left_ = 0.0, right_ = 0.0;     // the first odds left out
    std::vector<double> v_, weight_, l_;  // v < 0 first; l = log(1 + e^-|v|)
    std::size_t negative_ = 0;
    std::vector<double> excess_, factor_, other_;  // at the tilt: e^{(1+t) l} - 1, its factor and the other term
};

}  // namespace renyi
