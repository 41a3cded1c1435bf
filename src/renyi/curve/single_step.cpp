#include "renyi/curve/single_step.hpp"

#include <algorithm>
#include <cmath>

#include "renyi/curve/curve_root.hpp"
#include "renyi/curve/gaussian_curve.hpp"
#include "renyi/special/expm1_dd.hpp"

namespace renyi {

namespace {

constexpr double kTiny = 1e-100;
constexpr double kLargeEps = 60.0;  // e^-60 < 2^-86
constexpr double kFar = 0x1p24;

bool in_domain(const SingleStep& s) noexcept {
    return (s.q == 0.0 || (s.q >= kTiny && s.q <= 1.0)) && s.sigma >= kTiny;
}

bool without_loss(const SingleStep& s) noexcept { return s.q == 0.0 || std::isinf(s.sigma); }

// log(1 + (e^eps - 1)/q), right to `error`, absolutely; |eps| = t. `share` is (q + e^-t - 1)/q for eps = -t < 0, with
// its relative error; the level is -inf where that is not positive.
struct Level {
    DoubleDouble v;
    double error;
    DoubleDouble y;
    double y_error;  // absolute
};

Level level_above(double q, double t) noexcept {
    if (q == 1.0) return {{t, 0.0}, 0.0, {1.0, 0.0}, 0.0};
    if (t > kLargeEps) {
        const DoubleDouble v = two_sum(t, 0.0) - log_dd({q, 0.0});
        return {v, 0x1p-77 * (1.0 + v.hi * 0x1p-20), {1.0, 0.0}, 0.0};
    }
    const DoubleDouble z = expm1_dd(t) / DoubleDouble{q, 0.0};
    const DoubleDouble v = log1p_dd(z, z + 1.0);
    return {v, 0x1p-73 * std::min(v.hi, 1.0) + 0x1p-77 * std::min(v.hi, 1.0 + v.hi * 0x1p-20), {1.0, 0.0}, 0.0};
}

Level level_below(double q, double t) noexcept {
    if (q == 1.0) {
        const Scaled e = exp_dd({-t, 0.0});
        return {{-t, 0.0}, 0.0, unscaled(e), 0x1p-79 + 0x1p-98 * t};
    }
    // y = q + e^-t - 1 from whichever is the smaller, 1 - q or q.
    DoubleDouble y, z{0.0, 0.0};
    double y_error;
    if (t > 0.7) {
        y = (t < 700.0 ? exp_fine(-t) : DoubleDouble{0.0, 0.0}) - two_sum(1.0, -q);
        y_error = 0x1p-96 * std::max(lane_exp(-t), 1e-300);
    } else {
        z = expm1_dd(-t);
        y = z + q;
        y_error = expm1_dd_error(-t) + 0x1p-100 * q;
        z = z / DoubleDouble{q, 0.0};
    }
    if (!(y.hi > 2.0 * y_error)) return {{-kInfinity, 0.0}, 0.0, y, y_error};
    const bool small = t <= 0.7 && std::fabs(z.hi) < 0x1p-6;
    const DoubleDouble v = log1p_dd(small ? z : DoubleDouble{-0.5, 0.0}, y / DoubleDouble{q, 0.0});
    const double own = small ? 0x1p-77 * -v.hi : 0x1p-78 * (1.0 - v.hi * 0x1p-20);
    const double from_y = small ? 1.1 * expm1_dd_error(-t) / q : 2.0 * y_error / y.hi;
    return {v, own + from_y, y, y_error};
}

// a = v sigma - 1/(2 sigma), b = v sigma + 1/(2 sigma): the Gaussian mechanism at the level v, mu = 1/sigma.
GaussianArguments arguments(double sigma, const Level& level) noexcept {
    int k;
    const double m = std::frexp(sigma, &k);
    const double half = 0.5 / sigma;
    if (std::fabs(level.v.hi) * sigma > kFar + half) {
        const double far = std::copysign(kInfinity, level.v.hi);
        return {{far, 0.0}, {far, 0.0}, kScaledOne, 0.0};
    }
    const DoubleDouble inverse = DoubleDouble{1.0, 0.0} / DoubleDouble{m, 0.0};
    const DoubleDouble h{std::ldexp(inverse.hi, -k - 1), std::ldexp(inverse.lo, -k - 1)};
    const DoubleDouble scaled = DoubleDouble{std::ldexp(level.v.hi, k), std::ldexp(level.v.lo, k)} * m;
    return {scaled - h, scaled + h, {inverse, -static_cast<double>(k)}, level.error * sigma * (1.0 + 0x1p-40)};
}

Scaled times(const Scaled& a, double x) noexcept { return a * DoubleDouble{x, 0.0}; }

CurvePoint no_loss_above() noexcept { return {{kScaledZero, 0.0}, {kScaledOne, 0.0}, kScaledZero}; }

CurvePoint remove_above(const SingleStep& s, double t) noexcept {
    const CurvePoint g = gaussian_point(arguments(s.sigma, level_above(s.q, t)));
    const Scaled rest{two_sum(1.0, -s.q), 0.0};
    const double factor = s.q / (s.q - (1.0 - s.q) * lane_expm1(-t));  // e^(t - v)
    return {{times(g.delta.value, s.q), g.delta.error + 0x1p-100},
            {rest + times(g.complement.value, s.q), g.complement.error + 0x1p-99},
            times(g.mass, factor)};
}

CurvePoint add_above(const SingleStep& s, double t) noexcept {
    const Level level = level_below(s.q, t);
    if (level.y.hi < -level.y_error) return no_loss_above();
    // Not even the sign of y is known: all that is claimed is delta <= e^eps y.
    const Scaled e = exp_dd({t, 0.0});
    if (std::isinf(level.v.hi)) {
        const Scaled half = times(e, 0.5 * (level.y.hi + level.y_error) * (1.0 + 0x1p-50));
        return {{half, 1.0}, {kScaledOne, 2.0 * level.y_error}, kScaledZero};
    }
    const CurvePoint g = gaussian_point(arguments(s.sigma, {-level.v, level.error, level.y, 0.0}));
    const double y_error = level.y_error / level.y.hi * (1.0 + 0x1p-50) + 0x1p-77;
    const Scaled w = e * level.y;
    const Scaled rest = e * two_sum(1.0, -s.q);  // e^eps (1 - q)
    const double delta_error = g.delta.error + y_error * (1.0 + g.delta.error);
    const Scaled kept = w * g.complement.value.mantissa;
    const Scaled complement = rest + Scaled{kept.mantissa, kept.exponent + g.complement.value.exponent};
    const double share = std::min(ratio(w, complement), 1.0);
    const Scaled delta = w * g.delta.value.mantissa;
    const Scaled lost = rest * g.delta.value.mantissa;
    return {{{delta.mantissa, delta.exponent + g.delta.value.exponent}, delta_error},
            {complement, g.complement.error + y_error * share + 0x1p-77},
            Scaled{lost.mantissa, lost.exponent + g.delta.value.exponent} + g.mass};
}

CurvePoint point(const SingleStep& s, double eps) noexcept {
    if (!in_domain(s) || std::isnan(eps)) return kNoPoint;
    if (without_loss(s)) return gaussian_curve_point(0.0, eps);
    if (std::isinf(eps)) return gaussian_curve_point(1.0, eps);
    const double t = std::fabs(eps);
    const bool removing = (s.direction == Direction::remove) == (eps >= 0.0);
    const bool same = removing || s.q == 1.0;
    const CurvePoint p = same ? remove_above(s, t) : add_above(s, t);
    return eps < 0.0 ? mirrored(p, t) : p;
}

double epsilon_guess(const SingleStep& s, double delta) noexcept {
    if (delta >= s.q) return delta < 1.0 ? lane_log1p(-delta) : 0.0;
    const double v = gaussian_epsilon_guess(1.0 / s.sigma, delta / s.q);
    if (s.direction == Direction::add)  // delta is at most 1 - e^-X, X what is left of the largest loss
        return std::min(-lane_log1p(s.q * lane_expm1(std::clamp(-v, -700.0, 700.0))),
                        lane_log1p(-delta) - lane_log1p(-s.q));
    return v > 600.0 ? v + lane_log(s.q) : lane_log1p(s.q * lane_expm1(v));
}

}  // namespace

Certified single_step_delta(const SingleStep& s, double eps) noexcept { return nearest_of(point(s, eps).delta); }
Bracket single_step_delta_bounds(const SingleStep& s, double eps) noexcept { return bounds_of(point(s, eps).delta); }

Bracket single_step_epsilon(const SingleStep& s, double delta) noexcept {
    if (!in_domain(s) || !(delta >= 0.0 && delta <= 1.0)) return kNoBracket;
    if (delta == 1.0) return {-kInfinity, -kInfinity};
    if (delta == 0.0) {
        if (without_loss(s)) return {0.0, 0.0};
        if (s.direction == Direction::remove || s.q == 1.0) return {kInfinity, kInfinity};
        const double end = -lane_log1p(-s.q);
        return {detail::widen(end, -0x1p-50), detail::widen(end, 0x1p-50)};
    }
    return epsilon_root(delta, without_loss(s) ? lane_log1p(-delta) : epsilon_guess(s, delta),
                        [&s](double eps) { return point(s, eps); });
}

}  // namespace renyi
