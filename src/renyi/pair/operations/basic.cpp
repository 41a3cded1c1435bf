#include "renyi/pair/operations/operations.hpp"

#include <algorithm>

#include "renyi/special/elementary.hpp"

namespace renyi {

namespace {

// The span of the Poisson sample: p'/q' = 1 + s (e^mean - 1). The slope of the loss is largest at the upper end.
Span moved(const Span& s, double rate) noexcept {
    const double low = sampled_loss(rate, s.low), mean = sampled_loss(rate, s.mean);
    const double high = sampled_loss(rate, s.high);
    const double slope = std::min(rate * lane_exp(std::min(s.high - high, -std::log(rate))), 1.0);
    const double loss_error = slope * s.loss_error + 8.0 * kUnitRoundoff * std::max(std::fabs(low), std::fabs(high));
    return {low, mean, high, (1.0 - rate) * s.q + rate * s.p, s.q, s.mass_error + 4.0 * kUnitRoundoff, loss_error};
}

void add_scaled(Bracket& sum, double weight, const Bracket& mass) noexcept {
    sum.lower += weight * mass.lower * (1.0 - 4.0 * kUnitRoundoff);
    sum.upper += weight * mass.upper * (1.0 + 4.0 * kUnitRoundoff);
}

}  // namespace

// The reverse keeps domination: if a profile H is nowhere below another, then E H(1/E) is nowhere below its reverse.
Spans ReversedPair::spans(Side side, const Fineness& fineness) const {
    Spans found = base_->spans(side, mirrored(fineness));
    for (Span& s : found.spans) s = reversed(s);
    std::swap(found.infinite, found.null);
    std::swap(found.unbounded_above, found.unbounded_below);
    return found;
}

PairPointer ReversedPair::side(Side side) const {
    return two_sided() ? base_->side(side)->reverse() : shared_from_this();
}

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
    const auto moved_cut = [&](double low, double high) {
        const double cut = fineness.cut(sampled_loss(rate_, low), sampled_loss(rate_, high));
        if (!std::isfinite(cut)) return cut;
        return cut > 700.0 ? cut - std::log(rate_) : std::log1p(std::expm1(cut) / rate_);  // about the inverse
    };
    found = base_->spans(side, CutBy(moved_cut, fineness.joins_atoms()));
    for (Span& s : found.spans) s = moved(s, rate_);
    const double null = found.null.upper, least = lane_log1p(-rate_);
    if (null > 0.0) {  // Q-mass where P vanishes: the loss of the sample there is log(1 - s)
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

// The sample of one side may be of a class with a moment of its own.
CurvePointer PoissonSampledPair::moment(Direction direction) const {
    if (rate_ == 0.0) return std::make_shared<const LinearCurve>(0.0);
    if (rate_ == 1.0) return base_->moment(direction);
    return two_sided() ? side(Side::upper)->moment(direction) : Pair::moment(direction);
}

PairPointer PoissonSampledPair::side(Side side) const {
    return two_sided() ? base_->side(side)->sampled(rate_) : shared_from_this();
}

namespace {

template <class Change>
PairPointer of_each(const std::vector<WeightedPair>& parts, const Change& change) {
    std::vector<WeightedPair> changed;
    for (const WeightedPair& part : parts) changed.push_back({part.weight, change(*part.pair)});
    return mixed_pair(std::move(changed));
}

class MixedPair final : public Pair {
public:
    explicit MixedPair(std::vector<WeightedPair> parts) : parts_(std::move(parts)) {}

    Spans spans(Side side, const Fineness& fineness) const override {
        Spans all;
        all.unbounded_above = all.unbounded_below = false;
        double rest = 1.0;
        for (const WeightedPair& part : parts_) {
            rest -= part.weight;
            if (part.weight == 0.0) continue;
            Spans found = part.pair->spans(side, fineness);
            for (Span& s : found.spans) {
                s.p *= part.weight;
                s.q *= part.weight;
                s.mass_error += kUnitRoundoff;
            }
            all.spans.insert(all.spans.end(), found.spans.begin(), found.spans.end());
            all.unbounded_above |= found.unbounded_above;
            all.unbounded_below |= found.unbounded_below;
            add_scaled(all.infinite, part.weight, found.infinite);
            add_scaled(all.null, part.weight, found.null);
        }
        const double terms = static_cast<double>(parts_.size());
        for (Bracket* mass : {&all.infinite, &all.null}) {
            mass->lower *= 1.0 - terms * kUnitRoundoff;
            mass->upper = std::min(mass->upper * (1.0 + terms * kUnitRoundoff), 1.0);
        }
        // The rest has an absolute error of terms u. Mass at loss 0 adds nothing to H above E = 1.
        if (rest > 0.0)
            all.spans.push_back({0.0, 0.0, 0.0, rest, rest, std::min(terms * kUnitRoundoff / rest, 1.0), 0.0});
        return all;
    }
    CurvePointer moment(Direction direction) const override {
        std::vector<WeightedPart> curves;
        for (const WeightedPair& part : parts_) {
            if (part.weight == 0.0) continue;
            curves.push_back({part.weight, part.pair->moment(direction)});
            if (!curves.back().curve) return nullptr;
        }
        return labelled_mixture(std::move(curves));
    }
    bool two_sided() const noexcept override {
        return std::any_of(parts_.begin(), parts_.end(), [](const WeightedPair& p) { return p.pair->two_sided(); });
    }
    PairPointer side(Side side) const override {
        if (!two_sided()) return shared_from_this();
        return of_each(parts_, [side](const Pair& part) { return part.side(side); });
    }
    bool symmetric() const noexcept override {
        return std::all_of(parts_.begin(), parts_.end(), [](const WeightedPair& p) { return p.pair->symmetric(); });
    }
    PairPointer reverse() const override {
        if (symmetric()) return shared_from_this();
        return of_each(parts_, [](const Pair& part) { return part.reverse(); });
    }
    PairPointer sampled(double rate) const override {
        return of_each(parts_, [rate](const Pair& part) { return part.sampled(rate); });
    }

private:
    std::vector<WeightedPair> parts_;
};

}  // namespace

PairPointer mixed_pair(std::vector<WeightedPair> parts) { return std::make_shared<const MixedPair>(std::move(parts)); }

}  // namespace renyi
