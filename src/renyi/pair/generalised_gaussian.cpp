// With near = |x|, far = 1 + x and S(d) = (d/scale)^shape the densities are e^-S(near), e^-S(far), and the loss is
//
//     S(far) - S(near) = S(far) (1 - R),   R = (near/far)^shape
//
// Panels. S is analytic but at 0, where z^shape is as good as smooth once it is small: a panel is also one that
// - is so near to it, in all, that S <= 2^-60 m: a rule errs by less than S varies;
// - is 3 half-widths away from it, S <= 2^-20 m on the disc that touches it: the ellipse of parameter 5.8 leaves 8
//   nodes 5 S 5.8^-16 < 2^-58 m,
// of the mass, and of the loss as an absolute error, m = min(1, 1/scale).
#include "renyi/pair/generalised_gaussian.hpp"

#include <algorithm>
#include <cmath>
#include <memory>

#include "renyi/pair/even_noise.hpp"

namespace renyi {

namespace {

constexpr double kDeepest = 745.0;  // e^-kDeepest is the smallest double

struct Terms {
    double log_far, log_ratio;  // of S(far) and R
    double far, ratio, share;   // S(far), R, 1 - R
};

class GeneralisedGaussian {
public:
    GeneralisedGaussian(double shape, double width)
        : scale(1.0), shape_(shape), width_(width), smallest_(std::min(1.0, 1.0 / width)) {}

    OutputPoint at(double x, bool) const noexcept {
        const Terms t = terms(x);
        return {scale * deep_exp(-t.far * t.ratio), t.far * t.share};
    }
    double loss(double x) const noexcept {
        const Terms t = terms(x);
        return t.far * t.share;
    }

    bool fits(double c, double w) const noexcept { return fits_one(std::fabs(c), w) && fits_one(c + 1.0, w); }

    // S(near) = S(far) R, x to u of itself and d/scale to 2u: S to 3u |log| of both logarithms, and 3u shape. Where it
    // is small, S |log S| < 0.4.
    double mass_error(double a, double b) const noexcept {
        double error = 0.0;
        for (const Terms& t : {terms(a), terms(b)})
            error = std::max(error, t.far * t.ratio * (12.0 + 3.0 * (shape_ + logs(t))));
        return kUnitRoundoff * (64.0 + error);
    }

    // S(far) as above, 1 - R to 64u. A place wrong by u |x| moves the loss by shape (S(far) x/far - S(near)) u.
    double loss_error(double a, double b) const noexcept {
        double error = 0.0;
        for (const double x : {a, b}) {
            const Terms t = terms(x);
            const double moved = shape_ * t.far * (std::fabs(x / (1.0 + x) - t.ratio) + 4.0 * kUnitRoundoff);
            error = std::max(error, t.far * t.share * (80.0 + shape_ + 3.0 * std::fabs(t.log_far)) + 4.0 * moved);
        }
        return kUnitRoundoff * error + 0x1p-57 * smallest_;
    }

    std::vector<double> breaks() const { return {-0.5, width_ * std::pow(kDeepest, 1.0 / shape_)}; }

    static constexpr double tail_from = kInfinity;
    static constexpr bool bounded = false;
    static Span tail(double) noexcept { return {}; }

    double scale;

private:
    static double logs(const Terms& t) noexcept {
        return std::fabs(t.log_far) + (t.ratio > 0.0 ? std::fabs(t.log_ratio) : 0.0);
    }

    Terms terms(double x) const noexcept {
        const double far = 1.0 + x, ratio = std::fabs(x) / far;
        Terms t;
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

}  // namespace

PairPointer generalised_gaussian_noise(double shape, double scale) {
    return std::make_shared<const EvenNoise<GeneralisedGaussian>>(GeneralisedGaussian(shape, scale));
}

}  // namespace renyi
