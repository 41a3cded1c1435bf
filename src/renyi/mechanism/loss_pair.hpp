// A pair of distributions (P, Q) seen through its privacy loss l = log dP/dQ: finitely many atoms, and optionally a
// part with the density peak e^{(l - top)/2} of l under P and peak e^{-(l + top)/2} under Q on [-top, top].
//
//     K(alpha) = log E_Q[e^{alpha l}] = log1p(E_Q[e^{alpha l} - 1 - alpha (e^l - 1)])        every real alpha >= 1
//
// in closed form, relative error about 1e-14 however small K is. All pairs made here have an involution that swaps P
// and Q, so both orders of the pair have this K.
#pragma once

#include <vector>

#include "renyi/mechanism/loss_nodes.hpp"

namespace renyi {

struct LossDensity {
    double top = 0.0, peak = 0.0;
};

class LossPair final : public RenyiCurve {
public:
    // Masses add up to 1 under P and under Q, the density's part peak (1 - e^-top) 2 included.
    explicit LossPair(std::vector<LossAtom> atoms, LossDensity density = {});

    // Noise of density e^{-|x|/scale}/(2 scale) on a query of sensitivity 1.
    static LossPair laplace(double scale);
    // The same on the integers, mass proportional to e^{-|x|/scale}; sensitivity an integer >= 1.
    static LossPair discrete_laplace(double scale, int sensitivity);
    // One of `choices` answers: the true one with probability p in (0, 1), every other equally likely.
    static LossPair randomized_response(double p, double choices);
    // Randomized response of largest loss epsilon: the worst pair of epsilon-DP (Kairouz, Oh, Viswanath 2015).
    static LossPair pure_dp(double epsilon);
    // The pair whose privacy profile (e^{eps/2} - e^{e/2})^2/(e^eps - 1) is that of every mechanism of bounded range
    // eps (Dong, Durfee, Rogers 2020).
    static LossPair exponential(double epsilon);

    LogMoment log_moment(double alpha) const noexcept override;
    Certified divergence(double alpha) const noexcept override;
    double largest_loss() const noexcept override;

    const std::vector<LossAtom>& atoms() const noexcept { return atoms_; }
    const LossDensity& density() const noexcept { return density_; }

private:
    TiltedSums density_sums(const Tilt& tilt) const noexcept;

    std::vector<LossAtom> atoms_;
    LossDensity density_;
    LossNodes nodes_;
    double largest_;
    double density_divergence_;
};

}  // namespace renyi
