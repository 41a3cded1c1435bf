// The hot loops of TiltedLaw: the nodes of its integrals, a chunk at a time, and what is summed over them.
//
// Bounds: see sampled_gaussian_tilted.cpp. Fixed summation order.
#pragma once

#include "renyi/fp/lanes.hpp"

namespace renyi::tilted {

constexpr int kChunk = 32;  // nodes made at a time

struct Chunk {
    alignas(64) double v[kChunk];
    alignas(64) double t[kChunk];          // l - l(mode)
    alignas(64) double weight[kChunk];     // of the tilted law, relative to the mode
    alignas(64) double posterior[kChunk];  // of the sampled component
};

// What the kernels need of a TiltedLaw.
struct Node {
    double alpha, c, mode, p, one_minus_p;
};

// The nodes of a chunk on the line Im u = b.
struct Shifted {
    alignas(64) double re[kChunk], im[kChunk];          // weights
    alignas(64) double loss[kChunk], argument[kChunk];  // l - l(mode)
};

// Fills a chunk at the nodes out.v with quadrature weights out.weight.
void fill(const Node& at, Chunk& out) noexcept;

// Adds the nodes of a chunk to R and I at y = (first + j) step, j = 0 ... kLanes - 1.
void add_circular(const Chunk& chunk, double centre, double first, double step, double* cosine, double* sine) noexcept;

// The same nodes on the line Im u = shift; versine and sine of shift/sigma.
void shift_nodes(const Chunk& chunk, double alpha, double mode, double shift, double versine, double sine,
                 Shifted& out) noexcept;

// Adds the nodes to E[e^{i y d} - 1 - i y d] at kLanes ordinates.
void add_shifted(const Shifted& nodes, double centre, double first, double step, double* cosine, double* sine) noexcept;

double sum_weights(const Chunk& chunk) noexcept;
double sum_losses(const Chunk& chunk) noexcept;
double sum_posterior(const Chunk& chunk) noexcept;

// E[e^E - 1] of the decay bound on Im u = b = shift: E = b^2/2 + alpha log m - y a with m and a the modulus and
// argument of
//     (1+x)_b / (1+x) = 1 + r (e^{i theta} - 1),   r the posterior at the node, theta = b/sigma <= pi/2,
// and atan s >= 3 s / (1 + 2 sqrt(1 + s^2)) (Shafer 1966) for a.
double sum_decay(const Chunk& chunk, double alpha, double y, double shift, double versine, double sine) noexcept;

}  // namespace renyi::tilted
