// Rounding: each closed form is a sum of at most five terms, each right to 4u of its size; the margin is 16u times the sum of their sizes.
// The optimal value is evaluated at an s whose K(s), right to 100u, lies beyond K on the side that rounds as asked.
#include "renyi/curve/rdp_conversion.hpp"

#include <algorithm>
#include <cmath>

#include "renyi/fp/certified.hpp"
#include "renyi/special/elementary.hpp"

namespace renyi {

namespace {

constexpr double kMargin = 16.0 * kUnitRoundoff;

double rounded(double value, double size, Rounding rounding) noexcept {
    return rounding == Rounding::up ? value + kMargin * size : value - kMargin * size;
}

double log_expm1(double x) noexcept { return x > 40.0 ? x : lane_log(lane_expm1(x)); }

double mironov_epsilon(double alpha, double k, double log_delta, Rounding r) noexcept {
    const double value = (k - log_delta) / (alpha - 1.0);
    return rounded(value, std::fabs(value), r);
}

double balle_epsilon(double alpha, double k, double log_delta, Rounding r) noexcept {
    const double beta = alpha - 1.0;
    const double log_alpha = lane_log1p(beta);
    const double shrink = beta < 1.0 ? lane_log(beta) - log_alpha : lane_log1p(-1.0 / alpha);
    const double size = (k + std::fabs(log_delta) + log_alpha) / beta + std::fabs(shrink);
    return rounded((k - log_delta - log_alpha) / beta + shrink, size, r);
}

double balle_log_delta(double alpha, double k, double epsilon, Rounding r) noexcept {
    const double beta = alpha - 1.0;
    const double log_alpha = lane_log1p(beta);
    const double shrink = beta < 1.0 ? lane_log(beta) - log_alpha : lane_log1p(-1.0 / alpha);
    return rounded(k - beta * epsilon - log_alpha + beta * shrink, k + beta * epsilon + log_alpha + beta * std::fabs(shrink), r);
}

double second_epsilon(double alpha, double k, double log_delta, Rounding r) noexcept {
    const double exponent = log_expm1(k) - lane_log(alpha) - log_delta;
    const double value = (exponent > 600.0 ? exponent : lane_log1p(lane_exp(exponent))) / (alpha - 1.0);
    return rounded(value, value * (4.0 + std::min(std::fabs(log_delta) + k, 600.0)), r);
}

double second_log_delta(double alpha, double k, double epsilon, Rounding r) noexcept {
    if (epsilon <= 0.0) return kInfinity;
    const double value = log_expm1(k) - lane_log(alpha) - log_expm1((alpha - 1.0) * epsilon);
    return rounded(value, k + (alpha - 1.0) * epsilon + std::fabs(value) + 40.0, r);
}

// log of F(e^l) = e^{alpha l} - 1 - alpha expm1(l), l > 0 or < 0.
double log_convex(double beta, double l) noexcept {
    const double t = beta * l;
    if (t + l > 600.0) return t + l + lane_log1p(-(beta + 1.0) * lane_exp(-t));
    const double x = lane_expm1(l);
    const LogReduction log = reduce_log(1.0 + x, x);
    const double h = l > 700.0 ? kInfinity : x * l + (std::fabs(l) < 0.3 ? log1pmx_of(log, x) : l - x);
    const double phi = t > -700.0 ? phi_of(reduce_exp(t)) : -1.0 - t;
    return lane_log(beta * h + (1.0 + x) * phi);
}

double log_add(double a, double b) noexcept {
    const double high = std::max(a, b);
    return high + lane_log1p(lane_exp(std::min(a, b) - high));
}

// A touching point: a = e^x, b = e^-y, x + y = s.
struct Touch {
    double s, x, y;
    double log_q, log_rest;  // log q, log (1-q)
    double epsilon;
    bool inside;             // 0 < p < 1, 0 < q < 1
};

// log of (1 - r^alpha)/(1 - r^beta) (alpha-1)/alpha with r = e^-s: epsilon - x.
double slope_offset(double alpha, double s) noexcept {
    const double beta = alpha - 1.0;
    const double shrink = beta < 1.0 ? lane_log(beta) - lane_log1p(beta) : lane_log1p(-1.0 / alpha);
    return shrink + lane_log(-lane_expm1(-alpha * s)) - lane_log(-lane_expm1(-beta * s));
}

Touch complete(double alpha, double s, double x, double y) noexcept {
    const double log_span = s > 600.0 ? s : lane_log(lane_expm1(s));  // log((a-b)/b)
    // q = (1-b)/(a-b), 1-q = (a-1)/(a-b)
    return {s, x, y, log_expm1(y) - log_span, log_expm1(x) + y - log_span, x + slope_offset(alpha, s), x > 0.0 && y > 0.0};
}

// The touching point of slope s whose line has intercept delta: delta = p g(s)/(alpha (1 - r^beta)), g = r^alpha F(1/r), p = (1-b)/(1-r).
Touch touch_given_delta(double alpha, double s, double log_delta) noexcept {
    const double beta = alpha - 1.0;
    const double log_g = log_convex(beta, s) - alpha * s;
    const double log_p_span = log_delta + lane_log1p(beta) + lane_log(-lane_expm1(-beta * s)) - log_g + lane_log(-lane_expm1(-s));  // log(1-b)
    if (!(log_p_span < 0.0)) return {s, 0, 0, 0, 0, 0, false};
    const double y = -lane_log1p(-lane_exp(log_p_span));
    return complete(alpha, s, s - y, y);
}

// The touching point at height b = e^-y whose line has slope e^epsilon: s + slope_offset(s) = epsilon + y, by Newton.
Touch touch_given_epsilon(double alpha, double y, double epsilon) noexcept {
    const double beta = alpha - 1.0;
    double s = epsilon + y + (beta < 1.0 ? lane_log1p(beta) - lane_log(beta) : -lane_log1p(-1.0 / alpha));
    for (int i = 0; i < 100; ++i) {
        const double slope = 1.0 + alpha / lane_expm1(std::min(alpha * s, 700.0)) - beta / lane_expm1(std::min(beta * s, 700.0));
        const double step = (epsilon + y - s - slope_offset(alpha, s)) / slope;
        s = std::max(s + step, 0.1 * s);
        if (std::fabs(step) <= 4.0 * kUnitRoundoff * s) break;
    }
    return complete(alpha, s, s - y, y);
}

double log_excess_of(double alpha, const Touch& t) noexcept {  // log(f - 1)
    return log_add(t.log_q + log_convex(alpha - 1.0, t.x), t.log_rest + log_convex(alpha - 1.0, -t.y));
}

double log_intercept(double alpha, const Touch& t) noexcept {  // log delta of the line at t
    const double beta = alpha - 1.0;
    const double log_p = t.log_q + t.x;
    return log_p + log_convex(beta, t.s) - alpha * t.s - lane_log1p(beta) - lane_log(-lane_expm1(-beta * t.s));
}

// Solves log(f - 1) = log(e^K - 1) for the logarithm of the parameter by bracketed secants; `slope` is the first guess of the derivative.
// Where the point is not inside, the parameter is too small. The residual is right to 40u, so one of at most 60u against a target moved by 100u
// proves the side.
template <class TouchAt>
Touch solve(double alpha, double k, double start, double first_slope, TouchAt touch_at, Rounding r) noexcept {
    constexpr double kFound = 60.0 * kUnitRoundoff;
    const double target = log_expm1(k) + (r == Rounding::up ? 100.0 : -100.0) * kUnitRoundoff;
    double low = -1000.0, high = 1000.0;
    double here = lane_log(start), last = here, f_last = kNaN;
    Touch touch{};
    for (int i = 0; i < 200; ++i) {
        touch = touch_at(lane_exp(here));
        const double f = touch.inside ? log_excess_of(alpha, touch) - target : -kInfinity;
        if (std::fabs(f) <= kFound) return touch;
        (f < 0.0 ? low : high) = here;
        const double slope = std::isfinite(f_last) ? (f - f_last) / (here - last) : first_slope;
        last = here;
        f_last = f;
        here -= f / slope;
        if (!(here > low && here < high)) here = low == -1000.0 ? high - 1.0 : high == 1000.0 ? low + 1.0 : 0.5 * (low + high);
        if (high - low <= 4.0 * kUnitRoundoff * (1.0 + std::fabs(low))) break;
    }
    return touch_at(lane_exp(r == Rounding::up ? high : low));
}

double rho_of(double alpha, double k) noexcept { return k / (alpha - 1.0); }

// p = 1, q = e^-rho: for delta >= 1/alpha the line touches the set at its corner.
bool corner_given_delta(double alpha, double log_delta) noexcept { return log_delta + lane_log(alpha) >= 0.0; }

bool corner_given_epsilon(double alpha, double k, double epsilon) noexcept {
    const double beta = alpha - 1.0;
    return k >= beta * epsilon + beta * (lane_log1p(beta) - lane_log(beta));
}

Touch optimal_given_delta(double alpha, double k, double log_delta, Rounding r) noexcept {
    // Where balle is nearly optimal, p = alpha delta and q = p e^-eps (alpha-1)/alpha.
    const double ratio = balle_epsilon(alpha, k, log_delta, r) + lane_log1p(1.0 / (alpha - 1.0));
    const double p = alpha * lane_exp(log_delta);
    const double start = ratio > 0.0 ? ratio - lane_log1p(-p) + lane_log1p(-p * lane_exp(-ratio)) : 1.0;
    // d log(f-1)/d log s lies between 2 for small K and about K for large K.
    return solve(alpha, k, start, std::max(2.0, k), [&](double s) { return touch_given_delta(alpha, s, log_delta); }, r);
}

Touch optimal_given_epsilon(double alpha, double k, double epsilon, Rounding r) noexcept {
    const double log_p = std::min(balle_log_delta(alpha, k, epsilon, r) + lane_log(alpha), -0.7);
    return solve(alpha, k, lane_exp(std::max(log_p, -700.0)), 1.0, [&](double y) { return touch_given_epsilon(alpha, y, epsilon); }, r);
}

double optimal_epsilon(double alpha, double k, double log_delta, Rounding r) noexcept {
    if (corner_given_delta(alpha, log_delta)) {
        const double value = rho_of(alpha, k) + lane_log1p(-lane_exp(log_delta));
        return rounded(value, rho_of(alpha, k) + 1.0 + std::fabs(value), r);
    }
    const Touch t = optimal_given_delta(alpha, k, log_delta, r);
    if (!t.inside) return balle_epsilon(alpha, k, log_delta, r);
    return rounded(t.epsilon, t.x + std::fabs(t.epsilon - t.x) + 4.0 * kUnitRoundoff, r);
}

double optimal_log_delta(double alpha, double k, double epsilon, Rounding r) noexcept {
    if (corner_given_epsilon(alpha, k, epsilon)) return rounded(lane_log(-lane_expm1(epsilon - rho_of(alpha, k))), 4.0 + rho_of(alpha, k), r);
    const Touch t = optimal_given_epsilon(alpha, k, epsilon, r);
    if (!t.inside) return balle_log_delta(alpha, k, epsilon, r);
    const double value = log_intercept(alpha, t);
    return rounded(value, std::fabs(t.log_q) + alpha * t.s + 8.0, r);
}

// log f has derivative (q a^alpha x - (1-q) b^alpha y)/f in alpha.
double slope_at(double alpha, double k, const Touch& t) noexcept {
    return lane_exp(t.log_q + alpha * t.x - k) * t.x - lane_exp(t.log_rest - alpha * t.y - k) * t.y;
}

}  // namespace

double epsilon_from_rdp(Conversion conversion, double alpha, double k, double log_delta, Rounding r) noexcept {
    if (conversion == Conversion::mironov) return mironov_epsilon(alpha, k, log_delta, r);
    if (k <= 0.0) return lane_log1p(-lane_exp(log_delta));  // both distributions are equal
    const double balle = balle_epsilon(alpha, k, log_delta, r);
    if (conversion == Conversion::balle) return balle;
    if (conversion == Conversion::asoodeh) return std::min(balle, second_epsilon(alpha, k, log_delta, r));
    return std::min(balle, optimal_epsilon(alpha, k, log_delta, r));
}

double log_delta_from_rdp(Conversion conversion, double alpha, double k, double epsilon, Rounding r) noexcept {
    if (conversion == Conversion::mironov) return rounded(k - (alpha - 1.0) * epsilon, k + (alpha - 1.0) * epsilon, r);
    if (k <= 0.0) return -kInfinity;
    const double balle = balle_log_delta(alpha, k, epsilon, r);
    if (conversion == Conversion::balle) return balle;
    if (conversion == Conversion::asoodeh) return std::min(balle, second_log_delta(alpha, k, epsilon, r));
    return std::min(balle, optimal_log_delta(alpha, k, epsilon, r));
}

double epsilon_floor(double alpha, double k, double log_delta) noexcept {
    if (corner_given_delta(alpha, log_delta)) return rho_of(alpha, k) + lane_log1p(-lane_exp(log_delta)) - kMargin * (rho_of(alpha, k) + 1.0);
    return k > 0.0 ? balle_epsilon(alpha, log_expm1(k), log_delta, Rounding::down) : -kInfinity;
}

double log_delta_floor(double alpha, double k, double epsilon) noexcept {
    if (!(k > 0.0)) return -kInfinity;
    const double smaller = log_expm1(k);
    const double loss = rho_of(alpha, smaller) - epsilon;  // the pair p = 1, q = e^-rho is always allowed
    if (!(loss > 0.0)) return smaller > 0.0 ? -kInfinity : balle_log_delta(alpha, smaller, epsilon, Rounding::down);
    return std::min(balle_log_delta(alpha, smaller, epsilon, Rounding::down), rounded(lane_log(-lane_expm1(-loss)), 4.0 + std::fabs(loss), Rounding::down));
}

double optimal_slope_given_delta(double alpha, double k, double log_delta) noexcept {
    if (corner_given_delta(alpha, log_delta)) return rho_of(alpha, k);
    const Touch t = optimal_given_delta(alpha, k, log_delta, Rounding::up);
    return t.inside ? slope_at(alpha, k, t) : rho_of(alpha, k);
}

double optimal_slope_given_epsilon(double alpha, double k, double epsilon) noexcept {
    if (corner_given_epsilon(alpha, k, epsilon)) return rho_of(alpha, k);
    const Touch t = optimal_given_epsilon(alpha, k, epsilon, Rounding::up);
    return t.inside ? slope_at(alpha, k, t) : rho_of(alpha, k);
}

double log_delta_at_zero(double rho) noexcept {
    if (rho == 0.0) return -kInfinity;
    return rho > 0.0 ? 0.5 * lane_log(-lane_expm1(-rho)) + kMargin * 8.0 : 0.0;  // NaN promises nothing
}

}  // namespace renyi
