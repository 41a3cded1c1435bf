// See the header.
#include "renyi/curve/rdp_conversion.hpp"

#include <algorithm>
#include <cmath>

#include "renyi/fp/certified.hpp"
#include "renyi/special/elementary.hpp"

namespace renyi {

namespace {

// log of F(e^l) = e^{alpha l} - 1 - alpha expm1(l) for l < 0.
double log_convex_left(double beta, double l) noexcept {
    const double t = beta * l;
    const double x = lane_expm1(l);
    const double l_minus_x = l > -0.3 ? log1pmx_of(reduce_log(1.0 + x, x), x) : l - x;
    const double phi = t > -700.0 ? phi_of(reduce_exp(t)) : -1.0 - t;
    return lane_log(beta * (x * l + l_minus_x) + (1.0 + x) * phi);
}

// log of F(e^l) e^{-alpha l} for l > 0: F = e^l (beta (l - 1 + e^-l) + phi(beta l)), or 1 - alpha e^{-beta l} + beta
// e^{-alpha l}.
double log_convex_decayed(double beta, double l) noexcept {
    const double t = beta * l;
    if (t > 40.0) return lane_log1p(-(beta + 1.0 - beta * lane_exp(-l)) * lane_exp(-t));
    const double h = phi_of(reduce_exp(std::max(-l, -700.0))) + (l > 700.0 ? l - 700.0 : 0.0);  // e^-l - 1 + l
    return lane_log(beta * h + phi_of(reduce_exp(t))) - t;
}

double log_add(double a, double b) noexcept {
    const double high = std::max(a, b);
    return high + lane_log1p(lane_exp(std::min(a, b) - high));
}

double one_minus_exp(double v) noexcept { return -lane_expm1(-v); }  // v >= 0

// The line of slope s meets the axis at delta = p G, and e^{epsilon - x} = 1 - G = ((alpha-1)/alpha) (1 - r^alpha)/(1 -
// r^(alpha-1)), r = e^-s.
struct Share {
    double log_g;
    double offset, size;  // epsilon - x and the size of its parts
};

Share share_at(double alpha, double s) noexcept {
    const double beta = alpha - 1.0;
    const double decay = one_minus_exp(beta * s);
    const double log_decayed = log_convex_decayed(beta, s);
    const double log_g = log_decayed - lane_log1p(beta) - lane_log(decay);
    const double g = lane_exp(log_g);
    const double offset = g < 0.5 ? lane_log1p(-g) : lane_log(beta / alpha * (one_minus_exp(alpha * s) / decay));
    return {log_g, offset, std::fabs(offset) * (4.0 + std::fabs(log_decayed))};
}

Touch complete(double s, double x, double y, const Share& share) noexcept {
    const double log_span = lane_log(one_minus_exp(s));
    const double log_p = lane_log(one_minus_exp(y)) - log_span;
    const double log_rest = x > 0.0 ? lane_log(one_minus_exp(x)) - log_span : 0.0;
    return {s,
            x,
            y,
            log_p,
            log_rest,
            log_p + share.log_g,
            x + share.offset,
            std::fabs(x) + y + share.size,
            x > 0.0 && y > 0.0};
}

}  // namespace

// p = delta/G
Touch touch_given_delta(double alpha, double s, double log_delta) noexcept {
    const Share share = share_at(alpha, s);
    const double log_flat = log_delta - share.log_g + lane_log(one_minus_exp(s));  // log (1-b)
    if (!(log_flat < 0.0)) return {s, 0, 0, 0, 0, 0, 0, 0, false};
    const double y = -lane_log1p(-lane_exp(log_flat));
    return complete(s, s - y, y, share);
}

// s + offset(s) = epsilon + y, by Newton.
Touch touch_given_epsilon(double alpha, double y, double epsilon) noexcept {
    const double beta = alpha - 1.0;
    const double most = beta < 1.0 ? lane_log1p(beta) - lane_log(beta) : -lane_log1p(-1.0 / alpha);
    double s = epsilon + y + std::min(most, epsilon + y);  // the slope is between 1/2 and 1
    Share share{};
    for (int i = 0; i < 100; ++i) {
        share = share_at(alpha, s);
        // The two quotients are 1/s - alpha/2 + alpha^2 s/12 and the same with beta: next to s = 0 they cancel.
        const double slope = alpha * s < 1e-3 ? 0.5 + (alpha + beta) * s / 12.0
                                              : 1.0 + alpha / lane_expm1(std::min(alpha * s, 700.0)) -
                                                    beta / lane_expm1(std::min(beta * s, 700.0));
        const double step = (epsilon + y - s - share.offset) / slope;
        s = std::max(s + step, 0.1 * s);
        if (std::fabs(step) <= 4.0 * kUnitRoundoff * s) break;
    }
    return complete(s, s - y, y, share);
}

Touch touch_at(double alpha, double x, double y) noexcept { return complete(x + y, x, y, share_at(alpha, x + y)); }

double log_excess_of(double alpha, const Touch& t) noexcept {
    const double beta = alpha - 1.0;
    return log_add(t.log_p + log_convex_decayed(beta, t.x) + beta * t.x, t.log_rest + log_convex_left(beta, -t.y));
}

// log f has derivative (q a^alpha x - (1-q) b^alpha y)/f in alpha.
double slope_of(double alpha, double k, const Touch& t) noexcept {
    return lane_exp(t.log_p + (alpha - 1.0) * t.x - k) * t.x - lane_exp(t.log_rest - alpha * t.y - k) * t.y;
}

// Rounding: each closed form is a sum of at most five terms, each right to 4u of its size; the margin is 16u times the
// sum of their sizes. The optimal value is evaluated at an s whose K(s), right to 100u, lies beyond K on the side that
// rounds as asked.

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
    return rounded(k - beta * epsilon - log_alpha + beta * shrink,
                   k + beta * epsilon + log_alpha + beta * std::fabs(shrink), r);
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

// Solves log(f - 1) = log(e^K - 1) for the logarithm of the parameter by bracketed secants from `start`. Where the
// point is not inside, the parameter is too small. The residual is a sum of a dozen logarithms of at most `size` each,
// right to u size: a target moved by twice the accepted residual proves the side. For slopes (Side::nearest) the search
// ends early: log p and x are off by the residual and by its share 1/(alpha-1).
enum class Side { below, above, nearest };

Side side_of(Rounding r) noexcept { return r == Rounding::up ? Side::above : Side::below; }

template <class TouchAt>
Touch solve(double alpha, double k, double log_p, TouchStart& start, double size, TouchAt touch_at,
            Side side) noexcept {
    constexpr double kRoundings = 1e-10;
    const double log_k = log_expm1(k);
    const double error = kUnitRoundoff * (200.0 + 24.0 * (size + k + std::fabs(log_k)));
    const double nearly = k > 3.0 && log_p < -4.0 ? 1e-5 : kRoundings;
    const double found = side == Side::nearest ? std::max(error, nearly) : error;
    const double target = log_k + (side == Side::nearest ? 0.0 : side == Side::above ? 2.0 * found : -2.0 * found);
    double low = -1000.0, high = 1000.0;
    double here = start.place + (target - start.log_excess) / start.slope, last = here, f_last = kNaN;
    Touch touch{};
    for (int i = 0; i < 200; ++i) {
        touch = touch_at(lane_exp(here));
        const double f = touch.inside ? log_excess_of(alpha, touch) - target : -kInfinity;
        const double secant = (f - f_last) / (here - last);
        if (secant > 0.0 && std::fabs(f - f_last) > kRoundings) start.slope = secant;
        if (std::fabs(f) <= found) {
            start.place = here;
            start.log_excess = f + target;
            touch.miss = f * one_minus_exp(k);
            return touch;
        }
        (f < 0.0 ? low : high) = here;
        last = here;
        f_last = f;
        here -= f / start.slope;
        if (!(here > low && here < high) || i % 8 == 7)  // secants may crawl
            here = low == -1000.0 ? high - 1.0 : high == 1000.0 ? low + 1.0 : 0.5 * (low + high);
        if (high - low <= 4.0 * kUnitRoundoff * (1.0 + std::fabs(low))) break;
    }
    const double end = side == Side::below ? low : high;
    touch = touch_at(lane_exp(end));  // of two neighbouring doubles the one on the side asked for
    touch.inside = touch.inside && std::fabs(end) < 1000.0;
    return touch;
}

double rho_of(double alpha, double k) noexcept { return k / (alpha - 1.0); }

// p = 1, q = e^-rho: for delta >= 1/alpha the line touches the set at its corner.
bool corner_given_delta(double alpha, double log_delta) noexcept { return log_delta + lane_log(alpha) >= 0.0; }

bool corner_given_epsilon(double alpha, double k, double epsilon) noexcept {
    const double beta = alpha - 1.0;
    return k >= beta * epsilon + beta * (lane_log1p(beta) - lane_log(beta));
}

Touch optimal_given_delta(double alpha, double k, double log_delta, Side side, TouchStart* near) noexcept {
    const double log_p = std::min(log_delta + lane_log(alpha), -0.7);  // where that is small
    TouchStart start = near ? *near : TouchStart{};
    if (start.alpha != alpha) {
        // Then q a^alpha = e^K - (1-q) b^alpha.
        const double beta = alpha - 1.0, p = lane_exp(log_p);
        const double q = p * lane_exp(-std::max((k - log_p) / beta, 0.0));
        const double log_rest = lane_log1p(-q), y = log_rest - lane_log1p(-p), other = log_rest - alpha * y;
        const double x = (other + log_expm1(k - other) - log_p) / beta;
        double s = x > 0.0 ? x + y : 1.0;
        s += beta * lane_exp(-beta * s) * one_minus_exp(s) * (p - q - 1.0 / beta);  // of log p = log delta - log G
        s = s > 0.0 ? s : 1.0;
        start = {alpha, lane_log(s), log_expm1(k), std::max(2.0, beta * s)};
    }
    const auto touch_at = [&](double s) { return touch_given_delta(alpha, s, log_delta); };
    const Touch touch = solve(alpha, k, log_p, start, std::fabs(log_delta), touch_at, side);
    if (near) *near = touch.inside ? start : TouchStart{};
    return touch;
}

Touch optimal_given_epsilon(double alpha, double k, double epsilon, Side side, TouchStart* near) noexcept {
    const double log_p = std::min(balle_log_delta(alpha, k, epsilon, Rounding::up) + lane_log(alpha), -0.7);
    TouchStart start = near ? *near : TouchStart{};
    if (start.alpha != alpha) start = {alpha, std::max(log_p, -700.0), log_expm1(k), 1.0};
    const auto touch_at = [&](double y) { return touch_given_epsilon(alpha, y, epsilon); };
    const Touch touch = solve(alpha, k, log_p, start, alpha * epsilon - log_p, touch_at, side);
    if (near) *near = touch.inside ? start : TouchStart{};
    return touch;
}

double optimal_epsilon(double alpha, double k, double log_delta, Rounding r, TouchStart* near) noexcept {
    if (log_delta < kSmallestLogDelta) return r == Rounding::up ? kInfinity : -kInfinity;
    if (corner_given_delta(alpha, log_delta)) {
        const double loss = lane_log1p(-lane_exp(log_delta));
        return rounded(rho_of(alpha, k) + loss, rho_of(alpha, k) - loss * (4.0 - log_delta), r);
    }
    const Touch t = optimal_given_delta(alpha, k, log_delta, side_of(r), near);
    if (!t.inside) return r == Rounding::up ? kInfinity : -kInfinity;
    return rounded(t.epsilon, 2.0 * t.size, r);
}

double optimal_log_delta(double alpha, double k, double epsilon, Rounding r, TouchStart* near) noexcept {
    if (corner_given_epsilon(alpha, k, epsilon))
        return rounded(lane_log(-lane_expm1(epsilon - rho_of(alpha, k))), 4.0 + rho_of(alpha, k), r);
    if (balle_log_delta(alpha, k, epsilon, r) < kSmallestLogDelta) return r == Rounding::up ? kInfinity : -kInfinity;
    const Touch t = optimal_given_epsilon(alpha, k, epsilon, side_of(r), near);
    if (!t.inside) return r == Rounding::up ? kInfinity : -kInfinity;
    return rounded(t.log_delta, std::fabs(t.log_p) + alpha * t.s + 8.0, r);
}

}  // namespace

double epsilon_from_rdp(Conversion conversion, double alpha, double k, double log_delta, Rounding r,
                        TouchStart* start) noexcept {
    if (conversion == Conversion::mironov) return mironov_epsilon(alpha, k, log_delta, r);
    if (k <= 0.0) return lane_log1p(-lane_exp(log_delta));  // both distributions are equal
    const double balle = balle_epsilon(alpha, k, log_delta, r);
    if (conversion == Conversion::balle) return balle;
    if (conversion == Conversion::asoodeh) return std::min(balle, second_epsilon(alpha, k, log_delta, r));
    const double optimal = optimal_epsilon(alpha, k, log_delta, r, start);
    return std::min({balle, optimal, std::isfinite(optimal) ? balle : second_epsilon(alpha, k, log_delta, r)});
}

double log_delta_from_rdp(Conversion conversion, double alpha, double k, double epsilon, Rounding r,
                          TouchStart* start) noexcept {
    if (conversion == Conversion::mironov) return rounded(k - (alpha - 1.0) * epsilon, k + (alpha - 1.0) * epsilon, r);
    if (k <= 0.0) return -kInfinity;
    const double balle = balle_log_delta(alpha, k, epsilon, r);
    if (conversion == Conversion::balle) return balle;
    if (conversion == Conversion::asoodeh) return std::min(balle, second_log_delta(alpha, k, epsilon, r));
    const double optimal = optimal_log_delta(alpha, k, epsilon, r, start);
    return std::min({balle, optimal, std::isfinite(optimal) ? balle : second_log_delta(alpha, k, epsilon, r)});
}

double epsilon_floor(double alpha, double k, double log_delta) noexcept {
    if (corner_given_delta(alpha, log_delta)) return optimal_epsilon(alpha, k, log_delta, Rounding::down, nullptr);
    return k > 0.0 ? balle_epsilon(alpha, log_expm1(k), log_delta, Rounding::down) : -kInfinity;
}

double log_delta_floor(double alpha, double k, double epsilon) noexcept {
    if (!(k > 0.0)) return -kInfinity;
    const double smaller = log_expm1(k);
    const double loss = rho_of(alpha, smaller) - epsilon;  // the pair p = 1, q = e^-rho is always allowed
    if (!(loss > 0.0)) return smaller > 0.0 ? -kInfinity : balle_log_delta(alpha, smaller, epsilon, Rounding::down);
    return std::min(balle_log_delta(alpha, smaller, epsilon, Rounding::down),
                    rounded(lane_log(-lane_expm1(-loss)), 4.0 + std::fabs(loss), Rounding::down));
}

double optimal_slope_given_delta(double alpha, double k, double log_delta, TouchStart* start) noexcept {
    if (corner_given_delta(alpha, log_delta)) return rho_of(alpha, k);
    const Touch t = optimal_given_delta(alpha, k, log_delta, Side::nearest, start);
    return t.inside ? slope_of(alpha, k + t.miss, t) - t.miss / (alpha - 1.0) : rho_of(alpha, k);
}

double optimal_slope_given_epsilon(double alpha, double k, double epsilon, TouchStart* start) noexcept {
    if (corner_given_epsilon(alpha, k, epsilon)) return rho_of(alpha, k);
    const Touch t = optimal_given_epsilon(alpha, k, epsilon, Side::nearest, start);
    return t.inside ? slope_of(alpha, k + t.miss, t) : rho_of(alpha, k);
}

double log_delta_at_zero(double rho) noexcept {
    if (rho == 0.0) return -kInfinity;
    return rho > 0.0 ? 0.5 * lane_log(-lane_expm1(-rho)) + kMargin * 8.0 : 0.0;  // NaN gives delta = 1
}

}  // namespace renyi
