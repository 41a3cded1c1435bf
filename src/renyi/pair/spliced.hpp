// A record is replaced in a sample that holds any given record with probability g: one pair above both orders.
//
// Let (P, Q) dominate the base mechanism on any two neighbours in either order, and also the removal of the record
// where the size of the sample varies. With mu_0 the output without the record, mu_1 and mu_1' those with the one or
// the other, advanced joint convexity (Balle, Barthe, Gaboardi 2018, arXiv 1807.01647, Theorem 2) gives for E' = 1 + g
// (E - 1) >= 1, b = E'/E, D_E the hockey stick at E and H the profile of (P, Q)
//
//     D_E'((1-g) mu_0 + g mu_1 || (1-g) mu_0 + g mu_1') = g D_E(mu_1 || (1-b) mu_0 + b mu_1')
//                                                      <= g ((1-b) D_E(mu_1 || mu_0) + b D_E(mu_1 || mu_1')) <= g H(E),
//
// the profile of A = ((1-g) Q + g P, Q). For E' < 1 the same holds of the other order. So a pair with the profile of A
// above E = 1 and that of its reverse below dominates (Zhu, Dong, Wang 2022, arXiv 2106.08567, Theorem 11): A's losses
// above 0, their mirror images, and what is missing to 1 at 0.
//
// At each single E some neighbours reach it: mu_1 = P, mu_0 = mu_1' = Q in one order or the other. No fixed ones reach
// both halves (but for some bases: responses of three answers do), so that it is no lower bound of compositions: that
// is a pair which fixed neighbours have, A where records may be replaced by one that counts for nothing beside it.
#pragma once

#include <utility>

#include "renyi/pair/pair.hpp"

namespace renyi {

class SplicedPair final : public Pair {
public:
    SplicedPair(PairPointer base, double rate);  // the base is symmetric, or has its larger losses in this order

    // Of both sides: from above only.
    Spans spans(Side, const Fineness& fineness) const override;
    bool symmetric() const noexcept override { return true; }

    // ((1-g) Q + g P, Q), whose losses above 0 it has.
    const PairPointer& sampled() const noexcept { return sampled_; }

private:
    PairPointer sampled_;
};

}  // namespace renyi
