#include "renyi/transform/lattice/composed_loss.hpp"

#include <algorithm>
#include <limits>

namespace renyi::lattice {

namespace {

constexpr double kFarthest = 1e200;  // beyond every loss

DoubleDouble exactly(std::int64_t n) noexcept {
    const double high = static_cast<double>(n);
    return {high, static_cast<double>(n - static_cast<std::int64_t>(high))};
}

// value e^exponent without overflow of the factor, to 8 u and u |exponent| relative.
double times_exp(double value, double exponent) noexcept {
    if (value == 0.0) return 0.0;
    const double root = std::exp(0.5 * std::min(exponent, 1400.0));
    return exponent > 1400.0 ? kInfinity : value * root * root;
}

}  // namespace

// In double-double arithmetic: an epsilon moved by 2^-95 of the largest term would have exactly this place.
ComposedLoss::Place ComposedLoss::place_of(double epsilon) const noexcept {
    const DoubleDouble target = DoubleDouble{epsilon, 0.0} - offset;
    const auto distance = [&](std::int64_t node) { return (exactly(node) * step - target).hi; };
    if (!(distance(window.end() - 1) > 0.0)) return {window.end(), distance(window.end())};
    if (distance(window.first) > 0.0) return {window.first, distance(window.first)};
    const double places = -distance(window.first) / step;  // below the window's size
    std::int64_t node = window.first + static_cast<std::int64_t>(places);
    while (distance(node) <= 0.0) ++node;
    while (distance(node - 1) > 0.0) --node;
    return {node, distance(node)};
}

double ComposedLoss::delta(double epsilon) const {
    if (epsilon == kInfinity) return infinite;
    const bool is_upper = side == Side::upper;
    const double room =
        0x1p-95 * (std::fabs(epsilon) + offset_terms +
                   step * (std::fabs(static_cast<double>(window.first)) + static_cast<double>(window.size)));
    const double moved = (drift + room) * (1.0 + 0x1p-40) + kUnitRoundoff * std::fabs(epsilon);
    epsilon += is_upper ? -moved : moved;
    if (epsilon < -kFarthest) return is_upper ? 1.0 : infinite;
    const Place place = place_of(std::min(epsilon, kFarthest));

    const double theta = tilt.theta(), slope = theta / step;
    const double exponent =
        std::ldexp(static_cast<double>(log_scale - static_cast<Int128>(tilt.numerator) * place.start), -tilt.bits);
    const WeightedSum sum =
        place.start < window.end() ? law->sum_from(place.start, place.distance) : WeightedSum{0.0, 0.0};
    // Weights are relative to the first node above epsilon; the bound of what lies outside to epsilon itself.
    const double lift = slope * place.distance;
    const double far = times_exp(outside * largest_weight(slope), exponent + lift);
    const double lost = (times_exp(sum.error, exponent) + far) *
                        (1.0 + 0x1p-40 + 8.0 * kUnitRoundoff * (std::fabs(exponent) + std::fabs(lift)));
    const double error = relative_error + kUnitRoundoff * (std::fabs(exponent) + 32.0);
    const double value = times_exp(sum.value, exponent);
    constexpr double kTiny = 4.0 * std::numeric_limits<double>::denorm_min();  // of products that underflow
    if (is_upper) {
        double bound = infinite + value * (1.0 + error) + lost;
        if (left_out)
            bound += std::exp(std::min(left_out->log_factor - left_out->slope * epsilon, 1.0)) * (1.0 + 0x1p-40);
        if (sum.value > 0.0 || lost > 0.0) bound += kTiny;
        bound *= 1.0 + 8.0 * kUnitRoundoff;
        return bound < 1.0 ? bound : 1.0;  // NaN, out of reach of this tilt, says nothing
    }
    const double kept = value * (1.0 - error) - lost - kTiny;
    return std::min((infinite + (kept > 0.0 ? kept : 0.0)) * (1.0 - 8.0 * kUnitRoundoff), 1.0);
}

}  // namespace renyi::lattice
