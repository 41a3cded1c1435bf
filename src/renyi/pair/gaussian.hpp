// (N(mu, 1), N(0, 1)), seen from the middle: P around mu/2, Q around -mu/2, the loss mu v at v. Its own reverse.
#pragma once

#include "renyi/pair/normal_mixtures.hpp"

namespace renyi {

class GaussianPair final : public NormalMixtures {
public:
    explicit GaussianPair(double mu) : NormalMixtures({{1.0, -0.5 * mu, 0.5 * mu}}, true), mu_(mu) {}  // 0 < mu

    double mu() const noexcept { return mu_; }

private:
    double mu_;
};

}  // namespace renyi
