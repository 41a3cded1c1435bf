// Panels. A panel of half-width w around c, |c| the distance from the mean of the larger density, with w (4 |c| + 32 w)
// <= 1 has log densities that change slower than 1/(4 w) within 8 w of c: on the ellipse of semi-axis 8 w, parameter
// 15.9, a density is at most e^2 times its value at c.
#include "renyi/pair/gaussian.hpp"

#include <algorithm>
#include <cmath>

#include "renyi/pair/division.hpp"

namespace renyi {

namespace {

constexpr double kReach = 38.6;                  // the density is below 2^-1074 beyond
constexpr double kScale = 0x1.9884533d43651p-2;  // 1/sqrt(2 pi)

}  // namespace

void GaussianPair::add_panel(double start, double end, const Fineness& fineness, Spans& found) const {
    const double mu = mu_, half = 0.5 * mu;
    const auto loss = [mu](double v) { return mu * v; };
    const auto at = [mu, half](double v) {
        const double x = std::fabs(v) - half;
        return OutputPoint{kScale * deep_exp(-0.5 * x * x), mu * v};
    };
    const double far = std::max(std::fabs(std::fabs(start) - half), std::fabs(std::fabs(end) - half));
    // v is right to u |v|, which moves the exponent by far |v| u; its square is right to 2u.
    const double error = (12.0 + 2.0 * far * far + 2.0 * far * (far + half)) * kUnitRoundoff;
    divide(start, end, loss, fineness, [&](double a, double b) {
        const double largest = mu * std::max(std::fabs(a), std::fabs(b));
        found.spans.push_back(
            integrated(a, b, rule_for((b - a) / (end - start)), at, error, 2.0 * kUnitRoundoff * largest));
    });
}

Spans GaussianPair::spans(Side, const Fineness& fineness) const {
    Spans found;
    found.infinite.upper = found.null.upper = kNegligible;
    const double half = 0.5 * mu_, end = half + kReach;
    std::vector<double> ends{0.0};
    for (double v = 0.0; v < end;) {
        // Of a panel whose far end is the farther one: w (4 (|x| + 2 w) + 32 w) <= 1.
        const double x = v - half, distance = std::fabs(x);
        double width = (std::sqrt(distance * distance + 10.0) - distance) / 10.0;  // 2 w
        if (x < 0.0) width = std::min(width, distance);                            // not across the mean
        v = v + width >= end || !(v + width > v) ? end : v + width;
        ends.push_back(v);
    }
    for (std::size_t i = 1; i < ends.size(); ++i) {
        add_panel(ends[i - 1], ends[i], fineness, found);
        add_panel(-ends[i], -ends[i - 1], fineness, found);
    }
    return found;
}

}  // namespace renyi
