#include "renyi/curve/rdp_guarantee.hpp"

#include <algorithm>
#include <cmath>

#include "renyi/curve/best_order.hpp"
#include "renyi/special/elementary.hpp"

namespace renyi {

namespace {

constexpr double kPureMargin = 16.0 * kUnitRoundoff;

RdpGuarantee guarantee(const RdpQuery& query, const RdpAtOrder& best) noexcept {
    return {best.value, query.convert(best.alpha, lower(best.k), Rounding::down), best.alpha};
}

// At the best order, if there is one at which K is finite.
RdpGuarantee at_best(const RdpQuery& query, std::span<const double> orders) noexcept {
    const RdpGuarantee nothing{query.given_delta ? kInfinity : 0.0, query.given_delta ? kInfinity : 0.0,
                               orders.empty() ? 1.0 : orders[0]};
    if (!query.has_orders()) return nothing;
    if (orders.empty()) return guarantee(query, best_order(query));
    const auto finite = std::upper_bound(orders.begin(), orders.end(), query.largest);
    if (finite == orders.begin()) return nothing;
    return guarantee(query, best_order(query, {orders.begin(), finite}));
}

// log delta at epsilon = 0 from the divergence of the lowest order at hand, if it can be below log_delta.
double log_total_variation(const RdpQuery& query, std::span<const double> orders, double log_delta) noexcept {
    if (query.conversion == Conversion::mironov) return kInfinity;
    double jensen = 0.0;  // log A >= alpha (alpha-1) q^2/(2 sigma^2)
    for (const SampledStep& s : query.composition.steps) jensen += 0.5 * s.count * (s.q / s.sigma) * (s.q / s.sigma);
    if (log_delta_at_zero(jensen) > log_delta + 1e-6) return kInfinity;
    return log_delta_at_zero(std::max(upper(rdp(query.composition, orders.empty() ? 1.0 : orders[0])), query.least));
}

// What is known at alpha = infinity: losses of at most `loss` in both orders. Mironov's conversion becomes that bound;
// otherwise randomized response is the worst pair (Kairouz, Oh, Viswanath 2015), delta = (e^loss - e^eps)/(e^loss + 1).
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

double exp_up(double x) noexcept {
    return x >= 0.0 ? 1.0 : std::min(std::nextafter(std::exp(x) * (1.0 + 0x1p-50), 2.0), 1.0);
}
double exp_down(double x) noexcept { return x >= 0.0 ? 1.0 : std::max(std::exp(x) * (1.0 - 0x1p-50), 0.0); }

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
