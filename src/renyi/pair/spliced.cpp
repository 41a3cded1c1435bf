// Losses are moved up by their errors first: a larger loss of the same P-mass is an upper bound. A span across 0 is
// spread to its ends, the lower of which is then not above 0; so is an atom that may lie there, far enough for its
// share above 0 to be small.
#include "renyi/pair/spliced.hpp"

#include <algorithm>
#include <cmath>
#include <memory>

#include "renyi/fp/double_double.hpp"
#include "renyi/pair/division.hpp"
#include "renyi/pair/sampled.hpp"

namespace renyi {

namespace {

constexpr double kOnEdge = 1e-9;  // of a span: so much of it may lie beyond 0
constexpr double kFarEnough = 0x1p-30;

// Divides losses above 0 both where they and where their mirror images are to be divided.
class BothWays final : public Fineness {
public:
    explicit BothWays(const Fineness& base) : base_(base) {}
    double cut(double low, double high) const noexcept override {
        const double edge = kOnEdge * (high - low);
        if (high <= edge) return kFine;
        if (low < -edge) return 0.0;
        const double found = base_.cut(low, high);
        if (found != kFine) return found;
        const double mirrored = base_.cut(-high, -low);
        return std::isfinite(mirrored) ? -mirrored : mirrored;
    }
    bool joins_atoms() const noexcept override { return base_.joins_atoms(); }

private:
    const Fineness& base_;
};

// The part above 0; no mass where there is none.
Span above_zero(Span s) noexcept {
    const double error = s.loss_error + 2.0 * kUnitRoundoff * std::max(std::fabs(s.low), std::fabs(s.high));
    if (s.high <= error) {  // what is above 0 is so by twice the error at most: it counts at 0
        s.p = 0.0;
        s.loss_error = 2.0 * error;
        return s;
    }
    const bool doubtful = s.low == s.high && std::fabs(s.low) <= error && error > 0.0;
    s.low = doubtful ? 0.0 : s.low + error;
    s.mean += error;
    s.high = doubtful ? std::max(s.mean, kFarEnough) : s.high + error;
    if (s.low <= 0.0 && s.high > 0.0) {
        // The share (1 - e^{low-mean})/(1 - e^{low-high}), right to 16u.
        const double width = -lane_expm1(s.low - s.high);
        const double share = width > 0.0 ? std::min(-lane_expm1(s.low - s.mean) / width, 1.0) : 1.0;
        s.p *= share;
        s.low = s.mean = s.high;
        s.mass_error += 16.0 * kUnitRoundoff;
    }
    s.q = s.p * deep_exp(-s.mean);
    s.mass_error += (8.0 + 2.0 * std::fabs(s.mean)) * kUnitRoundoff;
    s.loss_error = error;
    return s;
}

}  // namespace

SplicedPair::SplicedPair(PairPointer base, double rate)
    : sampled_(std::make_shared<const PoissonSampledPair>(std::move(base), rate)) {}

Spans SplicedPair::spans(Side, const Fineness& fineness) const {
    const Spans all = sampled_->spans(Side::upper, BothWays(fineness));
    Spans found;
    found.infinite = found.null = all.infinite;
    found.unbounded_above = found.unbounded_below = all.unbounded_above;
    DoubleDouble taken{all.infinite.upper, 0.0};
    double error = 0.0, moved = 0.0;
    for (const Span& span : all.spans) {
        const Span s = above_zero(span);
        if (s.p == 0.0) {
            if (span.p > 0.0 && span.high > -s.loss_error) moved = std::max(moved, s.loss_error);
            continue;
        }
        found.spans.push_back(s);
        found.spans.push_back({-s.high, -s.mean, -s.low, s.q, s.p, s.mass_error, s.loss_error});
        taken = taken + s.p + s.q;
        error += (s.p + s.q) * s.mass_error;
    }
    // Too much at 0 is harmless.
    error += 4.0 * kUnitRoundoff + (all.infinite.upper - all.infinite.lower);
    const double rest = std::max(1.0 - taken.hi, 0.0) + error;
    found.spans.push_back({0.0, 0.0, 0.0, rest, rest, std::min(2.0 * error / rest, 1.0), moved});
    return found;
}

}  // namespace renyi
