// The law of a loss on a lattice, and sums of independent ones: a pair from above or from below.
//
// Above: spans are shared between the nodes step (first + i) so that both masses are kept ("connect the dots", arXiv
// 2207.04380), a pair that dominates; products of dominating pairs dominate the product. The masses under Q are p e^-l.
// Below: outcomes are merged by the cell of their loss, and after a convolution by the sum of the cells' numbers.
// Masses of P and Q are convolved apart, the loss is the log of their ratio. Merging is post-processing. Both differ
// from the truth by the variance inside the cells, of second order in the step. Steps are powers of two; where a law
// has become long its step is doubled.
#pragma once

#include <cstdint>
#include <vector>

#include "renyi/pair/pair.hpp"

namespace renyi {

constexpr double kTail = 1e-150;  // mass that is cut off at either end

struct LossLaw {
    Side side;
    double step;
    std::int64_t first;
    std::vector<double> p, q;  // q from below only
    double infinite, null;     // masses of only P and of only Q, rounded toward the side
    double error, drift;       // relative of the masses; absolute of the losses, from above
    // From above: what was cut off, P-mass above and Q-mass below, and the ends of all losses, between which it lies.
    double cut_above = 0.0, cut_below = 0.0, top = kInfinity, bottom = -kInfinity;
};

// Of one use, on a step for which it has about `points` nodes.
LossLaw law_of(const Pair& pair, Side side, double points);

// Of `count` >= 1 uses, with at most twice as many nodes.
LossLaw power(LossLaw law, std::int64_t count, double points);

LossLaw sum_of(LossLaw a, LossLaw b, double points);

// The convolution of non-negative sequences, directly: every sum is right to its number of terms in u, however small.
//
// 32 sums at a time stay in registers, so that a product costs a multiplication and an addition of vectors and hardly
// a load. Inputs are scaled up by 2^500 each and the sums down again, so that no product below 2^-1022 is lost before.
// Values in [0, 1], fewer than 2^20 of the shorter. The relative error is (its length + 2) u, but for sums below
// 2^-1022.
std::vector<double> convolved(const std::vector<double>& a, const std::vector<double>& b);

}  // namespace renyi
