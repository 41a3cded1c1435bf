#include "renyi/transform/moment.hpp"

#include <algorithm>
#include <cmath>

#include "renyi/pair/division.hpp"

namespace renyi {

namespace {

constexpr double kNarrow = 1e-3;    // relative to losses and distances from the largest
constexpr double kKnown = 0x1p-20;  // relative error of a mass
constexpr double kRough = 64.0;     // parts of the range from which the spread is read

class PartsOfRange final : public Fineness {
public:
    explicit PartsOfRange(double width) : width_(width) {}
    double cut(double low, double high) const noexcept override { return high - low <= width_ ? kFine : kAnywhere; }

private:
    double width_;
};

class NarrowSpans final : public Fineness {
public:
    NarrowSpans(double spread, double largest) : spread_(spread), largest_(largest) {}
    double cut(double low, double high) const noexcept override {
        const double size = std::max({std::fabs(low), std::fabs(high), spread_});
        const double away = std::max(largest_ - low, 1e-8 * spread_);
        return high - low <= kNarrow * std::min(size, away) ? kFine : kAnywhere;
    }

private:
    double spread_, largest_;
};

struct Extent {
    double lowest = kInfinity, largest = -kInfinity, spread = 0.0;
};

Extent extent_of(const Spans& spans) noexcept {
    Extent extent;
    double square = 0.0, divergence = 0.0;
    for (const Span& s : spans.spans) {
        if (s.p == 0.0 && s.q == 0.0) continue;
        extent.lowest = std::min(extent.lowest, s.low);
        if (s.p > 0.0) extent.largest = std::max(extent.largest, s.high);
        const double loss = std::max(std::fabs(s.low), std::fabs(s.high));
        square += std::min(s.p, s.q) * loss * loss;
        divergence += divergence_term({s.mean, s.p, s.q});
    }
    // A - 1 >= (alpha - 1) KL, and small losses move it by (alpha - 1) sum |p - q| e <= 2 (alpha - 1) KL^(1/2) e.
    extent.spread = std::max(std::sqrt(square), std::sqrt(std::min(divergence, 1.0)));
    return extent;
}

}  // namespace

// Masses add up to 1 but for what underflows, so that A - 1 is the sum of q (e^{alpha l} - 1 - alpha (e^l - 1)) over
// all outcomes, those of Q alone among them.
PairMoment::PairMoment(const Pair& pair) {
    const Extent whole = extent_of(pair.spans(Side::upper, Coarse{}));
    const Extent rough = extent_of(pair.spans(Side::upper, PartsOfRange((whole.largest - whole.lowest) / kRough)));
    const Spans found = pair.spans(Side::upper, NarrowSpans(rough.spread, whole.largest));
    bounded_ = !found.unbounded_above && found.infinite.upper <= 4.0 * kNegligible;
    if (!bounded_) return;
    for (Span s : found.spans) {
        if (s.p == 0.0 && s.q == 0.0) continue;
        if (s.mass_error > kKnown) {  // next to nothing: as much as it may be
            s.p *= 1.0 + s.mass_error;
            s.q *= 1.0 + s.mass_error;
            s.mass_error = 0.0;
        }
        error_ = std::max(error_, s.mass_error);
        loss_error_ = std::max(loss_error_, s.loss_error);
        small_loss_error_ = std::max(small_loss_error_, s.loss_error / std::max(std::fabs(s.mean), rough.spread));
        if (s.low == s.high) {
            nodes_.add({s.mean, s.p, s.q});
            continue;
        }
        const double raised = std::min(lane_expm1(s.low - s.mean) / lane_expm1(s.low - s.high), 1.0);
        const double high = s.p * raised, low = s.p - high;
        if (high > 0.0) nodes_.add({s.high, high, high * deep_exp(-s.high)});
        if (low > 0.0) nodes_.add({s.low, low, low * deep_exp(-s.low)});
    }
    if (found.null.upper > 0.0) nodes_.add({-kInfinity, 0.0, found.null.upper});
}

LogMoment PairMoment::log_moment(double alpha) const noexcept {
    if (!bounded_) return {{0.0, 0.0}, kInfinity, 0.0};
    const Tilt tilt(alpha, nodes_.largest_loss());
    // A loss moved by e moves e^{alpha l} by alpha e of itself, and small ones their squares by 2 e |l|, together
    // 2 e/spread of the sum.
    const double moved = 2.0 * (alpha * loss_error_ + small_loss_error_);
    return logarithm_of(nodes_.sums(tilt, 0, nodes_.blocks()), tilt, error_ + moved, nodes_.size());
}

Certified PairMoment::divergence(double alpha) const noexcept {
    if (!bounded_) return {kInfinity, 0.0};
    if (alpha > 1.0) return RenyiCurve::divergence(alpha);
    return divergence_of(nodes_.divergence(nodes_.blocks()), nodes_.largest_loss(),
                         error_ + 2.0 * (loss_error_ + small_loss_error_), nodes_.size());
}

double PairMoment::largest_loss() const noexcept {
    return bounded_ ? (nodes_.largest_loss() + loss_error_) * (1.0 + 8.0 * kUnitRoundoff) : kInfinity;
}

}  // namespace renyi
