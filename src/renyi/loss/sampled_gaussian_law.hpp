// One (q, sigma) with the few logarithms that everything else needs, so that they are taken once.
#pragma once

#include <algorithm>
#include <cmath>

#include "renyi/special/elementary.hpp"

namespace renyi {

struct SampledGaussianLaw {
    double q, one_minus_q, sigma, c;  // c = 1/sigma
    double log_q, log_rest;           // log q, log (1-q)

    SampledGaussianLaw(double rate, double noise) noexcept
        : q(rate),
          one_minus_q(1.0 - rate),
          sigma(noise),
          c(1.0 / noise),
          log_q(lane_log(rate)),
          log_rest(lane_log1p(-rate)) {}

    double w(double u) const noexcept { return u * c - 0.5 * c * c; }

    // log of the odds that u came from the sampled component.
    double logit(double u) const noexcept { return log_q - log_rest + w(u); }

    // Their probability q e^w / (1 - q + q e^w).
    double posterior(double u) const noexcept {
        const double v = logit(u);
        const double e = lane_exp(-std::fabs(v));
        return (v >= 0.0 ? 1.0 : e) / (1.0 + e);
    }

    // log mu/mu0 at u, to a few ulps of log (1-q): enough to decide, not to answer.
    double log_ratio(double u) const noexcept {
        const double v = logit(u);
        return log_rest + std::max(v, 0.0) + lane_log1p(lane_exp(-std::fabs(v)));
    }

    // Where both components weigh the same.
    double split() const noexcept { return 0.5 * c + sigma * (log_rest - log_q); }
};

}  // namespace renyi
