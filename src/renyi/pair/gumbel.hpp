// Gumbel noise over a query moved by 1, P around 1, Q around 0. With u = e^{-x/scale}, exponential of rate 1 around 0
// and of rate e^t around the shift, t = 1/scale, the loss is t - (e^t - 1) u: t - L is exponential, of rate
// r = 1/(e^t - 1) under Q and 1 + r under P.
#pragma once

#include "renyi/pair/pair.hpp"

namespace renyi {

class GumbelPair final : public Pair {
public:
    explicit GumbelPair(double scale) noexcept;  // in [0.1, 1e9]

    Spans spans(Side side, const Fineness& fineness) const override;

private:
    double top_, rate_;  // t, r
};

}  // namespace renyi
