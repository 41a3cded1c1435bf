// Operations on any pair: the reverse (Q, P), a Poisson sample, a labelled mixture of several pairs, and a pair whose
// two sides are given. Operations on sides, parts and reverses are delegated to the underlying pairs, so that each
// closed form is found however a pair was built.
#pragma once

#include <cmath>
#include <utility>
#include <vector>

#include "renyi/pair/pair.hpp"

namespace renyi {

// The cuts of `base` for losses of the opposite sign.
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

// log(1 + s (e^l - 1)). The relative error is 8u; an error of l adds the slope s e^l/(1 + s (e^l - 1)) times itself.
double sampled_loss(double rate, double loss) noexcept;

// The pair ((1-s) Q + s P, Q), for the direction "remove"; its reverse is for "add".
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

// The pair that draws one of several pairs and reveals which, with an outcome of it. With the remaining probability
// nothing is revealed.
PairPointer mixed_pair(std::vector<WeightedPair> parts);

// A pair known only through bounds: `upper` dominates it, and it dominates `lower`.
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

    mutable PairPointer upper_, lower_;  // mutable for subclasses that compute them on first use

private:
    const PairPointer& of(Side side) const { return side == Side::upper ? upper() : lower(); }
};

// Independent releases on the same data as one pair, so that they can be sampled together: laws of losses on a lattice,
// see LossLaw in the source. Compositions that are not sampled together do not need it.
//
// From below, the outcomes of a law have losses that lie on no lattice. Neighbouring outcomes are blended: each goes at
// random to a point between them, which is post-processing again (see Blend in the source). So the losses fill the gaps
// between the outcomes, and a further lattice loses no more than on a smooth density. Outcomes without neighbours stay
// atoms.
PairPointer product_pair(const std::vector<CountedPair>& parts);  // at least one, each at least once

// The direct convolution of non-negative sequences: the relative error of every sum is its number of terms times u,
// however small the sum is.
//
// 32 sums at a time stay in registers, so that a product costs a vector multiplication, a vector addition and hardly a
// load. Inputs are scaled up by 2^500 each and the sums down again, so that no product below 2^-1022 is lost.
// Domain: values in [0, 1]; the shorter sequence has fewer than 2^20. The relative error is (its length + 2) u, except
// for sums below 2^-1022.
std::vector<double> convolved(const std::vector<double>& a, const std::vector<double>& b);

// One epoch of random allocation of any pair (A, B) to t steps: P has A at one step, drawn uniformly, and B at all
// others; Q has B at all steps. The likelihood ratio is the mean of t ratios dA/dB, independent under B.
//
// The pair dominates the epoch of every mechanism whose steps (A, B) dominates, adaptive ones too, in both directions:
// at each step a channel maps A and B to the outputs with and without the record (Blackwell). Feldman, Shenfeld 2025,
// arXiv 2502.08202.
PairPointer allocated_pair(PairPointer base, double steps);  // 1 <= steps <= 1e6

}  // namespace renyi
