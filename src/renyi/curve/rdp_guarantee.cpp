#include "renyi/curve/rdp_guarantee.hpp"

#include <algorithm>
#include <cmath>

#include "renyi/special/elementary.hpp"

namespace renyi {

namespace {

constexpr double kLogSmallest = -16.0;              // of t: alpha - 1 >= 1e-7
constexpr double kLogLargest = 13.815509557964274;  // of t: alpha <= 1e6

double order_at(double log_t) noexcept { return std::min(1.0 + lane_exp(log_t), 1e6); }

// What is asked: epsilon at a given delta, or delta at a given epsilon.
struct Query {
    std::span<const SampledStep> steps;
    Conversion conversion;
    bool given_delta;
    double log_delta, epsilon;

    double convert(double alpha, double k, Rounding r) const noexcept {
        return given_delta ? epsilon_from_rdp(conversion, alpha, k, log_delta, r)
                           : log_delta_from_rdp(conversion, alpha, k, epsilon, r);
    }
    // A lower bound on the value of every conversion but mironov's.
    double floor(double alpha, double k) const noexcept {
        return given_delta ? epsilon_floor(alpha, k, log_delta) : log_delta_floor(alpha, k, epsilon);
    }
    double convert_upper(double alpha) const noexcept {
        return convert(alpha, upper(log_moment(steps, alpha)), Rounding::up);
    }

    // The monotone function of the closed form (see the header), its target and its derivative in log t.
    struct Stationarity {
        double value, slope;
    };
    Stationarity closed_form(double alpha) const noexcept {
        return closed_form(alpha, log_moment_derivatives(steps, alpha));
    }
    Stationarity closed_form(double alpha, const LogMoment& m) const noexcept {
        const double t = alpha - 1.0;
        const bool plain = conversion == Conversion::mironov;
        if (given_delta) {
            const double value = std::max(t * m.first - m.value.value, 0.0) + (plain ? 0.0 : lane_log1p(t));
            // In logarithms both sides are nearly powers of t.
            return {lane_log(value / -log_delta), t * (t * m.second + (plain ? 0.0 : 1.0 / alpha)) / value};
        }
        return {m.first + (plain ? 0.0 : lane_log(t / alpha)) - epsilon, t * m.second + (plain ? 0.0 : 1.0 / alpha)};
    }
    Stationarity optimal_form(double alpha) const noexcept {
        const LogMoment m = log_moment_derivatives(steps, alpha);
        const double k = m.value.value;
        const double slope = given_delta ? optimal_slope_given_delta(alpha, k, log_delta)
                                         : optimal_slope_given_epsilon(alpha, k, epsilon);
        return {m.first - slope, (alpha - 1.0) * m.second};
    }
};

// Whether a Stationarity carries its derivative or only a bound on it; then near secants replace it.
enum class Slope { exact, bound };

// Root of an increasing function of log t, from `start`. What is minimised is flat there: an error d of the root costs
// O(d^2).
template <class Function>
double rising_root(double start, double tolerance, Slope kind, Function function) noexcept {
    double low = kLogSmallest, high = kLogLargest;
    double here = std::clamp(start, low, high), last = here, last_value = 0.0;
    for (int i = 0; i < 100 && high - low > tolerance; ++i) {
        const auto [value, slope] = function(order_at(here));
        if (value == 0.0) return here;
        (value < 0.0 ? low : high) = here;
        const double secant = (value - last_value) / (here - last);
        const bool near = kind == Slope::bound && i > 0 && std::fabs(here - last) < 0.05 && secant > 0.0;
        const double step = -value / (near ? secant : slope);
        last = here;
        last_value = value;
        here += std::clamp(step, -2.0, 2.0);
        if (!(here > low && here < high))
            here = std::isfinite(step) && std::fabs(step) < tolerance ? last : 0.5 * (low + high);
        if (std::fabs(here - last) < tolerance) return here;
    }
    return here;
}

// Guess of log t: where the Gaussian part of the loss would put it, no further than where the sampled component takes
// over.
double first_guess(const Query& query) noexcept {
    double curvature = 0.0, limit = 1e6;
    for (const SampledStep& s : query.steps) {
        const double c = std::min(1.0 / s.sigma, 20.0);
        curvature += s.count * std::min(s.q * s.q * lane_expm1(c * c), 1e300);
        if (s.q < 1.0) limit = std::min(limit, 1.0 + 2.0 * std::max(-lane_log(s.q), 0.1) / (c * c));
    }
    const double t =
        query.given_delta ? std::sqrt(-2.0 * query.log_delta / curvature) : std::max(query.epsilon / curvature, 1e-3);
    return lane_log(std::clamp(std::min(t, limit), 1e-6, 1e6));
}

bool is_closed(Conversion c) noexcept { return c == Conversion::mironov || c == Conversion::balle; }

// Minimum over log t by a scan and golden sections, for functions without a known shape.
template <class Function>
double scanned_minimum(Function function) noexcept {
    constexpr double kStep = 0.5, kGolden = 0.6180339887498949;
    double best = kLogSmallest, best_value = kInfinity;
    for (double x = kLogSmallest; x <= kLogLargest; x += kStep) {
        const double value = function(order_at(x));
        if (value < best_value) best = x, best_value = value;
    }
    double low = best - kStep, high = best + kStep;
    for (int i = 0; i < 60; ++i) {
        const double width = kGolden * (high - low);
        if (function(order_at(high - width)) < function(order_at(low + width))) {
            high = low + width;
        } else {
            low = high - width;
        }
    }
    return 0.5 * (low + high);
}

double best_order(const Query& query) noexcept {
    const double closed = order_at(
        rising_root(first_guess(query), 1e-10, Slope::exact, [&](double alpha) { return query.closed_form(alpha); }));
    if (is_closed(query.conversion)) return closed;
    const auto better = [&](double a, double b) { return query.convert_upper(a) <= query.convert_upper(b) ? a : b; };
    const auto scanned = [&] {
        return order_at(scanned_minimum([&](double alpha) { return query.convert_upper(alpha); }));
    };
    if (query.conversion == Conversion::asoodeh) return better(scanned(), closed);
    const double exact = order_at(rising_root(lane_log(closed - 1.0), 1e-9, Slope::bound,
                                              [&](double alpha) { return query.optimal_form(alpha); }));
    const double best = better(exact, closed);
    // Where e^K is not large there may be a second minimum towards alpha = 1.
    return log_moment(query.steps, best).value < 3.0 ? better(scanned(), best) : best;
}

// A tangent of K, which is convex: a lower bound on K at every order.
struct Tangent {
    double alpha, k, slope;
    double at(double order) const noexcept {
        return k + slope * (order - alpha) * (order > alpha ? 1.0 - 0x1p-30 : 1.0 + 0x1p-30);
    }
};

Tangent tangent_of(double alpha, const LogMoment& m) noexcept { return {alpha, lower(m.value), m.first}; }

// Best order of a list. The closed forms are quasi-convex in the order, so one of the two neighbours of their root is
// best. For the other conversions an order can only win if its `floor` does, and that is bounded below through the
// tangent of K at the last order looked at on the way outward.
double best_of(const Query& query, std::span<const double> orders) noexcept {
    const double root = order_at(
        rising_root(first_guess(query), 1e-2, Slope::exact, [&](double alpha) { return query.closed_form(alpha); }));
    double best = orders[0], best_value = kInfinity;
    const auto consider = [&](double alpha, double k_upper) {
        const double value = query.convert(alpha, k_upper, Rounding::up);
        if (value < best_value) best = alpha, best_value = value;
    };
    // The neighbours: the last order where the function is negative and the first where it is not.
    auto right = std::lower_bound(orders.begin(), orders.end(), root);
    Tangent left_tangent{}, right_tangent{};
    bool right_known = false;
    const auto is_left = [&](double alpha) {
        const LogMoment m = log_moment_derivatives(query.steps, alpha);
        consider(alpha, upper(m.value));
        const bool negative = query.closed_form(alpha, m).value < 0.0;
        (negative ? left_tangent : right_tangent) = tangent_of(alpha, m);
        right_known = right_known || !negative;
        return negative;
    };
    while (right != orders.begin() && !is_left(*(right - 1))) --right;
    while (!right_known && right != orders.end() && is_left(*right)) ++right;
    if (left_tangent.alpha == 0.0) left_tangent = right_tangent;
    if (right_tangent.alpha == 0.0) right_tangent = left_tangent;
    if (is_closed(query.conversion)) return best;

    const auto visit = [&](double alpha, Tangent& tangent) {
        const double k_floor = tangent.at(alpha);
        if (k_floor > 0.0 && query.floor(alpha, k_floor) >= best_value) return;
        const LogMoment m = log_moment_derivatives(query.steps, alpha);
        tangent = tangent_of(alpha, m);
        if (query.floor(alpha, tangent.k) < best_value) consider(alpha, upper(m.value));
    };
    if (right != orders.end()) ++right;
    for (auto it = right; it != orders.end(); ++it) visit(*it, right_tangent);
    for (auto it = std::lower_bound(orders.begin(), orders.end(), left_tangent.alpha); it != orders.begin();)
        visit(*--it, left_tangent);
    return best;
}

RdpGuarantee at_order(const Query& query, double alpha) noexcept {
    const Certified k = log_moment(query.steps, alpha);
    return {query.convert(alpha, upper(k), Rounding::up), query.convert(alpha, lower(k), Rounding::down), alpha};
}

// log delta at epsilon = 0 from the divergence of the lowest order at hand, if it can be below log_delta.
double log_total_variation(const Query& query, std::span<const double> orders, double log_delta) noexcept {
    if (query.conversion == Conversion::mironov) return kInfinity;
    double jensen = 0.0;  // log A >= alpha (alpha-1) q^2/(2 sigma^2)
    for (const SampledStep& s : query.steps) jensen += 0.5 * s.count * (s.q / s.sigma) * (s.q / s.sigma);
    if (log_delta_at_zero(jensen) > log_delta + 1e-6) return kInfinity;
    return log_delta_at_zero(upper(rdp(query.steps, orders.empty() ? 1.0 : orders[0])));
}

double exp_up(double x) noexcept {
    return x >= 0.0 ? 1.0 : std::min(std::nextafter(std::exp(x) * (1.0 + 0x1p-50), 2.0), 1.0);
}
double exp_down(double x) noexcept { return x >= 0.0 ? 1.0 : std::max(std::exp(x) * (1.0 - 0x1p-50), 0.0); }

}  // namespace

RdpGuarantee rdp_epsilon(std::span<const SampledStep> steps, double delta, Conversion conversion,
                         std::span<const double> orders) noexcept {
    const Query query{steps, conversion, true, std::log(delta), 0.0};
    if (log_total_variation(query, orders, query.log_delta) <= query.log_delta)
        return {0.0, 0.0, orders.empty() ? 1.0 : orders[0]};
    RdpGuarantee g = at_order(query, orders.empty() ? best_order(query) : best_of(query, orders));
    if (std::isnan(g.value) || std::isnan(g.floor)) return {kInfinity, 0.0, g.order};
    return {std::max(g.value, 0.0), std::max(g.floor, 0.0), g.order};
}

RdpGuarantee rdp_delta(std::span<const SampledStep> steps, double epsilon, Conversion conversion,
                       std::span<const double> orders) noexcept {
    const Query query{steps, conversion, false, 0.0, epsilon};
    RdpGuarantee g = at_order(query, orders.empty() ? best_order(query) : best_of(query, orders));
    if (std::isnan(g.value) || std::isnan(g.floor)) g = {0.0, -kInfinity, g.order};
    const double variation = log_total_variation(query, orders, g.value);
    if (variation < g.value) g = {variation, std::min(variation, g.floor), orders.empty() ? 1.0 : orders[0]};
    return {exp_up(g.value), exp_down(g.floor), g.order};
}

}  // namespace renyi
