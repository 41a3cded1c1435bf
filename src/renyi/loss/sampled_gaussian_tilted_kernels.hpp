// The hot loops of TiltedLaw: the nodes of its integrals and what is summed over them.
//
// Bounds: see sampled_gaussian_tilted.cpp. Fixed summation order.
#pragma once

#include <cstddef>
#include <vector>

#include "renyi/fp/lanes.hpp"

namespace renyi::tilted {

// Nodes on the real axis, a multiple of kLanes of them, and their weights under the tilted law relative to the mode.
struct Nodes {
    std::vector<double> v, weight;  // u - mode
    std::vector<double> t;          // l - l(mode)
    std::vector<double> posterior;  // of the sampled component

    std::size_t count() const noexcept { return v.size(); }
    void resize(std::size_t count);
};

// What the kernels need of a TiltedLaw.
struct Node {
    double alpha, c, mode, p, one_minus_p;
    double logit;  // log(p / one_minus_p), which may be beyond the range of their exponentials
};

// A line Im u = b = height, and versine and sine of b/sigma.
struct Line {
    double height, versine, sine;

    Line(double b, double c) noexcept;
};

// Turns weights of quadrature at the nodes v into those under the law, and fills in the rest.
void fill(const Node& at, Nodes& nodes) noexcept;

// The same nodes on a line: complex weights, the argument of 1+x, and l - l(mode).
struct Shifted {
    double *re, *im, *argument, *loss;
};
void shift(const Nodes& nodes, double alpha, double mode, const Line& line, Shifted out) noexcept;

double sum_weights(const Nodes& nodes) noexcept;
double sum_losses(const Nodes& nodes) noexcept;
double sum_posterior(const Nodes& nodes) noexcept;

// E[e^E - 1] of the decay bound on a line: E = b^2/2 + alpha log m - y a with m and a the modulus and argument of
//     (1+x)_b / (1+x) = 1 + r (e^{i theta} - 1),   r the posterior at the node, theta = b/sigma <= pi/2,
// and atan s >= 3 s / (1 + 2 sqrt(1 + s^2)) (Shafer 1966) for a.
double sum_decay(const Nodes& nodes, double alpha, double y, const Line& line) noexcept;

}  // namespace renyi::tilted
