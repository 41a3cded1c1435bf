#include "renyi/curve/rdp_guarantee.hpp"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "renyi/fp/search.hpp"
#include "renyi/loss/sampled_gaussian.hpp"
#include "renyi/loss/sampled_gaussian_kernels.hpp"
#include "renyi/special/elementary.hpp"

namespace renyi {

namespace {

// Sum of count times value; of_step(step) and of_curve(curve) are Certified >= 0.
template <class OfStep, class OfCurve>
Certified weighted_sum(const Composition& c, double alpha, OfStep of_step, OfCurve of_curve) noexcept {
    CertifiedSum sum;
    for (const SampledStep& step : c.steps) sum.add(step.count, of_step(step));
    for (const CountedCurve& weighted : c.curves) {
        if (alpha > weighted.curve->largest_order()) return {kInfinity, 0.0};
        sum.add(weighted.count, of_curve(weighted));
    }
    return sum.total();
}

}  // namespace

Certified log_moment(const Composition& c, double alpha) noexcept {
    return weighted_sum(
        c, alpha, [&](const SampledStep& s) { return log_a(s.q, s.sigma, alpha); },
        [&](const CountedCurve& w) { return w.curve->log_moment(alpha).value; });
}

LogMoment log_moment_derivatives(const Composition& c, double alpha, NodeTable* table) noexcept {
    if (c.steps.size() > 1) table = nullptr;
    LogMoment total{{}, 0.0, 0.0};
    const auto add = [&](double count, const auto& moment) {
        total.first += count * moment.first;
        total.second += count * moment.second;
        return moment.value;
    };
    total.value = weighted_sum(
        c, alpha,
        [&](const SampledStep& s) { return add(s.count, log_a_derivatives_kept(s.q, s.sigma, alpha, table)); },
        [&](const CountedCurve& w) { return add(w.count, w.curve->log_moment(alpha)); });
    return total;
}

Certified rdp(const Composition& c, double alpha) noexcept {
    return weighted_sum(
        c, alpha, [&](const SampledStep& s) { return rdp_sampled_gaussian(s.q, s.sigma, alpha); },
        [&](const CountedCurve& w) { return w.curve->divergence(alpha); });
}

double largest_order(const Composition& c) noexcept {
    double order = kInfinity;
    for (const CountedCurve& w : c.curves) order = std::min(order, w.curve->largest_order());
    return order;
}

bool is_convex(const Composition& c) noexcept {
    return std::ranges::all_of(c.curves, [](const CountedCurve& w) { return w.curve->convex(); });
}

double largest_loss(const Composition& c) noexcept {
    for (const SampledStep& s : c.steps) {
        if (s.q > 0.0 && std::isfinite(s.sigma)) return kInfinity;
    }
    double sum = 0.0;
    for (const CountedCurve& w : c.curves) sum += w.count * w.curve->largest_loss();
    return sum * (1.0 + 2.0 * (static_cast<double>(c.curves.size()) + 2.0) * kUnitRoundoff);
}

// The search for the best order; see rdp_guarantee.hpp for the equations it solves.

namespace {

// A lower bound on the value of every conversion but mironov's.
double floor_of(const RdpQuery& q, double alpha, double k) noexcept {
    return q.given_delta ? epsilon_floor(alpha, k, q.log_delta) : log_delta_floor(alpha, k, q.epsilon);
}

// A monotone function of the order minus its target, and its derivative in log t. `gain` times the function times a
// short step of log t is about the relative change of the answer; a step leaves about `rest` of the distance.
struct Stationarity {
    double value, slope;
    double gain = 1.0, rest = 1.0;
};

Stationarity closed_form(const RdpQuery& q, double alpha, const LogMoment& m) noexcept {
    const double t = alpha - 1.0;
    const bool plain = q.conversion == Conversion::mironov;
    if (q.given_delta) {
        const double value = std::max(t * m.first - m.value.value, 0.0) + (plain ? 0.0 : lane_log1p(t));
        // In logarithms both sides are nearly straight lines.
        return {lane_log(value / -q.log_delta), t * (t * m.second + (plain ? 0.0 : 1.0 / alpha)) / value};
    }
    return {m.first + (plain ? 0.0 : lane_log(t / alpha)) - q.epsilon, t * m.second + (plain ? 0.0 : 1.0 / alpha)};
}

Stationarity closed_form(const RdpQuery& q, double alpha) noexcept {
    return closed_form(q, alpha, log_moment_derivatives(q.composition, alpha));
}

constexpr double kLargeK = 3.0;  // balle's form is nearly optimal, and has one minimum

Stationarity optimal_form(const RdpQuery& q, double alpha, const LogMoment& m) noexcept {
    const double k = m.value.value;
    const double slope = q.given_delta ? optimal_slope_given_delta(alpha, k, q.log_delta, &q.touch)
                                       : optimal_slope_given_epsilon(alpha, k, q.epsilon, &q.touch);
    const double t = alpha - 1.0, gain = q.given_delta ? t / k : t;
    if (k < kLargeK) return {m.first - slope, t * m.second, gain};
    return {m.first - slope, t * m.second + 1.0 / alpha, gain, 0.05};
}

// log(e^K - 1), by which balle's value is almost optimal where e^K is large (epsilon_floor).
LogMoment less_one(LogMoment m) noexcept {
    const double k = m.value.value, share = -lane_expm1(-k);
    const double first = m.first / share;
    return {{k + lane_log(share), 0.0}, first, m.second / share - (1.0 - share) * first * first};
}

// A search ends after a step below `tiny`, or one below `small` that leaves the answer off by less than `change`,
// relatively. Tuning: these affect width and time, not validity.
struct Accuracy {
    double tiny, small, change;
};

constexpr Accuracy kRough{0.2, 0.2, 1.0}, kStart{1e-3, 0.1, 1e-2}, kFinal{1e-9, 1e-4, 1e-15};  // of log t

// Whether a Stationarity carries its derivative or only a bound on it; then near secants replace it.
enum class Slope { exact, bound };

// Root of an increasing function of log t, from `start`. The minimised value is flat there, so an error d of the root
// costs O(d^2). At a corner of K the function jumps; then the corner is found to the last digits.
template <class Function>
double rising_root(const RdpQuery& query, double start, Accuracy accuracy, Slope kind, Function function) noexcept {
    const bool is_smooth = query.composition.curves.empty();
    if (!is_smooth) accuracy = {1e-13, 0.0, 0.0};
    const double tolerance = accuracy.tiny;
    double low = kLogSmallest, high = query.log_largest;
    bool has_high = false;
    double before_last = kInfinity, before = kInfinity;  // lengths of the last steps
    double here = std::clamp(start, low, high), last = here, last_value = 0.0;
    for (int i = 0; i < 100 && high - low > tolerance; ++i) {
        const auto [value, slope, gain, rest] = function(query.order_at(here));
        if (value == 0.0 || (value < 0.0 && here == high)) return here;
        has_high = has_high || value > 0.0;
        (value < 0.0 ? low : high) = here;
        const double secant = (value - last_value) / (here - last);
        const bool alike = std::fabs(last_value) < 1e4 * std::fabs(value);
        const bool near = kind == Slope::bound && alike && i > 0 && std::fabs(here - last) < 0.05 && secant > 0.0;
        const double step = -value / (near ? secant : slope);
        last = here;
        here += std::clamp(step, -2.0, 2.0);
        const bool stalls = is_smooth && i > 5 && has_high && std::fabs(step) > 0.5 * before_last;
        if (here >= high && !has_high) {
            here = high;
        } else if (stalls || !(here > low && here < high)) {
            here = std::isfinite(step) && std::fabs(step) < tolerance ? last : 0.5 * (low + high);
        }
        const double moved = std::fabs(here - last);
        const bool bends = !(secant > 0.5 * slope && secant < 2.0 * slope);  // or the first step
        const double left = bends ? rest : std::min(rest, std::fabs(value / last_value));
        last_value = value;
        before_last = std::exchange(before, moved);
        const double change = gain * std::fabs(value) * moved;
        if (rest < 1.0 && is_smooth && moved < kFinal.small && change < kFinal.change) return last;
        if (moved < tolerance || (moved < accuracy.small && change * left * left < accuracy.change)) return here;
    }
    return here;
}

// Guess of log t: the root for the Gaussian part of the loss, at most where the sampled component takes over.
double first_guess(const RdpQuery& query) noexcept {
    double curvature = 0.0, limit = 1e6;
    for (const SampledStep& s : query.composition.steps) {
        const double c = std::min(1.0 / s.sigma, 20.0);
        curvature += s.count * std::min(s.q * s.q * lane_expm1(c * c), 1e300);
        if (s.q < 1.0) limit = std::min(limit, 1.0 + 2.0 * std::max(-lane_log(s.q), 0.1) / (c * c));
    }
    for (const CountedCurve& w : query.composition.curves) {
        const double alpha = std::min(2.0, query.largest);
        curvature += w.count * std::min(w.curve->log_moment(alpha).value.value / (0.5 * alpha * (alpha - 1.0)), 1e300);
    }
    double t =
        query.given_delta ? std::sqrt(-2.0 * query.log_delta / curvature) : std::max(query.epsilon / curvature, 1e-3);
    if (query.given_delta && query.conversion != Conversion::mironov) {
        for (int i = 0; i < 3; ++i)
            t = std::sqrt(2.0 * std::max(-query.log_delta - lane_log1p(t), 0.1) / curvature);
    }
    return lane_log(std::clamp(std::min(t, limit), 1e-6, 1e6));
}

bool is_closed(Conversion c) noexcept { return c == Conversion::mironov || c == Conversion::balle; }

// A tangent of K, which is convex: a lower bound on K at every order.
struct Tangent {
    double alpha, k, slope;
    double at(double order) const noexcept {
        return k + slope * (order - alpha) * (order > alpha ? 1.0 - 0x1p-30 : 1.0 + 0x1p-30);
    }
};

Tangent tangent_of(double alpha, const LogMoment& m) noexcept { return {alpha, lower(m.value), m.first}; }

// The smaller of both; the first if the second is NaN, as at useless orders.
RdpAtOrder smaller(const RdpAtOrder& a, const RdpAtOrder& b) noexcept { return b.value < a.value ? b : a; }

RdpAtOrder best_by_trial(const RdpQuery& query, std::span<const double> orders) noexcept {
    RdpAtOrder best = query.at(orders[0]);
    for (const double alpha : orders.subspan(1)) best = smaller(best, query.at(alpha));
    return best;
}

// Best order of a list. The closed forms are quasi-convex in the order, so one of the two neighbours of their root is
// best; a rough root is enough, for the walk from there ends where the sign changes. For the other conversions an order
// can only win if its `floor` does, and that is bounded below through the tangent of K at the last order looked at on
// the way outward.
RdpAtOrder best_of_list(const RdpQuery& query, std::span<const double> orders) noexcept {
    if (!is_convex(query.composition)) return best_by_trial(query, orders);
    const double root = query.order_at(rising_root(query, first_guess(query), kRough, Slope::exact,
                                                   [&](double alpha) { return closed_form(query, alpha); }));
    RdpAtOrder best{orders[0], {kInfinity, 0.0}, kInfinity};
    const auto consider = [&](double alpha, Certified k) { best = smaller(best, query.at(alpha, k)); };
    // The neighbours: the last order where the function is negative and the first where it is not.
    auto right = std::lower_bound(orders.begin(), orders.end(), root);
    Tangent left_tangent{}, right_tangent{};
    bool right_known = false;
    const auto is_left = [&](double alpha) {
        const LogMoment m = log_moment_derivatives(query.composition, alpha);
        consider(alpha, m.value);
        const bool negative = closed_form(query, alpha, m).value < 0.0;
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
        if (k_floor > 0.0 && floor_of(query, alpha, k_floor) >= best.value) return;
        const LogMoment m = log_moment_derivatives(query.composition, alpha);
        tangent = tangent_of(alpha, m);
        if (floor_of(query, alpha, tangent.k) < best.value) consider(alpha, m.value);
    };
    if (right != orders.end()) ++right;
    for (auto it = right; it != orders.end(); ++it) visit(*it, right_tangent);
    for (auto it = std::lower_bound(orders.begin(), orders.end(), left_tangent.alpha); it != orders.begin();)
        visit(*--it, left_tangent);
    return best;
}

constexpr double kFinest = 0.25;  // spacing of the grid in log t

// The least value by golden-section search over log t, within `width` on both sides of a good order.
RdpAtOrder golden_minimum(const RdpQuery& query, const RdpAtOrder& good, double width, double tolerance) noexcept {
    const double centre = lane_log(good.alpha - 1.0);
    const Least least = golden_section(centre - width, centre + width, tolerance,
                                       [&](double x) { return query.at(query.order_at(x)).value; });
    return smaller(good, query.at(query.order_at(least.place)));
}

constexpr int kWhole = 64;  // the largest whole order that every scan tries

// Minimum over log t for functions without a known shape: the best of a grid, of whole orders and of corners, which are
// local minima, and golden sections around it.
RdpAtOrder scanned_minimum(const RdpQuery& query) noexcept {
    const double step = is_convex(query.composition) ? 2.0 * kFinest : kFinest;
    std::vector<double> orders{query.largest};
    for (double x = kLogSmallest; x < query.log_largest; x += step) orders.push_back(query.order_at(x));
    const bool is_smooth = query.composition.curves.empty();
    for (int order = 2; !is_smooth && order <= kWhole; ++order) orders.push_back(order);
    for (const CountedCurve& part : query.composition.curves) {
        const std::vector<double> corners = part.curve->corners();
        orders.insert(orders.end(), corners.begin(), corners.end());
    }
    std::erase_if(orders, [&](double order) { return !(order > 1.0 && order <= query.largest); });
    std::sort(orders.begin(), orders.end());
    return golden_minimum(query, best_of_list(query, orders), step, is_smooth ? 1e-9 : 1e-13);
}

// Looks for a smaller value between two orders. Divergences grow with the order, and the value at a fixed divergence
// falls with it, so no value is below that of the divergence `rho` of the lower order at the higher order.
void search_between(const RdpQuery& query, double low, double high, double rho, RdpAtOrder& best) noexcept {
    const double alpha = query.order_at(high);
    if (query.convert(alpha, rho * (alpha - 1.0), Rounding::down) >= best.value) return;
    if (high - low <= 2.0 * kFinest) {
        best = smaller(best, query.at(alpha));
        return;
    }
    const double middle = 0.5 * (low + high);
    search_between(query, middle, high, lower(rdp(query.composition, query.order_at(middle))), best);
    search_between(query, low, middle, rho, best);
}

// The best order of a composition of steps alone, from a known minimum.
RdpAtOrder least_of_minima(const RdpQuery& query, const RdpAtOrder& known) noexcept {
    const double x = lane_log(known.alpha - 1.0), left = x - 2.0 * kFinest, right = x + 2.0 * kFinest;
    RdpAtOrder best = known;
    const auto search = [&](double low, double high) {
        if (low < high) search_between(query, low, high, lower(rdp(query.composition, query.order_at(low))), best);
    };
    search(kLogSmallest, left);
    search(right, query.log_largest);
    return best.alpha == known.alpha ? known : golden_minimum(query, best, 2.0 * kFinest, 1e-9);
}

RdpAtOrder best_of_continuum(const RdpQuery& query) noexcept {
    const bool convex = is_convex(query.composition), is_last = is_closed(query.conversion) && convex;
    double last_order = kNaN;
    Certified last_k{};
    NodeTable table;
    const auto moments_at = [&](double alpha) {
        last_order = alpha;
        const LogMoment m = log_moment_derivatives(query.composition, alpha, &table);
        last_k = m.value;
        return m;
    };
    const double closed =
        rising_root(query, first_guess(query), is_last ? kFinal : kStart, Slope::exact, [&](double alpha) {
            const LogMoment m = moments_at(alpha);
            const bool is_near = query.conversion == Conversion::optimal && m.value.value >= kLargeK;
            return closed_form(query, alpha, is_near ? less_one(m) : m);
        });
    const auto at_closed = [&] { return query.at(query.order_at(closed)); };
    if (is_last) return at_closed();
    if (query.conversion == Conversion::asoodeh || !convex) return smaller(scanned_minimum(query), at_closed());
    const double balle = query.convert(Conversion::balle, last_order, last_k.value, Rounding::up);
    const bool is_tiny = (query.given_delta ? query.log_delta : balle) < kSmallestLogDelta;
    const double exact =
        is_tiny ? rising_root(query, closed, kFinal, Slope::exact, [&](double x) { return closed_form(query, x); })
                : rising_root(query, closed, kFinal, Slope::bound,
                              [&](double x) { return optimal_form(query, x, moments_at(x)); });
    const double order = query.order_at(exact);
    RdpAtOrder best = query.at(order, order == last_order ? last_k : moments_at(order).value);
    // Where e^K is not large there may be a second minimum. A value above balle's means that the search failed.
    const bool is_smooth = query.composition.curves.empty();
    const bool is_found = is_smooth && best.value <= balle;
    if (is_found && best.k.value >= kLargeK) return best;
    best = smaller(best, at_closed());
    if (is_smooth && best.k.value >= kLargeK) return best;
    return is_smooth ? least_of_minima(query, best) : smaller(scanned_minimum(query), best);
}

// Tries the whole order next to the order found: Renyi curves may have corners at whole orders.
RdpAtOrder at_corner(const RdpQuery& query, const RdpAtOrder& found) noexcept {
    const double whole = std::nearbyint(found.alpha);
    if (query.composition.curves.empty() || !(std::fabs(found.alpha - whole) < 1e-9 * found.alpha) ||
        whole > query.largest || whole < 2.0)
        return found;
    return smaller(query.at(whole), found);
}

}  // namespace

RdpAtOrder best_order(const RdpQuery& query) noexcept { return at_corner(query, best_of_continuum(query)); }

RdpAtOrder best_order(const RdpQuery& query, std::span<const double> orders) noexcept {
    return query.at(best_of_list(query, orders).alpha);  // K with derivatives is less accurate
}

namespace {

constexpr double kPureMargin = 16.0 * kUnitRoundoff;

RdpGuarantee guarantee(const RdpQuery& query, const RdpAtOrder& best) noexcept {
    return {best.value, query.convert(best.alpha, lower(best.k), Rounding::down), best.alpha};
}

// The guarantee at the best order of the continuum. Where the value still falls at the smallest order that the search
// tries, a smaller one is tried. Towards 1 no value is below that of the divergence of order 1 at the order found; see
// search_between.
RdpGuarantee at_best_of_continuum(const RdpQuery& query) noexcept {
    constexpr double kNextToOne = 1.0 + 0x1p-36;
    RdpAtOrder best = best_order(query);
    const bool is_next_to_one = best.alpha - 1.0 < 2.0 * (query.order_at(kLogSmallest) - 1.0);
    if (!is_next_to_one) return guarantee(query, best);
    best = smaller(best, query.at(kNextToOne));
    RdpGuarantee found = guarantee(query, best);
    const double k = lower(rdp(query.composition, 1.0)) * (best.alpha - 1.0);
    found.floor = std::min(found.floor, query.convert(best.alpha, k, Rounding::down));
    return found;
}

// The guarantee at the best order, if K is finite at one.
RdpGuarantee at_best(const RdpQuery& query, std::span<const double> orders) noexcept {
    const RdpGuarantee nothing{query.given_delta ? kInfinity : 0.0, query.given_delta ? kInfinity : 0.0,
                               orders.empty() ? 1.0 : orders[0]};
    if (!query.has_orders()) return nothing;
    if (orders.empty()) return at_best_of_continuum(query);
    const auto finite = std::upper_bound(orders.begin(), orders.end(), query.largest);
    if (finite == orders.begin()) return nothing;
    return guarantee(query, best_order(query, {orders.begin(), finite}));
}

// log delta at epsilon = 0 from the divergence of the lowest available order, if it can be below log_delta.
double log_total_variation(const RdpQuery& query, std::span<const double> orders, double log_delta) noexcept {
    if (query.conversion == Conversion::mironov) return kInfinity;
    double jensen = 0.0;  // log A >= alpha (alpha-1) q^2/(2 sigma^2)
    for (const SampledStep& s : query.composition.steps) jensen += 0.5 * s.count * (s.q / s.sigma) * (s.q / s.sigma);
    if (log_delta_at_zero(jensen) > log_delta + 1e-6) return kInfinity;
    return log_delta_at_zero(std::max(upper(rdp(query.composition, orders.empty() ? 1.0 : orders[0])), query.least));
}

// The guarantee at alpha = infinity: losses of at most `loss` in both directions. Mironov's conversion becomes that
// bound; otherwise randomized response is the worst pair (Kairouz, Oh, Viswanath 2015), delta = (e^loss -
// e^eps)/(e^loss + 1).
RdpGuarantee pure_epsilon(const RdpQuery& query, double loss) noexcept {
    if (query.conversion == Conversion::mironov) return {loss, loss * (1.0 - kPureMargin), kInfinity};
    const double share = lane_exp(query.log_delta) * (1.0 + lane_exp(-loss));
    // Direction +1 rounds up.
    const auto epsilon = [&](double direction) {
        const double rest = share * (1.0 - direction * kPureMargin);
        const double value = loss + lane_log1p(-rest) + direction * kPureMargin * loss;
        return rest < 1.0 ? std::clamp(value, 0.0, loss) : 0.0;
    };
    return {epsilon(1.0), epsilon(-1.0), kInfinity};
}

RdpGuarantee pure_delta(const RdpQuery& query, double loss) noexcept {
    if (query.epsilon >= loss) return {0.0, 0.0, kInfinity};
    if (query.conversion == Conversion::mironov) return {1.0, 0.0, kInfinity};
    const double delta = -lane_expm1(query.epsilon - loss) / (1.0 + lane_exp(-loss));
    return {delta * (1.0 + kPureMargin), delta * (1.0 - kPureMargin), kInfinity};
}

RdpGuarantee better_of(const RdpGuarantee& g, const RdpGuarantee& pure) noexcept {
    return pure.value < g.value ? pure : g;
}

constexpr double kExpError = kSystemError + 2.0 * kUnitRoundoff;

double exp_up(double x) noexcept {
    return x >= 0.0 ? 1.0 : std::min(std::nextafter(std::exp(x) * (1.0 + kExpError), 2.0), 1.0);
}
double exp_down(double x) noexcept { return x >= 0.0 ? 1.0 : std::max(std::exp(x) * (1.0 - kExpError), 0.0); }

}  // namespace

RdpGuarantee rdp_epsilon(const Composition& composition, double delta, Conversion conversion,
                         std::span<const double> orders) noexcept {
    const RdpQuery query{composition, conversion, true, std::log(delta), 0.0};
    const double lowest = orders.empty() ? 1.0 : orders[0];
    if (log_total_variation(query, orders, query.log_delta) <= query.log_delta) return {0.0, 0.0, lowest};
    const double loss = largest_loss(composition);
    RdpGuarantee g = at_best(query, orders);
    if (std::isnan(g.value) || std::isnan(g.floor)) g = {kInfinity, 0.0, g.order};
    g = {std::max(g.value, 0.0), std::max(g.floor, 0.0), g.order};
    return loss < kInfinity ? better_of(g, pure_epsilon(query, loss)) : g;
}

RdpGuarantee rdp_delta(const Composition& composition, double epsilon, Conversion conversion,
                       std::span<const double> orders) noexcept {
    const RdpQuery query{composition, conversion, false, 0.0, epsilon};
    const double loss = largest_loss(composition);
    if (epsilon >= loss) return pure_delta(query, loss);
    RdpGuarantee g = at_best(query, orders);
    if (std::isnan(g.value) || std::isnan(g.floor)) g = {0.0, -kInfinity, g.order};
    const double variation = log_total_variation(query, orders, g.value);
    if (variation < g.value) g = {variation, std::min(variation, g.floor), orders.empty() ? 1.0 : orders[0]};
    g = {exp_up(g.value), exp_down(g.floor), g.order};
    return loss < kInfinity ? better_of(g, pure_delta(query, loss)) : g;
}

}  // namespace renyi
