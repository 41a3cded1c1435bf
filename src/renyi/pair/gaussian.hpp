// (N(mu, 1), N(0, 1)), seen from the middle: P around mu/2, Q around -mu/2, the loss mu v at v. Its own reverse.
#pragma once

#include "renyi/pair/pair.hpp"

namespace renyi {

class GaussianPair final : public Pair {
public:
    explicit GaussianPair(double mu) noexcept : mu_(mu) {}  // 0 < mu

    Spans spans(Side side, const Fineness& fineness) const override;
    bool symmetric() const noexcept override { return true; }

    double mu() const noexcept { return mu_; }

private:
    void add_panel(double start, double end, const Fineness& fineness, Spans& found) const;

    double mu_;
};

}  // namespace renyi
