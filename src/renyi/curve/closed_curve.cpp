#include "renyi/curve/closed_curve.hpp"

#include <algorithm>
#include <cmath>
#include <memory>

#include "renyi/curve/curve_root.hpp"
#include "renyi/fp/lanes.hpp"
#include "renyi/special/elementary_dd.hpp"
#include "renyi/special/normal.hpp"

namespace renyi {

namespace {

constexpr double kFar = 0x1p23;

Enclosed exactly(double x) noexcept { return {{{x, 0.0}, 0.0}, 0.0}; }

// The curves for mu = 0 (equal distributions) and mu = inf (disjoint ones).
CurvePoint at_limit(double mu, double eps) noexcept {
    if (mu > 0.0) return {exactly(1.0), exactly(0.0), kScaledZero};
    if (eps >= 0.0) return {exactly(0.0), exactly(1.0), kScaledZero};
    const Scaled e = exp_dd({eps, 0.0});
    return {{{-expm1_dd(eps), 0.0}, 0x1p-73}, {e, e.mantissa.hi == 0.0 ? 1.0 : 0x1p-79 - 0x1p-98 * eps}, e};
}

// With mu = m 2^k and eps' = eps 2^-2k: a = 2^k (eps' - m^2/2)/m, where m^2 is exact and so is the cancellation. k is
// kept above -400, where m^2 may underflow: there a = eps/mu to e^-200.
GaussianArguments arguments(double mu, double eps) noexcept {
    if (eps / mu > kFar + mu) return {{kInfinity, 0.0}, {kInfinity, 0.0}, kScaledOne, 0.0};
    const int k = std::max(std::ilogb(mu), -400);
    const double m = std::ldexp(mu, -k);
    const double scaled = std::ldexp(eps, -2 * k);
    const DoubleDouble half = two_prod(m, 0.5 * m);
    const auto quotient = [&](DoubleDouble numerator) {
        const DoubleDouble q = numerator / DoubleDouble{m, 0.0};
        return DoubleDouble{std::ldexp(q.hi, k), std::ldexp(q.lo, k)};
    };
    return {quotient(two_sum(scaled, -half.hi) + -half.lo),
            quotient(two_sum(scaled, half.hi) + half.lo),
            {{m, 0.0}, static_cast<double>(k)},
            0.0};
}

// Q(x), right to x's relative error of 2^-98.
Enclosed tail(DoubleDouble x) noexcept {
    const Scaled value = normal_tail(x);
    if (value.mantissa.hi == 0.0) return {value, 1.0};
    return {value, 0x1p-76 + 0x1p-96 * std::min(x.hi * x.hi, 0x1p44)};
}

Enclosed tradeoff(double mu, double alpha) noexcept {
    if (!(mu >= 0.0) || !(alpha >= 0.0 && alpha <= 1.0)) return kNotEnclosed;
    if (alpha == 0.0 || alpha == 1.0) return exactly(1.0 - alpha);
    if (std::isinf(mu)) return exactly(0.0);
    if (mu == 0.0) return {{two_sum(1.0, -alpha), 0.0}, 0.0};
    const DoubleDouble x = alpha <= 0.5 ? normal_tail_inverse(alpha) : -normal_tail_inverse(1.0 - alpha);
    const DoubleDouble y = DoubleDouble{mu, 0.0} - x;
    const Enclosed e = tail(y);
    const double shift = 0x1p-73 + 0x1p-98 * mu;
    return {e.value, e.error + shift * (2.0 + std::max(y.hi, 0.0))};  // (log Q)' = -1/R, 1/R(y) <= y + 1
}

// Not far above the x with Q(x) = p.
double quantile_guess(double p) noexcept {
    if (p > 0.5) return -quantile_guess(1.0 - p);
    int exponent;
    const double mantissa = std::frexp(p, &exponent);
    return std::sqrt(-2.0 * (exponent * kLog2 + lane_log(mantissa)));
}

}  // namespace

CurvePoint gaussian_curve_point(double mu, double eps) noexcept {
    if (!(mu >= 0.0) || std::isnan(eps)) return kNoPoint;
    if (mu == 0.0 || std::isinf(mu)) {
        if (mu == 0.0 || std::isfinite(eps)) return at_limit(mu, eps);
    }
    if (std::isinf(eps)) return at_limit(eps < 0.0 ? kInfinity : 0.0, eps);
    const CurvePoint p = gaussian_point(arguments(mu, std::fabs(eps)));
    return eps < 0.0 ? mirrored(p, -eps) : p;
}

// delta <= Q(a) and 1 - delta >= Q(-a): from there Newton's method converges.
double gaussian_epsilon_guess(double mu, double delta) noexcept {
    return std::min(mu * (quantile_guess(delta) + 0.5 * mu), 1e300);
}

Certified gaussian_delta(double mu, double eps) noexcept { return nearest_of(gaussian_curve_point(mu, eps).delta); }
Bracket gaussian_delta_bounds(double mu, double eps) noexcept { return bounds_of(gaussian_curve_point(mu, eps).delta); }

Certified gaussian_tradeoff(double mu, double alpha) noexcept { return nearest_of(tradeoff(mu, alpha)); }
Bracket gaussian_tradeoff_bounds(double mu, double alpha) noexcept { return bounds_of(tradeoff(mu, alpha)); }

Bracket gaussian_epsilon(double mu, double delta) noexcept {
    if (!(mu >= 0.0) || !(delta >= 0.0 && delta <= 1.0)) return kNoBracket;
    if (delta == 1.0) return {-kInfinity, -kInfinity};
    if (std::isinf(mu) || delta == 0.0) {
        if (mu == 0.0) return {0.0, 0.0};
        return {kInfinity, kInfinity};
    }
    const auto at = [mu](double eps) { return gaussian_curve_point(mu, eps); };
    return epsilon_root(delta, gaussian_epsilon_guess(mu, delta), at);
}

Bracket gaussian_mu(double eps, double delta) noexcept {
    if (std::isnan(eps) || !(delta >= 0.0 && delta <= 1.0)) return kNoBracket;
    const auto at = [eps](double mu) { return gaussian_curve_point(mu, eps); };
    if (delta == 1.0 || (eps == kInfinity && delta > 0.0)) return {kInfinity, kInfinity};
    if (eps >= 0.0 && delta == 0.0) return {0.0, eps == kInfinity ? kInfinity : 0.0};
    if (eps < 0.0 && excess_over(delta, at(0.0)).sign >= 0) return kNoBracket;
    const double z = quantile_guess(delta), size = std::fabs(eps);
    const double root = std::sqrt(0.5 * z * z + size) * 0x1.6a09e667f3bcdp0;
    // From delta <= Q(a), and from delta <= mu/sqrt(2 pi).
    const double start = std::max(z > 0.0 ? size / (z + root) * 2.0 : root - z, 2.5 * delta);
    return curve_root(
        delta, start, {0.0, kInfinity, false}, at,
        [eps, delta](double mu, const LogExcess& e, const CurvePoint& p) {
            // d delta / d mu = phi(mu/2 - eps/mu)
            const GaussianArguments g = arguments(mu, std::fabs(eps));
            const Scaled density = normal_density(eps < 0.0 ? -g.b : g.a);
            const double slope = mu * ratio(density, delta > 0.5 ? p.complement.value : p.delta.value);
            return mu * lane_exp(std::clamp(-e.value / slope, -40.0, 40.0));
        },
        [](double left, double right) {
            if (left == 0.0) return std::isinf(right) ? 1.0 : right * 0x1p-20;
            return std::isinf(right) ? left * 0x1p20 : std::sqrt(left) * std::sqrt(right);
        });
}

namespace {

constexpr double kTiny = 1e-100;
constexpr double kLargeEps = 60.0;  // e^-60 < 2^-86
constexpr double kFarLoss = 0x1p24;

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
    if (std::fabs(level.v.hi) * sigma > kFarLoss + half) {
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
        const Scaled half = times(e, 0.5 * (level.y.hi + level.y_error) * raised(6));
        return {{half, 1.0}, {kScaledOne, 2.0 * level.y_error}, kScaledZero};
    }
    const CurvePoint g = gaussian_point(arguments(s.sigma, {-level.v, level.error, level.y, 0.0}));
    const double y_error = level.y_error / level.y.hi * raised(6) + 0x1p-77;
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

namespace {

// One step of a group, or of a replaced record. The loss rises with y, the output or, of `add`, minus the output: with
// the event E of outputs beyond the place where it is eps,
//     delta(eps) = P(E) - e^eps Q(E),
// which no other event exceeds. An event that holds E and has losses of at least eps - eta is below by at most
// (1 - e^-eta) e^eps Q.
class GroupStep {
public:
    GroupStep(const SampledStep& step, SampledPair pair)
        : law_(step, pair),
          first_(-kFarthest - (pair == SampledPair::remove ? 0.0 : step.records * law_.c)),
          last_(kFarthest + (pair == SampledPair::add ? 0.0 : step.records * law_.c)) {
        if (!law_.group) law_.group = std::make_shared<const GroupLoss>(law_.q, law_.c, 1);
    }

    Bracket delta(double eps) const {
        const auto [before, beyond] = ends([&](const Place& at) { return at.loss + at.error <= eps; });
        if (before.y == beyond.y && before.y == last_) return {0.0, kSmallestNormal};
        if (before.y == beyond.y) {  // all outputs have losses above eps
            const double all = std::max(-std::expm1(eps), 0.0);
            return {all * lowered(8), all * raised(8) + kSmallestNormal};
        }
        return delta_from(before.y, eps, eps - before.loss + before.error);
    }

    Bracket epsilon(double delta) const {
        const auto lower = [&](const Place& at) { return delta_from(at.y, at.loss - at.error, 0.0).lower; };
        const auto upper = [&](const Place& at) {
            return delta_from(at.y, at.loss + at.error, 2.0 * at.error).upper;
        };
        const Place low = ends([&](const Place& at) { return lower(at) >= delta; }).first;
        const Place high = ends([&](const Place& at) { return upper(at) > delta; }).second;
        return {lower(low) >= delta ? low.loss - low.error : std::log1p(-delta) * raised(8),
                upper(high) <= delta ? high.loss + high.error : kInfinity};
    }

private:
    static constexpr double kFarthest = 39.0;  // from all means; the mass beyond is below the smallest normal number
    static constexpr int kMostTurns = 60;

    struct Place {
        double y, loss, error;
    };

    // `has` holds up to some place and not beyond. Returns two neighbouring places, the last that has it and the first
    // that lacks it. If all places lack it, both are the first place; if all have it, both are the last.
    std::pair<Place, Place> ends(auto has) const {
        Place at[kLanes];
        find({first_, last_}, at);
        Place low = at[0], high = at[1];
        if (!has(low)) return {low, low};
        if (has(high)) return {high, high};
        for (int turn = 0; turn < kMostTurns; ++turn) {
            double y[kLanes];
            for (int i = 0; i < kLanes; ++i) y[i] = low.y + (high.y - low.y) * ((i + 1.0) / (kLanes + 1.0));
            if (!(y[0] > low.y && y[kLanes - 1] < high.y)) break;
            find(y, at);
            int i = 0;
            while (i < kLanes && has(at[i])) ++i;
            if (i > 0) low = at[i - 1];
            if (i < kLanes) high = at[i];
        }
        return {low, high};
    }

    void find(const double (&y)[kLanes], Place* at) const {
        double x[kLanes], v[kLanes], density[kLanes], error[kLanes];
        const double sign = law_.sign(), far = law_.records() * law_.c;
        for (int i = 0; i < kLanes; ++i) x[i] = sign * y[i];
        evaluate(law_, x, v, density, error);
        for (int i = 0; i < kLanes; ++i) {
            // The errors of c, and of k c x - k^2 c^2/2 where it cancels.
            double number = law_.group->rise(x[i]).number;
            if (law_.two_sided()) number += law_.group->rise(-x[i]).number;
            const double moved = 4.0 * number * law_.c * (std::fabs(x[i]) + far);
            at[i] = {y[i], sign * v[i], kUnitRoundoff * (error[i] + moved)};
        }
    }

    // e^shift P(Y > y) for a mixture of means `move` k.
    Certified tail(double y, double move, double shift) const {
        const std::span<const double> log_weights = law_.group->log_weights();
        double sum = 0.0, error = 0.0;
        for (std::size_t k = 0; k < (move == 0.0 ? 1 : log_weights.size()); ++k) {
            const double mean = move * static_cast<double>(k), d = y - mean;
            const double log_weight = move == 0.0 ? 0.0 : log_weights[k], log_tail = log_normal_cdf(-d);
            const double term = std::exp(log_weight + log_tail + shift), size = std::fabs(d);
            sum += term;
            error += term * (32.0 + 4.0 * (std::fabs(log_weight) + std::fabs(log_tail) + std::fabs(shift)) +
                             4.0 * (size + 1.0) * (size + std::fabs(mean)));
        }
        return {sum, sum > 0.0 ? kUnitRoundoff * (error / sum + static_cast<double>(log_weights.size())) : 0.0};
    }

    Bracket delta_from(double y, double eps, double eta) const {
        const Certified p = tail(y, law_.pair == SampledPair::add ? 0.0 : law_.c, 0.0);
        const Certified q = tail(y, law_.pair == SampledPair::remove ? 0.0 : -law_.c, eps);
        const double off = p.value * p.relative_error + q.value * q.relative_error, value = p.value - q.value;
        const double upper = value + off + eta * q.value * 1.1 + kSmallestNormal;
        return {std::max(value - off - kSmallestNormal, 0.0), std::min(upper, 1.0)};
    }

    SampledLoss law_;
    double first_, last_;
};

// Below this noise on a record outputs reveal all, and the bounds of included_records are narrow.
constexpr double kLittleNoise = 0.01;

std::optional<GroupStep> group_step(const SortedSteps& c, SampledPair pair) {
    if (c.steps.size() != 1 || c.steps[0].count != 1.0) return std::nullopt;
    if (!c.has_groups && c.steps[0].sigma < kLittleNoise) return std::nullopt;
    return GroupStep(c.steps[0], pair);
}

// One step of one record that is there or not.
bool is_closed_step(const SortedSteps& c, SampledPair pair) noexcept {
    return pair != SampledPair::replace_one && c.is_single();
}

}  // namespace

std::optional<Bracket> closed_delta(const SortedSteps& c, SampledPair pair, double epsilon) noexcept {
    if (epsilon == kInfinity) return Bracket{0.0, 0.0};
    if (c.steps.empty()) {
        const double value = epsilon < 0.0 ? -std::expm1(epsilon) : 0.0;
        constexpr double kError = kSystemError + 2.0 * kUnitRoundoff;
        return Bracket{value * (1.0 - kError), value * (1.0 + kError)};
    }
    if (c.only_gaussian) return gaussian_bracket(c, [&](double mu) { return gaussian_delta_bounds(mu, epsilon); });
    if (is_closed_step(c, pair))
        return single_step_delta_bounds({c.steps[0].q, c.steps[0].sigma, direction_of(pair)}, epsilon);
    if (pair == SampledPair::add && epsilon >= c.largest_loss) return Bracket{0.0, 0.0};
    if (const std::optional<GroupStep> step = group_step(c, pair)) return step->delta(epsilon);
    return std::nullopt;
}

std::optional<Bracket> closed_epsilon(const SortedSteps& c, SampledPair pair, double delta) noexcept {
    if (c.steps.empty() || delta == 1.0) return Bracket{0.0, 0.0};
    if (delta == 0.0) {  // only a record that was added has a largest loss
        const double largest = pair == SampledPair::add ? c.largest_loss : kInfinity;
        return Bracket{largest, largest};
    }
    if (c.only_gaussian) return gaussian_bracket(c, [&](double mu) { return gaussian_epsilon(mu, delta); });
    if (is_closed_step(c, pair))
        return single_step_epsilon({c.steps[0].q, c.steps[0].sigma, direction_of(pair)}, delta);
    if (c.is_single() && delta >= c.steps[0].q) return Bracket{-kInfinity, 0.0};  // the total variation is less
    if (const std::optional<GroupStep> step = group_step(c, pair)) {
        const Bracket found = step->epsilon(delta);
        return Bracket{found.lower, std::min(found.upper, pair == SampledPair::add ? c.largest_loss : kInfinity)};
    }
    return std::nullopt;
}

}  // namespace renyi
