// K is the log moment of the pair {t, t - epsilon} at the best t, evaluated in the positive form of LossNodes. The best
// t is flat: an error d of it costs d^2 alpha (alpha-1)/2. Losses are right to 4u and masses to 16u with
//     p(t) = (1 - e^{t-eps})/(1 - e^-eps),     q(t - eps) = (1 - e^-t)/(1 - e^-eps).
#include "renyi/mechanism/bounded_range.hpp"

#include <algorithm>
#include <cmath>

#include "renyi/mechanism/loss_nodes.hpp"
#include "renyi/special/elementary.hpp"

namespace renyi {

namespace {

// log(sinh x/x) for |x| <= 1/2, to 1e-10: enough for a maximiser.
double log_sinhc(double x) noexcept {
    const double w = x * x;
    return w * (1.0 / 6 - w * (1.0 / 180 - w * (1.0 / 2835 - w * (1.0 / 37800 - w / 467775))));
}

// log((1 - e^-x)/x)
double log_share(double x) noexcept { return x < 1e-9 ? -0.5 * x : lane_log(-lane_expm1(-x) / x); }

double best_loss(double epsilon, double alpha, double beta) noexcept {
    const double a = alpha * epsilon, b = beta * epsilon;
    const double t =
        a <= 1.0 ? 0.5 * epsilon + (log_sinhc(0.5 * a) - log_sinhc(0.5 * b)) : epsilon + (log_share(a) - log_share(b));
    return std::clamp(t, 0.0, epsilon);
}

// d log((1 - e^-x)/x)/dx
double share_slope(double x) noexcept {
    return x < 1e-3 ? x / 12.0 - 0.5 : 1.0 / lane_expm1(std::min(x, 700.0)) - 1.0 / x;
}

struct WorstPair {
    LossAtom high, low;
};

WorstPair worst_pair(double epsilon, double alpha, double beta) noexcept {
    const double t = best_loss(epsilon, alpha, beta), r = epsilon - t, span = -lane_expm1(-epsilon);
    const double p = -lane_expm1(-r) / span, q = -lane_expm1(-t) / span;
    return {{t, p, p * lane_exp(-t)}, {-r, q * lane_exp(-r), q}};
}

}  // namespace

LogMoment BoundedRangeCurve::log_moment(double alpha) const noexcept {
    if (epsilon_ == 0.0) return {{0.0, 0.0}, 0.0, 0.0};
    const double beta = alpha - 1.0;
    const WorstPair pair = worst_pair(epsilon_, alpha, beta);
    const Tilt tilt(alpha, pair.high.loss);
    LogMoment m = logarithm_of(sums_of(pair.high, tilt) + sums_of(pair.low, tilt), tilt, 0.0, 2);
    const double drift = epsilon_ * (share_slope(alpha * epsilon_) - share_slope(beta * epsilon_));  // of the best t
    m.second += alpha * beta * drift * drift;
    return m;
}

Certified BoundedRangeCurve::divergence(double alpha) const noexcept {
    if (alpha > 1.0) return RenyiCurve::divergence(alpha);
    if (epsilon_ == 0.0) return {0.0, 0.0};
    const WorstPair pair = worst_pair(epsilon_, 1.0, 0.0);
    return divergence_of(divergence_term(pair.high) + divergence_term(pair.low), epsilon_, 0.0, 2);
}

}  // namespace renyi
