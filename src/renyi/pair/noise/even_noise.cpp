// Noise of an even density on a query of sensitivity 1: P is centred at 1/2, Q at -1/2. The pair is its own reverse.
//
// Outputs v >= 0 are represented by x = v - 1/2, which is precise where densities are singular; v < 0 mirrors them. A
// kernel gives, for x >= -1/2,
//
//     at(x), loss(x)         the density of P, times `scale`; the loss, >= 0
//     fits(c, w)             whether [c - w, c + w] is a panel
//     mass_error(a, b), loss_error(a, b)   relative and absolute error on a panel
//     breaks()               -1/2, the place where the loss turns, and the end beyond which the mass is negligible
//     tail_from, tail(x)     the x from which masses beyond x are known in closed form, and the span of that tail
#include "renyi/pair/noise/noises.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include "renyi/fp/double_double.hpp"
#include "renyi/pair/atoms.hpp"
#include "renyi/pair/division.hpp"
#include "renyi/pair/operations/operations.hpp"

namespace renyi {

namespace {

template <class Kernel>
class EvenNoise final : public Pair {
public:
    explicit EvenNoise(Kernel kernel) : kernel_(std::move(kernel)) {
        const std::vector<double> breaks = kernel_.breaks();
        const auto fits = [this](double c, double w) { return kernel_.fits(c, w); };
        ends_.push_back(breaks[0]);
        for (std::size_t i = 1; i < breaks.size(); ++i) {
            const std::vector<double> found = panel_ends(breaks[i - 1], breaks[i], fits);
            ends_.insert(ends_.end(), found.begin() + 1, found.end());
        }
        normalise();
    }

    Spans spans(Side, const Fineness& fineness) const override {
        Spans found = upper_half(fineness);
        for (const Span& s : upper_half(mirrored(fineness)).spans) found.spans.push_back(reversed(s));
        for (Span& s : found.spans) s.mass_error += total_error_;
        found.infinite.upper = found.null.upper = kNegligible;
        found.unbounded_above = found.unbounded_below = !kernel_.bounded;
        return found;
    }
    bool symmetric() const noexcept override { return true; }

private:
    Spans upper_half(const Fineness& fineness) const {
        Spans found;
        for (std::size_t i = 1; i < ends_.size(); ++i) {
            const double a = ends_[i - 1], b = ends_[i];
            if (a >= kernel_.tail_from && fineness.cut(0.0, kernel_.loss(a)) == kFine) {
                found.spans.push_back(kernel_.tail(a));
                return found;
            }
            add_panel(a, b, kernel_, kernel_.mass_error(a, b), kernel_.loss_error(a, b), fineness, found);
        }
        if (ends_.back() >= kernel_.tail_from) found.spans.push_back(kernel_.tail(ends_.back()));
        return found;
    }

    // Divides the scale by the total mass. The mass of P at v < 0 is that of Q at v > 0.
    void normalise() {
        DoubleDouble total{0.0, 0.0};
        double wrong = 0.0;
        for (const Span& s : upper_half(Coarse{}).spans) {
            total = total + s.p + s.q;
            wrong += (s.p + s.q) * (s.mass_error + s.loss_error);
        }
        kernel_.scale /= total.hi;
        total_error_ = 1.01 * wrong / total.hi + 4.0 * kUnitRoundoff;
    }

    Kernel kernel_;
    std::vector<double> ends_;
    double total_error_ = 0.0;
};

// With near = |x|, far = 1 + x and S(d) = (d/scale)^shape the densities are e^-S(near), e^-S(far), and the loss is
//
//     S(far) - S(near) = S(far) (1 - R),   R = (near/far)^shape
//
// Panels. S is analytic except at 0, where z^shape is negligible once it is small. With m = min(1, 1/scale), an
// interval is also a panel if
// - it is so near to 0 that S <= 2^-60 m on all of it: a rule errs by less than S varies;
// - it is 3 half-widths away from 0 and S <= 2^-20 m on the disc that touches 0: by the ellipse of parameter 5.8 the
//   8 nodes leave 5 S 5.8^-16 < 2^-58 m.
// Both bound the relative error of the mass and the absolute error of the loss.

constexpr double kDeepestExponent = 745.0;  // e^-kDeepestExponent is the smallest double

struct PowerTerms {
    double log_far, log_ratio;  // log S(far) and log R
    double far, ratio, share;   // S(far), R, 1 - R
};

class GeneralisedGaussian {
public:
    GeneralisedGaussian(double shape, double width)
        : scale(1.0), shape_(shape), width_(width), smallest_(std::min(1.0, 1.0 / width)) {}

    OutputPoint at(double x, bool) const noexcept {
        const PowerTerms t = terms(x);
        return {scale * deep_exp(-t.far * t.ratio), t.far * t.share};
    }
    double loss(double x) const noexcept {
        const PowerTerms t = terms(x);
        return t.far * t.share;
    }

    bool fits(double c, double w) const noexcept { return fits_one(std::fabs(c), w) && fits_one(c + 1.0, w); }

    // S(near) = S(far) R. x has an error of u, d/scale one of 2u: S has an error of 3u |log| for both logarithms and
    // 3u shape, relative. Where S is small, S |log S| < 0.4.
    double mass_error(double a, double b) const noexcept {
        double error = 0.0;
        for (const PowerTerms& t : {terms(a), terms(b)})
            error = std::max(error, t.far * t.ratio * (12.0 + 3.0 * (shape_ + logs(t))));
        return kUnitRoundoff * (64.0 + error);
    }

    // S(far) as above; 1 - R has an error of 64u. An error u |x| of the place moves the loss by
    // shape (S(far) x/far - S(near)) u.
    double loss_error(double a, double b) const noexcept {
        double error = 0.0;
        for (const double x : {a, b}) {
            const PowerTerms t = terms(x);
            const double moved = shape_ * t.far * (std::fabs(x / (1.0 + x) - t.ratio) + 4.0 * kUnitRoundoff);
            error = std::max(error, t.far * t.share * (80.0 + shape_ + 3.0 * std::fabs(t.log_far)) + 4.0 * moved);
        }
        return kUnitRoundoff * error + 0x1p-57 * smallest_;
    }

    std::vector<double> breaks() const { return {-0.5, width_ * std::pow(kDeepestExponent, 1.0 / shape_)}; }

    static constexpr double tail_from = kInfinity;
    static constexpr bool bounded = false;
    static Span tail(double) noexcept { return {}; }

    double scale;

private:
    static double logs(const PowerTerms& t) noexcept {
        return std::fabs(t.log_far) + (t.ratio > 0.0 ? std::fabs(t.log_ratio) : 0.0);
    }

    PowerTerms terms(double x) const noexcept {
        const double far = 1.0 + x, ratio = std::fabs(x) / far;
        PowerTerms t;
        t.log_far = shape_ * lane_log(far / width_);
        t.far = lane_exp(t.log_far);
        if (ratio < 0.5) {
            t.log_ratio = shape_ * lane_log(std::max(ratio, 1e-300));
            t.ratio = lane_exp(t.log_ratio);
            t.share = 1.0 - t.ratio;
        } else {  // far - near = 1, or 2 v
            t.log_ratio = shape_ * lane_log1p(-std::min(1.0, 1.0 + 2.0 * x) / far);
            const ExpReduction e = reduce_exp(t.log_ratio);
            t.ratio = exp_of(e);
            t.share = -expm1_of(e);
        }
        return t;
    }

    bool fits_one(double d, double w) const noexcept {
        const auto power = [this](double z) { return std::pow(z / width_, shape_); };
        if (power(d + w) <= 0x1p-60 * smallest_) return true;
        if (d >= 3.0 * w && power(2.0 * d) <= 0x1p-20 * smallest_) return true;
        // |S'| = shape S/d on the disc of radius 8 w, where |z| <= d + 8 w.
        const double far = d + 8.0 * w;
        return d >= 8.0 * w && 4.0 * w * shape_ * power(far) <= far;
    }

    double shape_, width_, smallest_;
};

// With y the distance over root = scale n^(1/2) and z = x/root the loss is
//
//     (n+1)/2 log(1 + 4 k v/(root (1 + z^2))),   k = 1/(2 root), v = x + 1/2,
//
// largest at v = (root^2 + 1/4)^(1/2). Log densities have the slope (n+1) z/(z^2 + root^2), singular at +-i root.
//
// Tails. Beyond y >= 2^10 the mass is root y^-n S(y), S(y) = sum_k binom(-(n+1)/2, k) y^-2k/(n + 2k), and for n < 107
// six terms leave an error of (54 2^-20)^6. The masses of P and Q have the ratio (y_far/y_near)^n S(y_near)/S(y_far).

constexpr double kDeepestMass = 740.0;
constexpr double kFar = 0x1p10, kFewDegrees = 107.0;

class Student {
public:
    Student(double degrees, double width)
        : degrees_(degrees),
          root_(width * std::sqrt(degrees)),
          tail_from(degrees < kFewDegrees ? kFar * root_ : kInfinity) {}

    OutputPoint at(double x, bool) const noexcept { return {scale * deep_exp(-depth(x)), loss(x)}; }
    double loss(double x) const noexcept {
        const double z = std::fabs(x) / root_, v = (x + 0.5) / root_, k = 2.0 / root_;
        const double excess = z <= 1.0 ? k * v / (1.0 + z * z) : k * (v / z) / (z + 1.0 / z);
        return 0.5 * (degrees_ + 1.0) * lane_log1p(excess);
    }

    bool fits(double c, double w) const noexcept { return fits_one(std::fabs(c), w) && fits_one(c + 1.0, w); }

    // The logarithm has an error of 8u; an error u |x| of the place moves it by (n+1) y^2/(1 + y^2) u at most.
    double mass_error(double a, double b) const noexcept {
        const double far = std::max(std::fabs(a), std::fabs(b)), y = std::min(far / root_, 1.0);
        return kUnitRoundoff * (32.0 + 8.0 * depth(far) + 2.0 * (degrees_ + 1.0) * y * y);
    }
    double loss_error(double a, double b) const noexcept {
        double error = 0.0;
        for (const double x : {a, b}) {
            const double slope = (x + 1.0) / (root_ * root_ + (x + 1.0) * (x + 1.0)) - x / (root_ * root_ + x * x);
            error = std::max(error, 40.0 * loss(x) + 4.0 * (degrees_ + 1.0) * std::fabs(x * slope));
        }
        return kUnitRoundoff * error;
    }

    std::vector<double> breaks() const {
        const double half = kDeepestMass / degrees_;  // (1 + y^2)^(-n/2) = e^-kDeepestMass
        const double reach = root_ * (half < 300.0 ? std::sqrt(std::expm1(2.0 * half)) : std::exp(half));
        const double turn = std::hypot(root_, 0.5) - 0.5;
        if (turn < reach) return {-0.5, turn, reach};
        return {-0.5, reach};
    }

    Span tail(double x) const noexcept {
        const double near = x / root_, apart = lane_log1p(1.0 / x), squared = 1.0 / (near * near);
        double term = 1.0, sum_near = 1.0 / degrees_, more = 0.0;  // more: S(near) - S(far)
        for (int k = 1; k <= 6; ++k) {
            term *= -(0.5 * (degrees_ + 1.0) + k - 1.0) / k * squared;
            sum_near += term / (degrees_ + 2.0 * k);
            more -= term / (degrees_ + 2.0 * k) * lane_expm1(-2.0 * k * apart);
        }
        const double mean = degrees_ * apart - lane_log1p(-more / sum_near), high = loss(x);
        const double p = scale * root_ * deep_exp(-degrees_ * lane_log(near)) * sum_near;
        const double mass_error = kUnitRoundoff * (32.0 + 8.0 * degrees_ * lane_log(near));
        return {0.0, std::min(mean, high), high, p, p * lane_exp(-mean), mass_error, 32.0 * kUnitRoundoff * high};
    }

    double scale = 1.0;
    static constexpr bool bounded = true;

private:
    // (n+1)/2 log(1 + y^2)
    double depth(double x) const noexcept {
        const double y = std::fabs(x) / root_;
        const double log = y <= 1.0 ? lane_log1p(y * y) : 2.0 * lane_log(y) + lane_log1p(1.0 / y / y);
        return 0.5 * (degrees_ + 1.0) * log;
    }

    // Bounds (n+1) |z|/|z^2 + root^2| on the disc of radius 8 w by half the sum of the inverse distances to the poles.
    bool fits_one(double d, double w) const noexcept {
        const double away = std::hypot(d, root_) - 8.0 * w;
        return away > 0.0 && 4.0 * w * (degrees_ + 1.0) * std::min(1.0, (d + 8.0 * w) / away) <= away;
    }

    double degrees_, root_;

public:
    double tail_from;
};

}  // namespace

PairPointer generalised_gaussian_noise(double shape, double scale) {
    return std::make_shared<const EvenNoise<GeneralisedGaussian>>(GeneralisedGaussian(shape, scale));
}

PairPointer student_noise(double degrees, double scale) {
    return std::make_shared<const EvenNoise<Student>>(Student(degrees, scale));
}

// The density is a = (1 - b)/(2 (gamma + b (1 - gamma))) on [0, gamma), b = e^-epsilon. The loss at x is epsilon for
// x >= 1, where P has mass 1/2, and on the end of [0, 1] where the near step of P meets the far step of Q, of length
// min(gamma, 1 - gamma). It is -epsilon on the mirrored set; elsewhere both densities are equal.
PairPointer staircase_noise(double epsilon, double gamma) {
    const double b = deep_exp(-epsilon), rest = 1.0 - gamma;
    const double first = -lane_expm1(-epsilon) / (2.0 * (gamma + b * rest));
    const double larger = 0.5 + first * std::min(gamma, rest), smaller = larger * b;
    const double equal = first * (gamma > 0.5 ? gamma - rest : b * (rest - gamma));
    const double error = 32.0 * kUnitRoundoff;
    Spans found;
    found.unbounded_above = found.unbounded_below = false;
    found.infinite.upper = found.null.upper = smaller < kNegligible ? kNegligible : 0.0;
    found.spans.push_back({epsilon, epsilon, epsilon, larger, smaller, error, 0.0});
    found.spans.push_back({-epsilon, -epsilon, -epsilon, smaller, larger, error, 0.0});
    // gamma - (1 - gamma) has an absolute error of u/2.
    if (equal > 0.0)
        found.spans.push_back(
            {0.0, 0.0, 0.0, equal, equal, std::min(error + kUnitRoundoff / std::fabs(gamma - rest), 1.0), 0.0});
    return std::make_shared<const AtomsPair>(std::move(found), true);
}

}  // namespace renyi
