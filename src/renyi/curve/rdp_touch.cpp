// See the header.
#include "renyi/curve/rdp_touch.hpp"

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
        // The two quotients are 1/s - alpha/2 + alpha^2 s/12 and the same of beta: next to 0 they cancel.
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

}  // namespace renyi
