#include "renyi/pair/noise/noises.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numbers>
#include <utility>

#include "renyi/pair/division.hpp"
#include "renyi/pair/moment.hpp"
#include "renyi/pair/operations/operations.hpp"
#include "renyi/special/elementary.hpp"
#include "renyi/special/gauss_legendre.hpp"

namespace renyi {

namespace {

// The moments of the density of LossDensity in closed form. With n = 2 alpha - 1, T = top, z = beta T
//     A - 1    (2 peak/n) (2 (sinh z - z) + (1 - e^-T) phi(-z)) + beta d/n      all >= 0
//     A        W = (2 peak/n) e^z (1 - e^{-nT})
//     A'       W m, m = T (coth x - 1/x), x = nT/2: the mean of l under e^{alpha l} Q; at alpha = 1, A' is
//     d        = 8 peak e^{-T/2} (y cosh y - sinh y), y = T/2: the density's part of the Kullback-Leibler divergence
// by  sinh(ny) - n sinh y = sinh y (cosh z - 1) + cosh y (sinh z - z) + 2 beta (y cosh y - sinh y).

double phi(double t) noexcept { return t > -700.0 ? phi_of(reduce_exp(t)) : -1.0 - t; }  // t <= 700

// sinh z - z, 0 <= z <= 700. For z < 1 the terms of the series after z^17 are below 2^-53 of the first.
double sinh_excess(double z) noexcept {
    if (z >= 1.0) return 0.5 * (phi(z) - phi(-z));
    const double w = z * z;
    double sum = 1.0;
    for (int k = 17; k >= 5; k -= 2) sum = 1.0 + sum * w / (k * (k - 1.0));
    return z * w / 6.0 * sum;
}

// e^-y (y cosh y - sinh y), y >= 0: the series is sum of y^(2k+1) 2k/(2k+1)!.
double bend(double y) noexcept {
    if (y >= 1.0) return 0.5 * (y * (1.0 + lane_exp(-2.0 * y)) + lane_expm1(-2.0 * y));
    const double w = y * y;
    double sum = 1.0;
    for (int k = 9; k >= 2; --k) sum = 1.0 + sum * w / ((k - 1.0) * 2.0 * (2.0 * k + 1.0));
    return lane_exp(-y) * y * w / 3.0 * sum;
}

// The mean of l on [-T, T] under e^{sl}, x = sT: T (coth x - 1/x), without cancellation.
double tilted_mean(double top, double x) noexcept {
    return x == 0.0 ? 0.0 : top * (bend(x) / (x * 0.5 * -lane_expm1(-2.0 * x)));
}

// The variance of l there, T^2 (1/x^2 - 1/sinh^2 x).
double tilted_variance(double top, double x) noexcept {
    const double w = x * x;
    if (x < 0.3) return top * top * (1.0 / 3 - w * (1.0 / 15 - w * (2.0 / 189 - w / 675)));
    const double e = lane_exp(-2.0 * x), decay = 1.0 - e;
    return top * top * (1.0 / w - 4.0 * e / (decay * decay));
}

struct LossDensity {
    double top = 0.0, peak = 0.0;
};

// The curve of a loss with the density peak e^{(l - top)/2} under P and peak e^{-(l + top)/2} under Q on [-top, top],
// and with atoms. Under P and under Q all masses add up to 1, including that of the density, peak (1 - e^-top) 2.
class ExponentialMoment final : public RenyiCurve {
public:
    ExponentialMoment(const std::vector<LossAtom>& atoms, LossDensity density)
        : density_(density), largest_(density.top), divergence_(8.0 * density.peak * bend(0.5 * density.top)) {
        for (const LossAtom& a : atoms) nodes_.add(a);
    }

    LogMoment log_moment(double alpha) const noexcept override {
        const Tilt tilt(alpha, largest_);
        const TiltedSums sums = nodes_.sums(tilt, 0, nodes_.blocks()) + density_sums(tilt);
        return logarithm_of(sums, tilt, 0.0, nodes_.size());
    }
    Certified divergence(double alpha) const noexcept override {
        if (alpha > 1.0) return RenyiCurve::divergence(alpha);
        return divergence_of(nodes_.divergence(nodes_.blocks()) + divergence_, largest_, 0.0, nodes_.size());
    }
    double largest_loss() const noexcept override { return largest_ * (1.0 + 8.0 * kUnitRoundoff); }

private:
    TiltedSums density_sums(const Tilt& tilt) const noexcept {
        const double top = density_.top, n = tilt.alpha + tilt.beta, z = tilt.beta * top, x = 0.5 * n * top;
        const double part = 2.0 * density_.peak / n;
        const double grown = tilt.scale > 0.0 ? lane_exp(tilt.beta * (top - tilt.largest_loss)) : lane_exp(z);
        const double weight = part * grown * -lane_expm1(-n * top);
        double excess = weight;
        if (tilt.scale == 0.0)
            excess = part * (2.0 * sinh_excess(z) - lane_expm1(-top) * phi(-z)) + tilt.beta / n * divergence_;
        const double mean = tilted_mean(top, x);
        double away = mean;
        if (tilt.center != 0.0) away = 2.0 * top / lane_expm1(std::min(2.0 * x, 700.0)) - 2.0 / n + (top - tilt.center);
        return {excess, weight * mean, weight * away, weight * (tilted_variance(top, x) + away * away)};
    }

    LossDensity density_;
    LossNodes nodes_;
    double largest_, divergence_;  // the density's part of the divergence
};

// Poisson sampling of a pair (P, Q): every record enters with probability q, so that the pair becomes
// ((1-q) Q + q P, Q) with the loss log1p(x), x = q (e^l - 1).
//
//     K(alpha) = log1p(E_Q[(1+x)^alpha - 1 - alpha x])        every real alpha >= 1
//
// Where an involution swaps P and Q, the other order of the sampled pair has the smaller divergence: the proof of
// Mironov, Talwar, Zhang 2019, Theorem 5, uses nothing else of the Gaussian. So K is exact here.
//
// Atoms stay atoms. The density is integrated by 16-point Gauss-Legendre panels that halve towards the top, as often as
// the order requires; their error is bounded anew for every alpha.
//
// The integrand under Q is g(l) = peak e^{-(l + top)/2} f(x(l)), f(x) = (1+x)^alpha - 1 - alpha x, x = q (e^l - 1).
//
// Quadrature. f(x) = alpha (alpha-1) x^2 Psi(x), Psi(x) = int_0^1 (1-t) (1+tx)^(alpha-2) dt, and for |Im z| <= pi/2,
// X = x(Re z): |1 + t x(z)| <= 1 + tX and >= (1 + tX)/sqrt 2. Hence |f(x(z))| <= sqrt 2 |x(z)|^2 f(X)/X^2. Between
// the real ends a < b of a Bernstein ellipse f(X)/X^2 grows (alpha >= 2) or falls by at most e^{b-a}, so with
// |e^z - 1| <= min(e^Re z + 1, e^|z| - 1) the error of a panel is at most a constant times f(x(b)): a node at b whose
// mass is that constant. Bounds are sums over such nodes.
//
// Range. d log f/dl >= 1 for l > 0 and f falls for l < 0, so g grows like e^{l/2} at least to the right of 0 and falls
// like e^{-l/2} at least to the left: the integral more than 90 away from both ends is below e^-45 of the rest.
//
// Input. An error of u in `top` is one of u top in e^top: e^l, and with it x, is taken to have an error of u top.

constexpr double kRange = 90.0;   // integrated distance from each end, a loss
constexpr double kWidth = 1.5;    // widest panel, in losses
constexpr double kSteepest = 8.0;  // beta * slope * width of the last panel
constexpr double kLargestBeta = 1e6;
constexpr double kTruncation = 0x1p-60;
constexpr double kHalfPi = 0.5 * std::numbers::pi;

// Returns the parameter of the Bernstein ellipse. The ellipse stays in |Im z| <= pi/2 and reaches beyond the panel by
// its width at most, since halves are as far from the top as they are wide.
double ellipse_of(double half_width) noexcept {
    const double h = 0.999 * kHalfPi / half_width;
    return std::min(5.8, h + std::sqrt(h * h + 1.0));
}

std::size_t halvings(double steepness) noexcept {
    return steepness > kSteepest ? static_cast<std::size_t>(std::ceil(std::log2(steepness / kSteepest))) : 0;
}

class SampledExponentialMoment final : public RenyiCurve {
public:
    SampledExponentialMoment(const std::vector<LossAtom>& atoms, LossDensity density, double q)  // 0 < q < 1
        : q_(q),
          density_(density),
          largest_base_(density.top * (1.0 + 8.0 * kUnitRoundoff)),
          slope_(q / (q + (1.0 - q) * lane_exp(-largest_base_))),
          largest_(sampled_loss(q, largest_base_)) {
        for (const LossAtom& atom : atoms) add_node(graded_, atom.loss, atom.p, atom.q);
        graded_.end_block();
        tile();
    }

    LogMoment log_moment(double alpha) const noexcept override {
        const Tilt tilt(alpha, largest_);
        const std::size_t level = std::min(halvings(tilt.beta * slope_ * last_width_), tops_.blocks() - 1);
        const TiltedSums sums = graded_.sums(tilt, 0, undivided_ + level) + tops_.sums(tilt, level, 1);
        const TiltedSums bounds =
            graded_bounds_.sums(tilt, 0, graded_bounds_.blocks()) + top_bounds_.sums(tilt, level, 1);
        const double quadrature = 1.001 * bounds.excess / std::max(sums.excess, kSmallestMoment) + kTruncation;
        const double input = (3.0 + tilt.beta * slope_) * largest_base_ * kUnitRoundoff;  // by the error of e^l
        return logarithm_of(sums, tilt, quadrature + input, graded_.size());
    }
    Certified divergence(double alpha) const noexcept override {
        if (alpha > 1.0) return RenyiCurve::divergence(alpha);
        const LogMoment m = log_moment(1.0 + 0x1p-40);  // its quadrature error is nearly that of the divergence
        const double sum = graded_.divergence(undivided_) + tops_.divergence(1);
        return divergence_of(sum, largest_, m.value.relative_error, graded_.size());
    }
    double largest_loss() const noexcept override { return largest_ * (1.0 + (8.0 + largest_base_) * kUnitRoundoff); }

private:
    struct Panel {
        bool at_top;       // whether offsets are measured down from top; else up from -top
        double near, far;  // offsets
    };

    void add_node(LossNodes& nodes, double loss, double p, double q) const {
        nodes.add({sampled_loss(q_, loss), (1.0 - q_) * q + q_ * p, q});
    }
    void add_panel(const Panel& panel, LossNodes& nodes) const {
        const double half = 0.5 * (panel.far - panel.near), middle = 0.5 * (panel.far + panel.near);
        for (int i = -kLegendreHalf; i < kLegendreHalf; ++i) {
            const int j = i < 0 ? -i - 1 : i;
            const double offset = middle + (i < 0 ? -half : half) * kLegendreNode[j];
            const double weight = half * kLegendreWeight[j] * density_.peak;
            const double near = weight * lane_exp(-0.5 * offset), far = weight * lane_exp(0.5 * offset - density_.top);
            if (panel.at_top) {
                add_node(nodes, density_.top - offset, near, far);
            } else {
                add_node(nodes, offset - density_.top, far, near);
            }
        }
    }
    void add_bound(const Panel& panel, LossNodes& bounds) const {
        const double half = 0.5 * (panel.far - panel.near), middle = 0.5 * (panel.far + panel.near);
        const double center = panel.at_top ? density_.top - middle : middle - density_.top;
        const double rho = ellipse_of(half);
        const double reach = 0.5 * half * (rho + 1.0 / rho), height = 0.5 * half * (rho - 1.0 / rho);
        const double a = center - reach;
        const double b = std::fabs(center + reach) < 0.1 * half ? 0.1 * half : center + reach;  // not where X = 0
        const double size = std::max(std::fabs(a), std::fabs(b)) + height;
        // Bounds |e^z - 1|/|e^b - 1| where Re z = end; numerator and denominator are divided by e^max(b, 0).
        const auto ratio = [&](double end) {
            const double unit = lane_exp(-std::max(b, 0.0));
            const double top = size < 1.0 ? lane_expm1(size) * unit : lane_exp(end - std::max(b, 0.0)) + unit;
            return top / -lane_expm1(-std::fabs(b));
        };
        const double scale = 64.0 / 15.0 * half * std::pow(rho, -32.0) / (1.0 - 1.0 / (rho * rho)) * std::sqrt(2.0) *
                             lane_exp(b - a) * density_.peak;
        const double loss = sampled_loss(q_, b);
        double p = 0.0, q = 0.0;
        for (const double end : {a, b}) {
            const double weight = scale * ratio(end) * ratio(end), exponent = -0.5 * (density_.top + end);
            p = std::max(p, weight * lane_exp(exponent + loss));
            q = std::max(q, weight * lane_exp(exponent));
        }
        bounds.add({loss, p, q});
    }

    void tile() {
        const double top = density_.top;
        std::vector<Panel> panels;
        double width = kWidth;
        if (top > kRange) {
            for (double near = 0.0; near < kRange; near += width) panels.push_back({false, near, near + width});
            for (double far = kRange; far > 0.0; far -= width) panels.push_back({true, far - width, far});
        } else {
            const double count = std::max(std::ceil(2.0 * top / kWidth), 1.0);
            width = 2.0 * top / count;
            for (double i = 0.0; i < count; ++i) {
                const bool at_top = 2.0 * i + 1.0 >= count;
                const double nearest = at_top ? count - 1.0 - i : i;
                panels.push_back({at_top, nearest * width, (nearest + 1.0) * width});
            }
        }
        last_width_ = width;
        panels.pop_back();  // the levels divide the last panel
        const auto add = [&](const Panel& panel, LossNodes& nodes, LossNodes& bounds) {
            add_panel(panel, nodes);
            add_bound(panel, bounds);
        };
        for (const Panel& panel : panels) add(panel, graded_, graded_bounds_);
        undivided_ = graded_.blocks();
        const std::size_t levels = halvings(kLargestBeta * slope_ * width);
        for (std::size_t level = 0; level <= levels; ++level, width *= 0.5) {
            add({true, 0.0, width}, tops_, top_bounds_);
            top_bounds_.end_block();
            if (level < levels) add({true, 0.5 * width, width}, graded_, graded_bounds_);
        }
    }

    double q_;
    LossDensity density_;
    double largest_base_;                   // the largest unsampled loss
    double slope_;                          // derivative of the sampled loss in the unsampled one, at the largest loss
    double largest_;                        // the largest sampled loss
    double last_width_ = 0.0;               // width of the last panel of level 0
    std::size_t undivided_ = 0;             // blocks of graded_ for level 0; each further level uses one more
    LossNodes graded_, tops_;               // atoms, panels and halves towards the top; the last panel of each level
    LossNodes graded_bounds_, top_bounds_;  // bounds of the quadrature errors of both
};

// A Poisson sample whose moment in the direction "remove" is given. In the direction "add" it is smaller, and computed
// from spans.
class SampledExponentialLoss final : public PoissonSampledPair {
public:
    SampledExponentialLoss(PairPointer base, double rate, CurvePointer moment)
        : PoissonSampledPair(std::move(base), rate), moment_(std::move(moment)) {}

    CurvePointer moment(Direction direction) const override {
        return direction == Direction::remove ? moment_ : Pair::moment(direction);
    }

private:
    CurvePointer moment_;
};

// A loss whose continuous part has the density mass e^{(l - top)/2}/4 under P and mass e^{-(l + top)/2}/4 under Q on
// [-top, top]: Laplace noise and mechanisms of bounded range. The pair is its own reverse.
//
//     K(alpha) = log1p(E_Q[e^{alpha l} - 1 - alpha (e^l - 1)])        every real alpha >= 1
//
// in closed form, with a relative error of about 1e-14 however small K is. For Poisson samples K is computed by a
// quadrature with a proven error.
class ExponentialLoss final : public Pair {
public:
    ExponentialLoss(double top, double mass, bool atoms) noexcept : top_(top), mass_(mass), atoms_(atoms) {}

    // Over [a, b] the masses are mass/2 e^{(a - top)/2} (e^{(b-a)/2} - 1) and mass/2 e^{-(b + top)/2} (e^{(b-a)/2} -
    // 1): the mean is (a + b)/2. An error of u top in top is one of u top in both exponents.
    Spans spans(Side, const Fineness& fineness) const override {
        Spans found;
        found.unbounded_above = found.unbounded_below = false;
        const double top = top_, loss_error = 2.0 * kUnitRoundoff * top,
                     mass_error = (16.0 + 4.0 * top) * kUnitRoundoff;
        if (top == 0.0) {
            found.spans.push_back({0.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0});
            return found;
        }
        if (atoms_) {
            const double rest = 0.5 * deep_exp(-top);
            found.spans.push_back({top, top, top, 0.5, rest, mass_error, loss_error});
            found.spans.push_back({-top, -top, -top, rest, 0.5, mass_error, loss_error});
        }
        const auto loss = [](double l) { return l; };
        divide({-top, top, -top, top}, loss, fineness, [&](const Part& part) {
            const double a = part.start, b = part.end;
            const double grown = 0.5 * mass_ * (b - a < 1400.0 ? std::expm1(0.5 * (b - a)) : kInfinity);
            const double p = b - a < 700.0 ? grown * deep_exp(0.5 * (a - top))
                                           : 0.5 * mass_ * (deep_exp(0.5 * (b - top)) - deep_exp(0.5 * (a - top)));
            const double q = b - a < 700.0 ? grown * deep_exp(-0.5 * (b + top))
                                           : 0.5 * mass_ * (deep_exp(-0.5 * (a + top)) - deep_exp(-0.5 * (b + top)));
            found.spans.push_back({a, 0.5 * (a + b), b, p, q, mass_error, loss_error});
        });
        return found;
    }
    CurvePointer moment(Direction) const override {
        if (top_ == 0.0) return std::make_shared<const LinearCurve>(0.0);
        return std::make_shared<const ExponentialMoment>(ends(), LossDensity{top_, 0.25 * mass_});
    }
    bool symmetric() const noexcept override { return true; }
    PairPointer sampled(double rate) const override {
        if (top_ == 0.0) return shared_from_this();
        if (rate == 0.0 || rate == 1.0) return Pair::sampled(rate);
        auto moment = std::make_shared<const SampledExponentialMoment>(ends(), LossDensity{top_, 0.25 * mass_}, rate);
        return std::make_shared<const SampledExponentialLoss>(shared_from_this(), rate, std::move(moment));
    }

private:
    std::vector<LossAtom> ends() const {
        if (!atoms_) return {};
        const double rest = 0.5 * lane_exp(-top_);
        return {{top_, 0.5, rest}, {-top_, rest, 0.5}};
    }

    double top_, mass_;
    bool atoms_;
};

constexpr double kDeepest = 746.0;  // e^-kDeepest vanishes

// log(sinh(x/2)/(x/2)) = sum of B_2n/(2n (2n)!) x^2n, terms below (2/n) (x/2 pi)^2n: 16 of them for x <= 2.
constexpr double kSeries[] = {
    0x1.5555555555555p-5,  -0x1.6c16c16c16c17p-12, 0x1.71de3a556c734p-18, -0x1.bbd779334ef0bp-24,
    0x1.1eed8eff8d898p-29, -0x1.8355d1db03354p-35, 0x1.0d0f870805313p-40, -0x1.7da4e1f79955cp-46,
    0x1.12f948be82970p-51, -0x1.9131453d55727p-57, 0x1.27a18aefd3f97p-62, -0x1.b752159a2e47bp-68,
    0x1.48b5244a5c143p-73, -0x1.eed15866cb263p-79, 0x1.76586051e8b1fp-84, -0x1.1c77df96de38bp-89};

// Returns the mean of losses at depths [z, z + w], as a distance above their lower end.
//
// With x = (1 + r) w, y = r w and l(x) = log(sinh(x/2)/(x/2)) it is w/2 + l(x) - l(y), with l(x) - l(y) >= 0. For
// x <= 2 the difference is a series with the factor x^2 - y^2 = w (x + y). Else w > 1 or y > 1, and the mean lies
// log1p((1/r - v)/(1 + v)) below the upper end, v = (1 - e^-w)/(e^y - 1), where 1/r - v loses less than two bits.
double mean_above_lower_end(double w, double r) noexcept {
    const double x = (1.0 + r) * w, y = r * w;
    if (x > 2.0) {
        const double v = y < 700.0 ? -lane_expm1(-w) / lane_expm1(y) : 0.0;
        return w - lane_log1p((1.0 / r - v) / (1.0 + v));
    }
    double sum = 0.0, power = 1.0, symmetric = 1.0;  // symmetric: (x^2n - y^2n)/(x^2 - y^2)
    for (const double coefficient : kSeries) {
        sum += coefficient * symmetric;
        power *= y * y;
        symmetric = x * x * symmetric + power;
    }
    return 0.5 * w + w * (x + y) * sum;
}

// The Rényi curve of P = Gumbel(shift), Q = Gumbel(0) at scale 1 is that of two exponential distributions whose rates
// have the ratio e^shift (Gil, Alajaji, Linder 2013). With b = alpha - 1, c = e^-shift - 1, phi(t) = e^t - 1 - t
//     K(alpha) = b shift - log1p(-b c) = b phi(-shift) + (-log1p(-b c) - b c),        both parts >= 0,
// and that of the other order has -shift for shift, finite for b c < 1 only. The latter is larger: the derivatives in
// the shift are alpha b a/(1 - alpha a) and alpha b a/(1 - a + alpha a), a = 1 - e^-shift.
//
// Near b c = 1 the rounding of b c makes an error of log1p(-b c) of 4u b c/(1 - b c), so K counts as infinite from
// 1 - b c = 2^-28 on.

constexpr double kNearest = 0x1p-28;

class GumbelMoment final : public RenyiCurve {
public:
    explicit GumbelMoment(double drift) noexcept : drift_(drift) {  // -shift, or shift for the other order
        growth_ = drift > 700.0 ? kInfinity : lane_expm1(std::max(drift, -700.0));
        divergence_ = drift > 700.0 ? kInfinity : phi(drift);
        largest_order_ = growth_ > 0.0 ? 1.0 + (1.0 - kNearest) / growth_ : kInfinity;
        if (growth_ > 0.0 && (largest_order_ - 1.0) * growth_ > 1.0 - kNearest)  // the sum was rounded up
            largest_order_ = std::max(std::nextafter(largest_order_, 0.0), 1.0);
    }

    LogMoment log_moment(double alpha) const noexcept override {
        const double beta = alpha - 1.0;
        if (beta == 0.0) return {{0.0, 0.0}, divergence_, growth_ * growth_};
        const double share = beta * growth_, rest = 1.0 - share;
        if (!(rest > 0.5 * kNearest)) return {{kInfinity, 0.0}, kInfinity, kInfinity};
        const double value = beta * divergence_ - log1pmx_of(reduce_log(rest, -share), -share);
        // -log1p(-s) - s has the derivative s/(1-s), and is at least s^2/2; an error of 2u of the drift makes one of
        // 2 |drift| u of e^drift.
        const double sensitivity = share * share / (rest * value);
        Certified certified{value, (28.0 + (8.0 + 2.0 * std::fabs(drift_)) * sensitivity) * kUnitRoundoff};
        if (value < kSmallestMoment) certified = drift_ != 0.0 ? kBelowSmallest : Certified{0.0, 0.0};
        return {certified, divergence_ + share * growth_ / rest, growth_ * growth_ / (rest * rest)};
    }
    Certified divergence(double alpha) const noexcept override {
        if (alpha > 1.0) return RenyiCurve::divergence(alpha);
        return divergence_of(divergence_, std::fabs(drift_), 0.0, 1);
    }
    double largest_order() const noexcept override { return largest_order_; }
    double largest_loss() const noexcept override { return drift_ > 0.0 ? kInfinity : -drift_; }

private:
    double drift_, growth_, divergence_;  // growth: e^drift - 1
    double largest_order_;
};

class GumbelPair final : public Pair {
public:
    explicit GumbelPair(double scale) noexcept : top_(1.0 / scale), rate_(1.0 / lane_expm1(1.0 / scale)) {}

    Spans spans(Side, const Fineness& fineness) const override {
        Spans found;
        found.null.upper = kNegligible;
        found.unbounded_above = false;
        const double top = top_, r = rate_, deepest = kDeepest / r;
        const auto loss = [top](double z) { return top - z; };
        divide({0.0, deepest, top, top - deepest}, loss, fineness, [&](const Part& part) {
            const double a = part.start, w = part.end - part.start;
            const double mean = std::clamp(part.last + mean_above_lower_end(w, r), part.last, part.first);
            const double rate = mean >= 0.0 ? 1.0 + r : r;  // the rate of the larger mass
            const double large = deep_exp(-rate * a) * -lane_expm1(-rate * w),
                         small = large * deep_exp(-std::fabs(mean));
            const double p = mean >= 0.0 ? large : small, q = mean >= 0.0 ? small : large;
            const double mass_error = (32.0 + 8.0 * std::min(rate * a, kDeepest)) * kUnitRoundoff;
            const double loss_error = (4.0 * (top + std::fabs(mean)) + 64.0 * w) * kUnitRoundoff;
            found.spans.push_back({part.last, mean, part.first, p, q, mass_error, loss_error});
        });
        return found;
    }
    CurvePointer moment(Direction direction) const override {
        return std::make_shared<const GumbelMoment>(direction == Direction::remove ? -top_ : top_);
    }

private:
    double top_, rate_;  // t, r
};

}  // namespace

PairPointer laplace_noise(double scale) { return std::make_shared<const ExponentialLoss>(1.0 / scale, 1.0, true); }

PairPointer bounded_range(double epsilon) {
    return std::make_shared<const ExponentialLoss>(epsilon, -2.0 / lane_expm1(-epsilon), false);
}

PairPointer gumbel_noise(double scale) { return std::make_shared<const GumbelPair>(scale); }

}  // namespace renyi
