// What is done to any pair: the reverse (Q, P), a Poisson sample, a labelled mixture of several, and two pairs as the
// sides of a third. Operations on sides, parts and reverses are those of the pairs they are made of, so that each
// closed form is found however a pair was put together.
#pragma once

#include <cmath>
#include <utility>
#include <vector>

#include "renyi/pair/pair.hpp"

namespace renyi {

// Losses change their signs.
inline double mirrored_cut(const Fineness& base, double low, double high) noexcept {
    const double found = base.cut(-high, -low);
    return std::isfinite(found) ? -found : found;
}
inline auto mirrored(const Fineness& base) {
    return CutBy([&base](double low, double high) { return mirrored_cut(base, low, high); }, base.joins_atoms());
}

inline Span reversed(const Span& s) noexcept {
    return {-s.high, -s.mean, -s.low, s.q, s.p, s.mass_error, s.loss_error};
}

inline Direction opposite(Direction direction) noexcept {
    return direction == Direction::remove ? Direction::add : Direction::remove;
}

class ReversedPair final : public Pair {
public:
    explicit ReversedPair(PairPointer base) : base_(std::move(base)) {}

    Spans spans(Side side, const Fineness& fineness) const override;
    CurvePointer moment(Direction direction) const override { return base_->moment(opposite(direction)); }
    bool two_sided() const noexcept override { return base_->two_sided(); }
    PairPointer side(Side side) const override;
    bool symmetric() const noexcept override { return base_->symmetric(); }
    PairPointer reverse() const override { return base_; }

private:
    PairPointer base_;
};

// log(1 + s (e^l - 1)), to 8u of itself and what the slope s e^l/(1 + s (e^l - 1)) makes of an error of l.
double sampled_loss(double rate, double loss) noexcept;

// ((1-s) Q + s P, Q), the direction "remove"; "add" is its reverse.
class PoissonSampledPair : public Pair {
public:
    PoissonSampledPair(PairPointer base, double rate) : base_(std::move(base)), rate_(rate) {}  // rate in [0, 1]

    Spans spans(Side side, const Fineness& fineness) const override;
    CurvePointer moment(Direction direction) const override;
    bool two_sided() const noexcept override { return base_->two_sided(); }
    PairPointer side(Side side) const override;
    bool symmetric() const noexcept override { return rate_ == 0.0 || (rate_ == 1.0 && base_->symmetric()); }

protected:
    PairPointer base_;
    double rate_;
};

struct WeightedPair {
    double weight;  // in [0, 1]
    PairPointer pair;
};

// Shows which of several pairs was drawn, and an outcome of it; with what is missing to 1 nothing is revealed.
PairPointer mixed_pair(std::vector<WeightedPair> parts);

// A pair of which only one that dominates it and one that it dominates are known.
class BracketedPair : public Pair {
public:
    BracketedPair(PairPointer upper, PairPointer lower) : upper_(std::move(upper)), lower_(std::move(lower)) {}

    Spans spans(Side side, const Fineness& fineness) const override { return of(side)->spans(side, fineness); }
    CurvePointer moment(Direction direction) const override { return upper()->moment(direction); }
    bool two_sided() const noexcept override { return true; }
    PairPointer side(Side side) const override { return of(side)->side(side); }
    bool symmetric() const noexcept override { return upper()->symmetric() && lower()->symmetric(); }

    virtual const PairPointer& upper() const { return upper_; }
    virtual const PairPointer& lower() const { return lower_; }

protected:
    BracketedPair() = default;

    mutable PairPointer upper_, lower_;  // of those that find them when they are read first

private:
    const PairPointer& of(Side side) const { return side == Side::upper ? upper() : lower(); }
};

// Independent releases on the same data as one pair, so that they can be sampled together: laws of losses on a lattice,
// see LossLaw in the source. Compositions that are not sampled together need none of this.
//
// From below, the outcomes of a law have losses that lie on no lattice. Of any two that are neighbours one half each is
// handed on as a blend, 1 - u of the one and u of the other, u uniform: merging again. So the losses fill the gaps, and
// a further lattice loses no more than by a smooth density; masses over an interval of u are linear in u, hence those
// of its middle. Outcomes by themselves stay atoms.
PairPointer product_pair(const std::vector<CountedPair>& parts);  // at least one, each at least once

// The convolution of non-negative sequences, directly: every sum is right to its number of terms in u, however small.
//
// 32 sums at a time stay in registers, so that a product costs a multiplication and an addition of vectors and hardly
// a load. Inputs are scaled up by 2^500 each and the sums down again, so that no product below 2^-1022 is lost before.
// Values in [0, 1], fewer than 2^20 of the shorter. The relative error is (its length + 2) u, but for sums below
// 2^-1022.
std::vector<double> convolved(const std::vector<double>& a, const std::vector<double>& b);

// One epoch of random allocation of any pair (A, B) to t steps: A at one of them, drawn uniformly, and B at the others,
// against B at all. The ratio of both is the mean of t ratios dA/dB, independent under B.
//
// It dominates the epoch of every mechanism whose steps (A, B) dominates, adaptive ones too, in both directions: a
// channel that maps A and B to the outputs of a step with and without the record (Blackwell), step by step. Feldman,
// Shenfeld 2025, arXiv 2502.08202.
PairPointer allocated_pair(PairPointer base, double steps);  // 1 <= steps <= 1e6

}  // namespace renyi
