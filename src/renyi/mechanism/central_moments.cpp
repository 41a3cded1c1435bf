#include "renyi/mechanism/central_moments.hpp"

#include <algorithm>
#include <cmath>

#include "renyi/mechanism/excess.hpp"
#include "renyi/mechanism/linear_curve.hpp"
#include "renyi/special/log_factorial.hpp"

namespace renyi {

namespace {

constexpr double kWorstError = 0x1p-10;  // relative: a moment known worse bounds no sum
constexpr double kPi = 3.141592653589793;

// 2 rho = c^2 of a curve K = rho l (l-1), 0 for any other.
double gaussian_curvature(const RenyiCurve& base) noexcept {
    const auto* linear = dynamic_cast<const LinearCurve*>(&base);
    if (linear == nullptr) return 0.0;
    const double c_squared = linear->log_moment(2.0).second;
    return 2.0 * linear->divergence(1.0).value == c_squared ? c_squared : 0.0;
}

// Terms are taken relative to (e^{c^2} - 1)^{l/2} (l-1)!!, near B_l for small c. Those with e^{+(l-1) c y/2} have a
// concave logarithm and the other half is smaller: past the peak the rest is at most twice a geometric series.
// Exponents are right to 8u of the parts that they are made of, c to 1u.
CentralMoment gaussian_moment(double c_squared, double l, double k) noexcept {
    const double c = std::sqrt(c_squared), jensen = 0.5 * l * lane_log(lane_expm1(c_squared));
    const double scale = jensen + (log_factorial(l) - log_factorial(0.5 * l)).hi - 0.5 * l * kLog2;
    if (!(k - scale < 700.0)) return {kScaledZero, kInfinity};
    const double digits = 45.0 + l * kLog2 + k - jensen, h = kPi * std::sqrt(2.0 / digits);
    double sum = 0.0, previous = -kInfinity, parts = 0.0;
    for (double y = h;; y += h) {
        const double w = c * y, log_growth = lane_log(lane_expm1(w)), rise = 0.5 * (l - 1.0) * w;
        const double exponent = l * (log_growth - 0.5 * w) + rise - 0.5 * y * y - 0.125 * c_squared - scale;
        const double term = lane_exp(exponent) * (1.0 + lane_exp(-2.0 * rise));
        sum += term;
        parts = std::max(parts, l * (2.0 + 2.0 * w + std::fabs(log_growth)) + y * y + c_squared);
        const double fall = exponent - previous;
        previous = exponent;
        if (fall < 0.0 && 2.0 * term < 0x1p-60 * sum * -fall) break;
    }
    const double value = sum * h * 0.3989422804014327;
    const double aliases = lane_exp(l * kLog2 + k + lane_log1p(lane_exp(-k)) - digits - scale);
    const double exponent = std::nearbyint(scale / kLog2);
    return {{{value * lane_exp(scale - exponent * kLog2), 0.0}, exponent},
            2.0 * aliases / value + (8.0 * (parts + std::fabs(scale)) + 64.0) * kUnitRoundoff};
}

CentralMoment alternating_moment(const std::vector<Scaled>& growth, const std::vector<double>& errors, int l) noexcept {
    Scaled even = kScaledZero, odd = kScaledZero, error = kScaledZero;
    Scaled binomial{{0.5 * l * (l - 1.0), 0.0}, 0.0};
    for (int i = 2; i <= l; ++i) {
        const Scaled term = binomial * growth[i];
        (i % 2 == 0 ? even : odd) = (i % 2 == 0 ? even : odd) + term;
        error = error + term * DoubleDouble{errors[i] + 12.0 * kUnitRoundoff, 0.0};
        binomial = normalised(
            {binomial.mantissa * static_cast<double>(l - i) / DoubleDouble{i + 1.0, 0.0}, binomial.exponent});
    }
    const Scaled value = even + Scaled{-odd.mantissa, odd.exponent};
    return {value, value.mantissa.hi > 0.0 ? ratio(error, value) : kInfinity};
}

}  // namespace

std::vector<CentralMoment> even_central_moments(const RenyiCurve& base, int last) {
    std::vector<CentralMoment> moments{{kScaledOne, 0.0}};
    std::vector<Scaled> growth(2, kScaledZero);
    std::vector<double> errors(2, 0.0);
    const double c_squared = gaussian_curvature(base);
    for (int l = 2; l <= std::min<double>(last, base.largest_order()); l += 2) {
        for (int i = l - 1; i <= l; ++i) {
            if (i < 2) continue;
            const Certified k = base.log_moment(i).value;
            if (!(k.value > 0x1p-900 && k.value < 0x1p20)) return moments;
            growth.push_back(scaled_expm1({k.value, 0.0}));
            errors.push_back(log_error(k));
        }
        const CentralMoment moment = c_squared > 0.0 ? gaussian_moment(c_squared, l, 0.5 * c_squared * l * (l - 1.0))
                                                     : alternating_moment(growth, errors, l);
        if (!(moment.error < kWorstError) || ratio(moment.value, growth[l] + kScaledOne) > 0.5) return moments;
        moments.push_back(moment);
    }
    return moments;
}

}  // namespace renyi
