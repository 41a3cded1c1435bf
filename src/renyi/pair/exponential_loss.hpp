// Losses whose continuous part has the density mass e^{(l - top)/2}/4 under P, mass e^{-(l + top)/2}/4 under Q, on
// [-top, top]: noise of double exponential density, mechanisms of bounded range. Its own reverse.
#pragma once

#include "renyi/pair/pair.hpp"

namespace renyi {

class ExponentialLoss final : public Pair {
public:
    // Noise of density e^{-|x|/scale}/(2 scale) on a query moved by 1: mass 1, and an atom at each end.
    static ExponentialLoss laplace(double scale) noexcept { return ExponentialLoss(1.0 / scale, 1.0, true); }
    // The pair that dominates every mechanism whose loss lies in some interval of length epsilon (Dong, Durfee, Rogers
    // 2020, arXiv 1909.13830); logistic noise of scale 1/epsilon has it, too.
    static ExponentialLoss bounded_range(double epsilon) noexcept;

    Spans spans(Side side, const Fineness& fineness) const override;
    bool symmetric() const noexcept override { return true; }

private:
    ExponentialLoss(double top, double mass, bool atoms) noexcept : top_(top), mass_(mass), atoms_(atoms) {}

    double top_, mass_;
    bool atoms_;
};

}  // namespace renyi
