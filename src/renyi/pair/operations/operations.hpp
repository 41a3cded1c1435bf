// Operations on any pair: the reverse (Q, P), a Poisson sample, a labelled mixture of several pairs, a pair whose two
// sides are given, products, random allocation, and neighbours that differ by a replaced record. Operations on sides,
// parts and reverses are delegated to the underlying pairs, so that each closed form is found however a pair was built.
#pragma once

#include <cmath>
#include <cstdint>
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

// A record is replaced in a sample that holds any given record with probability g: one pair dominates both orders.
//
// Let (P, Q) dominate the base mechanism on any two neighbours in either order, and also the removal of the record
// where the size of the sample varies. With mu_0 the output without the record, mu_1 and mu_1' those with the one or
// the other, advanced joint convexity (Balle, Barthe, Gaboardi 2018, arXiv 1807.01647, Theorem 2) gives for E' = 1 + g
// (E - 1) >= 1, b = E'/E, D_E the hockey stick at E and H the profile of (P, Q)
//
//     D_E'((1-g) mu_0 + g mu_1 || (1-g) mu_0 + g mu_1') = g D_E(mu_1 || (1-b) mu_0 + b mu_1')
//                                                      <= g ((1-b) D_E(mu_1 || mu_0) + b D_E(mu_1 || mu_1')) <= g H(E),
//
// the profile of A = ((1-g) Q + g P, Q). For E' < 1 the same holds for the other order. So a pair with the profile of A
// above E = 1 and that of its reverse below dominates (Zhu, Dong, Wang 2022, arXiv 2106.08567, Theorem 11): it has the
// losses of A above 0, their mirror images, and the mass missing to 1 at loss 0.
//
// At each single E some neighbours reach this profile: mu_1 = P, mu_0 = mu_1' = Q in one order or the other. No fixed
// neighbours reach both halves (except for some bases, as responses of three answers), so that it is no lower bound of
// compositions. A lower bound is a pair that fixed neighbours have: A where a record may be replaced by one that
// contributes nothing. This pair is a bound from above only; the base is symmetric, or has its larger losses in this
// order.
PairPointer spliced_pair(PairPointer base, double rate);

// A Poisson sample, cut to a uniform subset of B where it exceeds B records.
//
// Neighbours of equal size n (a record is replaced by another, or by one that contributes nothing). Let T be the other
// records of the batch: their law does not depend on the record, so that T may be revealed, which gives a mixture of
// the pairs given T. Given T the record is in the batch with probability p(T); R ~ Bin(n-1, q) others are sampled:
//
//     |T| < B-1    the batch was not cut: p = q
//     |T| = B      full without the record: p = 0
//     |T| = B-1    not sampled and R = B-1, or sampled and kept: always if R = B-1, with probability B/(R+1) above.
//                  p = (q e + c)/(e + c) >= q,   e = P[R = B-1],   c = q sum_{j >= B} P[R = j] B/(j+1)
//
// with c = (B/n) P[Bin(n, q) > B] since q P[R = j]/(j+1) = P[Bin(n, q) = j+1]/n. The weights of the first and last case
// are P[R <= B-2] and e + c.
//
// Neighbours of n and n-1 records, with and without the record x. Given the sample S of the others:
//
//     |S| < B     the batch is S, or with probability q S and x
//     |S| >= B    without x the batch is a uniform B-subset T of S. With x it is T, or with probability q B/(|S|+1) x
//                 and a uniform (B-1)-subset of S, which is T with a uniform record replaced by x. If T but not |S| is
//                 revealed, x is in with probability c/P[R >= B]: the replacement of a record, sampled
//
// These mixtures are bounds from above; they are reached where the records reveal T in the output. From below, records
// that contribute nothing hide T: the record takes part with probability q P[R < B] + c.
struct TruncatedSampling {
    double rate, limit, population;  // q in (0, 1], B >= 1, n >= 1, at most 2^40
};

// A rate and the weight with which it holds, both rounded up.
struct WeightedRate {
    double weight, rate;
};

struct TruncatedRates {
    WeightedRate below, full;  // |T| < B-1 and |T| = B-1; or |S| < B and |S| >= B (x replaces another record)
    double taken;              // the probability that the record is in the batch, rounded down
};

// The rates for a record replaced by another, or by one that contributes nothing.
TruncatedRates rates_of_equal_size(const TruncatedSampling& sampling) noexcept;

// The rates for a record removed from n; its addition is the reverse.
TruncatedRates rates_of_removal(const TruncatedSampling& sampling) noexcept;

// The pair of a truncated sample, from the pairs of the two cases, each at its rate, and the pair at rate `taken`.
PairPointer truncated_pair(const TruncatedRates& rates, PairPointer below, PairPointer full, PairPointer taken);

// One record replaced in a sample of m draws with replacement from n records.
//
// The record appears K ~ Bin(m, 1/n) times. Given K = k > 0 the samples differ in k records, from each other and from
// a sample without the record, whose k draws are other records. So the argument of spliced_pair holds with g = P[K > 0]
// and, as base, the mixture over K given K > 0 of the pairs of k replaced records (Balle, Barthe, Gaboardi 2018, arXiv
// 1807.01647, Theorem 10). Appearances are grouped: those of a group count as its largest, the rarest as all draws.
//
// From below the record appears k times with probability P[K >= k], for one k, else never: noise of monotone likelihood
// ratio that is moved farther is distinguished by the same half-lines, no worse.
struct Appearances {
    std::int64_t largest;
    double weight;  // given K > 0, rounded up
};

struct ReplacedDraws {
    std::vector<Appearances> groups;
    double rate;           // P[K > 0], rounded up
    std::int64_t least;    // one number of appearances
    double rate_of_least;  // P[K >= least], rounded down
};

ReplacedDraws replaced_draws(std::int64_t draws, std::int64_t population);  // n >= 2, both at most 2^40

// The pair of the sample, from the pairs for the groups' largest numbers of replaced records and for `least`.
PairPointer drawn_pair(const ReplacedDraws& drawn, const std::vector<PairPointer>& groups, PairPointer least);

}  // namespace renyi
