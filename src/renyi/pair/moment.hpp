// The Rényi curve of a pair, computed from its spans: the curve of a discrete pair that dominates the given one, with
// every span moved to its two ends.
//
// The discrete pair has finitely many privacy losses l with masses p = q e^l under P and q under Q. The log moment
// generating function is made of sums over them. With beta = alpha - 1 and phi(t) = e^t - 1 - t
//
//     A - 1 = sum q (e^{alpha l} - 1 - alpha (e^l - 1)) = sum p (phi(beta l) + beta phi(-l)),
//
// every term is >= 0: nothing cancels, and A - 1 keeps its digits however small it is. The second sum, the
// Kullback-Leibler divergence, does not depend on alpha and is stored.
//
// Nodes are summed in blocks of 16 with the loops of the sampled Gaussian. Where beta l exceeds 600 the largest
// exponent is taken out of the sums and -1 - t is dropped: it is below e^-590 of the sum.
#pragma once

#include <cstddef>
#include <vector>

#include "renyi/pair/pair.hpp"

namespace renyi {

constexpr std::size_t kLossBlock = 16;

struct Tilt {
    double alpha, beta;
    double largest_loss;
    double scale;   // the true sums are e^scale times those returned; 0 or beta * largest_loss
    double center;  // the center of the moments `first` and `second`

    Tilt(double alpha, double largest_loss) noexcept;
};

struct TiltedSums {
    double excess = 0.0;               // A - 1; A itself where the scale is not 0
    double slope = 0.0;                // A'
    double first = 0.0, second = 0.0;  // sums of (l - center)^(1, 2) under e^{beta l} P
};

inline TiltedSums operator+(const TiltedSums& a, const TiltedSums& b) noexcept {
    return {a.excess + b.excess, a.slope + b.slope, a.first + b.first, a.second + b.second};
}

struct LossAtom {
    double loss;  // relative error at most 4u; may be -infinity, then p = 0
    double p, q;  // masses under P and Q, relative error at most 16u; p = q e^loss
};

// p phi(-l), the atom's part of the Kullback-Leibler divergence.
double divergence_term(const LossAtom& atom) noexcept;

TiltedSums sums_of(const LossAtom& atom, const Tilt& tilt) noexcept;

class LossNodes {
public:
    void add(const LossAtom& atom);

    // The next node begins a new block.
    void end_block() noexcept { count_ = blocks() * kLossBlock; }

    std::size_t size() const noexcept { return count_; }
    std::size_t blocks() const noexcept { return divergence_.size(); }
    double largest_loss() const noexcept { return largest_loss_; }

    // sum p phi(-l) over the first `blocks` blocks: their part of the Kullback-Leibler divergence.
    double divergence(std::size_t blocks) const noexcept { return blocks == 0 ? 0.0 : divergence_[blocks - 1]; }

    // The sums over `blocks` blocks from block `first` on.
    TiltedSums sums(const Tilt& tilt, std::size_t first, std::size_t blocks) const noexcept;

private:
    std::vector<double> loss_, mass_;
    std::vector<double> divergence_;  // prefix sums: of all blocks up to and including each
    std::size_t count_ = 0;
    double largest_loss_ = -kInfinity;
};

// Returns log A and its derivatives. `error`: the relative error of the excess without rounding; `terms`: the number of
// terms of the longest sum.
LogMoment logarithm_of(const TiltedSums& sums, const Tilt& tilt, double error, std::size_t terms) noexcept;

// The Kullback-Leibler divergence `sum` of terms p phi(-l), with its certified error.
Certified divergence_of(double sum, double largest_loss, double error, std::size_t terms) noexcept;

// Squares of losses below 1e-150 leave the range of double: kSmallestMoment replaces any smaller value that is not 0.
constexpr double kSmallestMoment = 1e-290;
constexpr Certified kBelowSmallest{kSmallestMoment, 1.0};

// Returns the curve of PairMoment (see the source): infinite where there is infinite mass, null where losses have no
// upper bound.
CurvePointer moment_of_spans(const Pair& pair);

}  // namespace renyi
