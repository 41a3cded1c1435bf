// Panels: intervals of outputs on which 8 nodes integrate both densities.
//
// Gauss-Legendre with n nodes on an interval of length 2, f analytic with |f| <= M on the ellipse of parameter rho:
// error <= (64/15) M rho^-2n/(1 - rho^-2) (Trefethen, Approximation Theory and Approximation Practice, Theorem 19.3).
// A panel of half-width w around c on which the log densities change slower than 1/(4 w) within 8 w of c has densities
// at most e^2 times their value at c on the ellipse of semi-axis 8 w, rho = 15.9: 8 nodes leave 2^-58 of the mass. What
// grows with the distance from one end, such as 1 - e^-w, is at most 9 times larger there than on the panel, which
// leaves 2^-54 of it.
#pragma once

#include <algorithm>
#include <vector>

#include "renyi/pair/division.hpp"

namespace renyi {

// Ends of consecutive panels from start to end, each about as wide as fits(centre, half-width) permits.
template <class Fits>
std::vector<double> panel_ends(double start, double end, const Fits& fits) {
    std::vector<double> ends{start};
    double last = 0.5 * (end - start);
    for (double a = start; a < end; a = ends.back()) {
        double half = std::min(2.0 * last, 0.5 * (end - a));
        while (!fits(a + half, half) && a + half > a) half *= 0.75;
        last = half;
        const double b = a + 2.0 * half;
        ends.push_back(a < b && b < end ? b : end);
    }
    return ends;
}

// The spans over a panel.
template <class Output>
void add_panel(double start, double end, const Output& output, double mass_error, double loss_error,
               const Fineness& fineness, Spans& found) {
    const auto loss = [&output](double x) { return output.loss(x); };
    divide({start, end, output.loss(start), output.loss(end)}, loss, fineness, [&](const Part& part) {
        const Rule& rule = rule_for((part.end - part.start) / (end - start));
        found.spans.push_back(integrated(part, rule, output, mass_error, loss_error));
    });
}

}  // namespace renyi
