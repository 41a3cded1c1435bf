#include "renyi/pair/sampled.hpp"

#include <algorithm>
#include <cmath>

#include "renyi/pair/division.hpp"

namespace renyi {

namespace {

class Moved final : public Fineness {
public:
    Moved(const Fineness& base, double rate) : base_(base), rate_(rate) {}
    double cut(double low, double high) const noexcept override {
        const double found = base_.cut(sampled_loss(rate_, low), sampled_loss(rate_, high));
        return std::isfinite(found) ? unsampled(found) : found;
    }
    bool joins_atoms() const noexcept override { return base_.joins_atoms(); }

private:
    // The loss that is moved there, about.
    double unsampled(double loss) const noexcept {
        if (loss > 700.0) return loss - std::log(rate_);
        return std::log1p(std::expm1(loss) / rate_);
    }

    const Fineness& base_;
    double rate_;
};

// Both masses move with the loss, and p'/q' = 1 + s (e^mean - 1). The slope is largest at the upper end.
Span moved(const Span& s, double rate) noexcept {
    const double low = sampled_loss(rate, s.low), mean = sampled_loss(rate, s.mean);
    const double high = sampled_loss(rate, s.high);
    const double slope = std::min(rate * lane_exp(std::min(s.high - high, -std::log(rate))), 1.0);
    const double loss_error = slope * s.loss_error + 8.0 * kUnitRoundoff * std::max(std::fabs(low), std::fabs(high));
    return {low, mean, high, (1.0 - rate) * s.q + rate * s.p, s.q, s.mass_error + 4.0 * kUnitRoundoff, loss_error};
}

}  // namespace

double sampled_loss(double rate, double loss) noexcept {
    if (rate == 1.0) return loss;
    if (loss > 700.0) return loss + lane_log(rate + (1.0 - rate) * lane_exp(-loss));
    if (loss < -700.0) return lane_log1p(-rate);
    return log_of(reduce_log((1.0 - rate) + rate * lane_exp(loss), rate * lane_expm1(loss)));
}

Spans PoissonSampledPair::spans(Side side, const Fineness& fineness) const {
    if (rate_ == 1.0) return base_->spans(side, fineness);
    Spans found;
    if (rate_ == 0.0) {
        found.spans.push_back({0.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0});
        found.unbounded_above = found.unbounded_below = false;
        return found;
    }
    found = base_->spans(side, Moved(fineness, rate_));
    for (Span& s : found.spans) s = moved(s, rate_);
    const double null = found.null.upper, least = lane_log1p(-rate_);
    if (null > 0.0) {  // where the record is not, with what it would have ruled out
        const double spread = (null - found.null.lower) / null;
        found.spans.push_back({least, least, least, (1.0 - rate_) * null, null, spread + 4.0 * kUnitRoundoff,
                               4.0 * kUnitRoundoff * std::fabs(least)});
    }
    found.null = {0.0, 0.0};
    found.unbounded_below = false;
    found.infinite = {rate_ * found.infinite.lower * (1.0 - 2.0 * kUnitRoundoff),
                      std::min(rate_ * found.infinite.upper * (1.0 + 2.0 * kUnitRoundoff) +
                                   (found.infinite.upper > 0.0 ? kNegligible : 0.0),
                               1.0)};
    return found;
}

}  // namespace renyi
