// The loss of one Poisson-sampled Gaussian step.
#pragma once

#include <algorithm>
#include <cmath>
#include <memory>
#include <numbers>
#include <span>
#include <vector>

#include "renyi/fp/certified.hpp"
#include "renyi/loss/sampled_gaussian.hpp"
#include "renyi/special/elementary.hpp"
#include "renyi/special/normal.hpp"
#include "renyi/transform/group_loss.hpp"

namespace renyi {

// log(e^a + e^b)
inline double log_add(double a, double b) noexcept {
    const double top = std::max(a, b);
    return top > -kInfinity ? top + std::log1p(std::exp(std::min(a, b) - top)) : top;
}

// The privacy loss of one step of a pair of sampled Gaussians, as a function of a standard normal output x that is
// analytic beside the real line:
//     L+(x) = log(1 - q + q e^{c x - c^2/2}),   L-(x) = L+(-x),   c = 1/sigma,
//     pair           density of x           V(x)
//     remove         phi(x) e^{L+(x)}       L+             loss  V
//     add            phi(x)                 L+             loss -V
//     replace_one    phi(x) e^{L+(x)}       L+ - L-        loss  V
//
// With m records that come and go together e^{L+} is a product of m factors of this kind (group_loss.hpp).
//
// For random allocation the summand is the likelihood ratio of one batch less 1, in place of the loss:
//     V(x) = e^w - 1,  w = c x - c^2/2,     of mean 0 under phi
//     ratio             phi(x)              loss  V
//     reversed_ratio    phi(x)              loss -V
//     weighted_ratio    phi(x) e^w          loss  V
//
// V rises with x. On the line Im x = a, theta = c a in [0, pi/2], |e^{L+}|, Re V and arg e^{L+} >= 0 rise with Re x,
// and arg e^{L-} falls, so that a cell of the line is bounded by its ends; Im V is the sum of both arguments' sizes.
// For ratios 1 + V takes the factor e^{i theta}, so that Re V and Im V >= 0 rise as well.
//
// Errors of L+: see windowed::bound_losses. A ratio has the error 8 |V| u + 4 (c |x| + c^2/2) (1 + V) u, the first of
// the exponential, the second of w.
enum class SampledPair { remove, add, replace_one, ratio, reversed_ratio, weighted_ratio };

// The shapes for which kernels have bodies of their own.
enum class LossShape { one_sided, two_sided, group, ratio };

constexpr double kLogLargestRatio = 300.0;  // largest log(1 + V); ratios are cut there

struct SampledLoss {
    double q, one_minus_q, c, c_rest;  // c + c_rest = 1/sigma
    SampledPair pair;
    std::shared_ptr<const GroupLoss> group{};  // empty for one record

    SampledLoss(double rate, double noise, SampledPair kind) noexcept
        : q(rate), one_minus_q(1.0 - rate), c(1.0 / noise), c_rest(std::fma(-c, noise, 1.0) / noise), pair(kind) {}
    SampledLoss(const SampledStep& step, SampledPair kind) : SampledLoss(step.q, step.sigma, kind) {
        if (step.records > 1) group = std::make_shared<const GroupLoss>(q, c, step.records);
    }

    int records() const noexcept { return group ? group->records() : 1; }

    double sign() const noexcept {  // loss = sign V
        return pair == SampledPair::add || pair == SampledPair::reversed_ratio ? -1.0 : 1.0;
    }
    bool weighted() const noexcept {  // the density has the factor e^{L+} or e^w
        return pair != SampledPair::add && pair != SampledPair::ratio && pair != SampledPair::reversed_ratio;
    }
    bool two_sided() const noexcept { return pair == SampledPair::replace_one; }
    bool is_ratio() const noexcept { return pair >= SampledPair::ratio; }
    LossShape shape() const noexcept {
        if (group) return LossShape::group;
        return is_ratio() ? LossShape::ratio : two_sided() ? LossShape::two_sided : LossShape::one_sided;
    }
    // The least V: of L+ on one side, -1 of a ratio, -inf on two sides.
    double least() const noexcept { return is_ratio() ? -1.0 : two_sided() ? -kInfinity : least_factor(); }
    double least_factor() const noexcept { return records() * std::log1p(-q); }  // of L+
};

// Computes V and the logarithm of the density (without 1/sqrt(2 pi)) at the nodes. All spans have one length, a
// multiple of kLanes. For a group `error`, if given, is the error of both in u.
void evaluate(const SampledLoss& law, std::span<const double> x, double* v, double* log_density,
              double* error = nullptr);

// The posteriors odds/(1 + odds) of the sampled component, log odds = start + c x.
void find_posteriors(const double* x, std::size_t n, double start, double c, double* posterior) noexcept;

// The line Im x = a: sine, versine (1 - cos) and tangent of c a.
struct Rotation {
    double a, sine, versine, tangent;
};
Rotation rotation(const SampledLoss& law, double angle) noexcept;

// The x with L+(x) = loss (V for groups and ratios), near enough to place windows; -inf below the least loss.
double output_at(const SampledLoss& law, double loss) noexcept;

// How far one step with little noise is from outputs that tell whether the record was in the sample. With
// v = c x - c^2/2 + lambda the logarithm of the odds at the output x, c = 1/sigma and lambda = log(q/(1-q)), the loss
// is log(1-q) + log(1 + e^v), so that at order a = 1 + z
//     E e^{z L} = (1-q)^a (1 + C(z) + e^{a lambda + c^2 a (a-1)/2}),
//     C(z) = integral phi(x) ((1 + e^v)^a - 1 - e^{a v}) dx:
// The term 1 stands for records that were not included. The last term stands for included records, as if their losses
// were log q + c x - c^2/2. C stands for the outputs around v = 0, on which both may fall; only C needs nodes.
// Replaced records: with v' = v(-x) the loss is log(1 + e^v) - log(1 + e^v'), the first factor is 1 - q, and
// (1 + e^v)^a in C has the factor (1 + e^v')^-z.
//
// Errors of the trapezoidal rule in v, with step h: on the lines Im v = -+ pi/2, where |1 + e^v| >= 1, and on the real
// line for y = 0,
//     |(1 + e^v)^a - 1 - e^{a v}| <= (2 + t + |y|) min(1, e^{Re v}) (1 + e^{Re v})^t e^{pi |y|},   z = t + i y, t >= 0,
// since (1 + w)^a - 1 is the integral of a (1 + s w)^z w, and for v > 0 the same holds of e^{a v} ((1 + e^-v)^a - 1).
// So the error of the rule is 2 M/(e^{pi^2/h} - 1), M the integral of this bound times phi e^{(pi/(2 c))^2/2}
// (Trefethen, Weideman 2014, Theorem 5.1), and the nodes left out on either side fall like a geometric series. The
// factor of replaced records adds
//     |(1 + e^v)^a ((1 + e^v')^-z - 1)| <= (2 + t + |y|) min(1, e^{Re v'}) (1 + e^{Re v})^{1+t} e^{pi |y|},
// as |1 + s e^v'| >= 1 on these lines, 0 <= s <= 1.
class InclusionOverlap {
public:
    // 0 < q < 1. Where is_little() is false no other member may be called.
    InclusionOverlap(const SampledStep& step, SampledPair pair) noexcept;  // remove or replace_one

    // Whether an output of 0 is more likely where the record was not included.
    bool is_little() const noexcept { return log_odds < 0.5 * c * c; }

    // Places nodes that serve for 0 <= t <= tilt and |y| <= ordinate. Returns false where too many nodes are needed.
    bool place(double tilt, double ordinate);
    // Takes C = 0; its error still counts.
    void ignore() noexcept { is_ignored_ = true; }

    // log e^{a lambda + c^2 a (a-1)/2} at a real tilt, and its slope.
    double log_included(double t) const noexcept { return (1.0 + t) * (log_odds + 0.5 * c * c * t); }
    double log_included_slope(double t) const noexcept { return log_odds + c * c * (t + 0.5); }

    // A bound of |C(t)| that takes no nodes.
    double above(double t) const noexcept;

    // C(t), and a bound of the error of C(t + i y) for |y| <= y_most.
    double at(double t) const noexcept;
    double slope_at(double t) const noexcept;  // C'(t)
    double error(double t, double y_most) const noexcept;

    // C at t + i y for kLanes ordinates; set_tilt(t) comes first.
    void set_tilt(double t);
    void at_ordinates(const double* y, double* re, double* im) const noexcept;

    // The law of the losses less that of included records is no positive measure where outputs x < 0 are more likely
    // under the latter. Returns a bound of the negative part, over (1-q)^a.
    double negative_part(double t) const noexcept;

    // The term of included records in two parts: f' of those that are no more likely than the law of all losses, and
    // the rest. A bound, over (1-q)^a, of |f'| + the rest for all Im z >= y.
    double decayed(double t, double y) const noexcept;

    // A bound, for w = e^v and 0 < t <= 1, of
    //     V(t) = integral phi(x) (((1 + w)^t ((1 + w)^t - 1))^1/2 + w ((1 + w)^t ((1 + w)^t - w^t))^1/2) dx.
    double change(double t) const noexcept;

    // log (1-q)^a, of replaced records log(1-q).
    double log_base(double t) const noexcept { return log_rest + t * without; }

    bool replaces;
    double count, q, rest, log_q, log_rest, log_odds, c;
    double with, without;  // the loss of included records less c x - c^2/2, and the loss of the other records

private:
    // The mean of included records at the tilt, in their deviations above the loss up to which they may be more likely
    // than all.
    double above_negative(double t) const noexcept;
    double mirrored(double v) const noexcept { return 2.0 * log_odds - c * c - v; }  // v at -x
    double output(double v) const noexcept { return (v - log_odds) / c + 0.5 * c; }
    double log_density(double v) const noexcept;
    double log_mass(double t) const noexcept;
    double log_beyond(double v, double slope, double t, double y) const noexcept;
    double left_slope(double v) const noexcept { return (replaces ? 0.0 : 1.0) - output(v) / c; }

    bool is_ignored_ = true;
    double tilt_ = -1.0, ordinate_ = 0.0;  // for which the nodes were placed
    double h_ = 0.0;
    double left_ = 0.0, right_ = 0.0;     // the first v left out
    std::vector<double> v_, weight_;      // v < 0 first
    std::vector<double> l_, other_l_;     // log(1 + e^-|v|); of replaced records log(1 + e^v), v at -x, else 0
    std::size_t negative_ = 0;
    // At the tilt: e^{(1+t) l - t other_l} - 1, its factor and the other term.
    std::vector<double> excess_, factor_, other_;
};

// Smooth windows in the privacy loss: products of normal cdfs, entire functions of the loss.
//
// With u = (V - level)/width a rising step is Phi(u), a falling step Phi(-u); both have a relative error of 20u as far
// as the argument allows. On a line, with u + i v:  |Phi(u + i v)| <= e^{v^2/2} Phi(u), since
// |phi(s + i v)| = e^{v^2/2} phi(s), and |Phi| <= 1 + |1 - Phi|; 2 Phi(u) <= e^{-u^2/2} for u <= 0.

// sign 1 rises with V, sign -1 falls.
struct LossStep {
    double level = 0.0, width = 1.0, sign = 1.0;

    double argument(double v) const noexcept { return sign * (v - level) / width; }
};

class LossWindow {
public:
    static constexpr int kMost = 26;  // the levels of a split sum, and the outermost

    LossWindow with(LossStep step) const noexcept {
        LossWindow w = *this;
        if (w.count_ < kMost) w.steps_[w.count_++] = step;
        return w;
    }

    const LossStep* begin() const noexcept { return steps_; }
    const LossStep* end() const noexcept { return steps_ + count_; }

    // The lowest of the falling steps.
    const LossStep* falling() const noexcept {
        const LossStep* lowest = nullptr;
        for (const LossStep& s : *this)
            if (s.sign < 0.0 && (lowest == nullptr || s.level < lowest->level)) lowest = &s;
        return lowest;
    }
    bool rises() const noexcept {
        return std::any_of(begin(), end(), [](const LossStep& s) { return s.sign > 0.0; });
    }

private:
    LossStep steps_[kMost];
    int count_ = 0;
};

// log Phi(u).
RENYI_INLINE double log_normal_cdf(double u) noexcept {
    const double size = __builtin_fabs(u), half = 0.5 * lane_erfcx(size * kRootHalf);
    const double outside = lane_exp(-0.5 * (u * u)) * half;
    const double near = lane_log1p(-select(u < 0.0, 0.0, outside)), far = lane_log(half) - 0.5 * (u * u);
    return select(u < 0.0, far, near);
}

// log of a bound of |Phi(u + i v)|.
inline double log_cdf_bound(double u, double v) noexcept {
    if (u > v + 9.0) return 1e-17;
    const double exponent = 0.5 * (v * v - u * u);
    if (u < 0.0) return exponent - std::numbers::ln2;
    return exponent > 60.0 ? 0.5 * v * v : std::log1p(0.5 * std::exp(exponent));
}

}  // namespace renyi
