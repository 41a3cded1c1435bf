#include "renyi/pair/gumbel.hpp"

#include <algorithm>
#include <cmath>

#include "renyi/pair/division.hpp"

namespace renyi {

namespace {

constexpr double kDeepest = 746.0;  // e^-kDeepest vanishes

// log(sinh(x/2)/(x/2)) = sum of B_2n/(2n (2n)!) x^2n, terms below (2/n) (x/2 pi)^2n: 16 of them for x <= 2.
constexpr double kSeries[] = {
    0x1.5555555555555p-5,  -0x1.6c16c16c16c17p-12, 0x1.71de3a556c734p-18, -0x1.bbd779334ef0bp-24,
    0x1.1eed8eff8d898p-29, -0x1.8355d1db03354p-35, 0x1.0d0f870805313p-40, -0x1.7da4e1f79955cp-46,
    0x1.12f948be82970p-51, -0x1.9131453d55727p-57, 0x1.27a18aefd3f97p-62, -0x1.b752159a2e47bp-68,
    0x1.48b5244a5c143p-73, -0x1.eed15866cb263p-79, 0x1.76586051e8b1fp-84, -0x1.1c77df96de38bp-89};

// The mean loss of losses at depths [z, z + w] above their lower end.
//
// With x = (1 + r) w, y = r w and l(x) = log(sinh(x/2)/(x/2)) it is w/2 + l(x) - l(y), both terms >= 0. For x <= 2 the
// difference is a series with the factor x^2 - y^2 = w (x + y); else w > 1 or y > 1, and from the upper end the mean is
// log1p((1/r - v)/(1 + v)) away, v = (1 - e^-w)/(e^y - 1), where 1/r - v loses less than two bits.
double mean_above_lower_end(double w, double r) noexcept {
    const double x = (1.0 + r) * w, y = r * w;
    if (x > 2.0) {
        const double v = y < 700.0 ? -lane_expm1(-w) / lane_expm1(y) : 0.0;
        return w - lane_log1p((1.0 / r - v) / (1.0 + v));
    }
    double sum = 0.0, power = 1.0, symmetric = 1.0;  // symmetric: (x^2n - y^2n)/(x^2 - y^2)
    for (const double coefficient : kSeries) {
        sum += coefficient * symmetric;
        power *= y * y;
        symmetric = x * x * symmetric + power;
    }
    return 0.5 * w + w * (x + y) * sum;
}

}  // namespace

GumbelPair::GumbelPair(double scale) noexcept : top_(1.0 / scale), rate_(1.0 / lane_expm1(1.0 / scale)) {}

Spans GumbelPair::spans(Side, const Fineness& fineness) const {
    Spans found;
    found.null.upper = kNegligible;
    found.unbounded_above = false;
    const double top = top_, r = rate_, deepest = kDeepest / r;
    const auto loss = [top](double z) { return top - z; };
    divide({0.0, deepest, top, top - deepest}, loss, fineness, [&](const Part& part) {
        const double a = part.start, w = part.end - part.start;
        const double mean = std::clamp(part.last + mean_above_lower_end(w, r), part.last, part.first);
        const double rate = mean >= 0.0 ? 1.0 + r : r;  // of the larger mass
        const double large = deep_exp(-rate * a) * -lane_expm1(-rate * w), small = large * deep_exp(-std::fabs(mean));
        const double p = mean >= 0.0 ? large : small, q = mean >= 0.0 ? small : large;
        const double mass_error = (32.0 + 8.0 * std::min(rate * a, kDeepest)) * kUnitRoundoff;
        const double loss_error = (4.0 * (top + std::fabs(mean)) + 64.0 * w) * kUnitRoundoff;
        found.spans.push_back({part.last, mean, part.first, p, q, mass_error, loss_error});
    });
    return found;
}

}  // namespace renyi
