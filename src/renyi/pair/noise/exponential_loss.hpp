// Noises whose privacy loss has an exponential density, and their Rényi curves in closed form.
#pragma once

#include <vector>

#include "renyi/pair/moment.hpp"

namespace renyi {

// Losses whose continuous part has the density mass e^{(l - top)/2}/4 under P, mass e^{-(l + top)/2}/4 under Q, on
// [-top, top]: noise of double exponential density, mechanisms of bounded range. Its own reverse.
//
//     K(alpha) = log1p(E_Q[e^{alpha l} - 1 - alpha (e^l - 1)])        every real alpha >= 1
//
// in closed form, relative error about 1e-14 however small K is; of Poisson samples by a quadrature with a proven error.
class ExponentialLoss final : public Pair {
public:
    // Noise of density e^{-|x|/scale}/(2 scale) on a query moved by 1: mass 1, and an atom at each end.
    static ExponentialLoss laplace(double scale) noexcept { return ExponentialLoss(1.0 / scale, 1.0, true); }
    // The pair that dominates every mechanism whose loss lies in some interval of length epsilon, of privacy profile
    // (e^{eps/2} - e^{e/2})^2/(e^eps - 1) (Dong, Durfee, Rogers 2020, arXiv 1909.13830); logistic noise of scale
    // 1/epsilon has it, too.
    static ExponentialLoss bounded_range(double epsilon) noexcept;

    Spans spans(Side side, const Fineness& fineness) const override;
    CurvePointer moment(Direction direction) const override;
    bool symmetric() const noexcept override { return true; }
    PairPointer sampled(double rate) const override;

private:
    ExponentialLoss(double top, double mass, bool atoms) noexcept : top_(top), mass_(mass), atoms_(atoms) {}
    std::vector<LossAtom> ends() const;

    double top_, mass_;
    bool atoms_;
};

// Gumbel noise over a query moved by 1, P around 1, Q around 0. With u = e^{-x/scale}, exponential of rate 1 around 0
// and of rate e^t around the shift, t = 1/scale, the loss is t - (e^t - 1) u: t - L is exponential, of rate
// r = 1/(e^t - 1) under Q and 1 + r under P. Spans for scales in [0.1, 1e9], moments for every scale.
class GumbelPair final : public Pair {
public:
    explicit GumbelPair(double scale) noexcept;

    Spans spans(Side side, const Fineness& fineness) const override;
    CurvePointer moment(Direction direction) const override;

private:
    double top_, rate_;  // t, r
};

}  // namespace renyi
