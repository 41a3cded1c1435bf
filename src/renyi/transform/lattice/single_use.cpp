#include "renyi/transform/lattice/single_use.hpp"

#include <algorithm>
#include <cmath>

#include "renyi/fp/double_double.hpp"
#include "renyi/transform/lattice/log_crossing.hpp"

namespace renyi::lattice {

namespace {

constexpr double kBeside = 0x1p-16;  // of a span: a cut as near to an end is met only after others
constexpr double kNextTo = 0x1p-12;  // relative to a loss; far more than a cut of a wide span may miss

// Cuts at equally spaced losses alone, unless they are as good as an end.
class At final : public Fineness {
public:
    At(double first, double last, int steps) noexcept
        : first_(first),
          step_(last > first ? (last - first) / steps : 1.0),
          steps_(last > first ? steps : 0),
          least_(8.0 * kUnitRoundoff * std::max(std::fabs(first), std::fabs(last))) {}

    double cut(double low, double high) const noexcept override {
        const double from = std::max(std::floor((low + least_ - first_) / step_) + 1.0, 0.0);
        const double to = std::min(std::ceil((high - least_ - first_) / step_) - 1.0, steps_);
        const double middle = first_ + step_ * std::floor(0.5 * (from + to));
        if (!(from <= to && low < middle && middle < high)) return kFine;
        return std::min(middle - low, high - middle) < kBeside * (high - low) ? kAnywhere : middle;
    }

private:
    double first_, step_, steps_, least_;
};

// A span above epsilon gives p (1 - e^(epsilon - mean)), from either side. Around epsilon it is bounded from below by
// its mean's value, and from above by what it gives from its lower end, and by the share of p at its higher end.
double of_span(const Span& span, double epsilon, Side side) noexcept {
    if (epsilon >= span.high) return 0.0;
    const auto from = [&](double start) { return start < span.mean ? span.p * -std::expm1(start - span.mean) : 0.0; };
    if (epsilon <= span.low || side == Side::lower) return from(epsilon);
    const double share = std::min(std::expm1(span.low - span.mean) / std::expm1(span.low - span.high), 1.0);
    return std::min(span.p * share * -std::expm1(epsilon - span.high), from(span.low));
}

// The bounds that spans give.
class SpanBounds {
public:
    SpanBounds(const Pair& pair, const Fineness& fineness) : spans_(pair.spans(Side::upper, fineness)) {}

    double bound(double epsilon, double drift, Side side) const {
        const bool is_upper = side == Side::upper;
        const double sign = is_upper ? 1.0 : -1.0;
        DoubleDouble sum{is_upper ? spans_.infinite.upper : spans_.infinite.lower, 0.0};
        for (const Span& span : spans_.spans) {
            // Where losses are wrong by e, the value lies between those at epsilon - e and epsilon + e.
            const double rounding = 2.0 * kUnitRoundoff * (std::fabs(epsilon) + std::fabs(span.mean));
            const double value = of_span(span, epsilon - sign * (span.loss_error + drift + rounding), side);
            if (value > 0.0) sum = sum + value * std::max(1.0 + sign * (span.mass_error + 16.0 * kUnitRoundoff), 0.0);
        }
        return std::clamp(sum.hi * (1.0 + sign * 4.0 * kUnitRoundoff), 0.0, 1.0);
    }

    Bracket epsilon(double delta, double drift, double start, double stride) const {
        const auto curve = [&](Side side) { return [=, this](double e) { return bound(e, drift, side); }; };
        return {log_crossing(curve(Side::lower), delta, start, stride, kClose).low,
                log_crossing(curve(Side::upper), delta, start, stride, kClose).high};
    }

private:
    static constexpr double kClose = 2.0 * kUnitRoundoff;

    Spans spans_;
};

}  // namespace

// A cut is only nearly met, and losses are only nearly right: what is below epsilon and may be above it must not have
// much mass, so that there is another cut next to it.
Bracket single_delta(const Pair& pair, double epsilon, double drift) {
    const SpanBounds spans(pair, At(epsilon - kNextTo * std::fabs(epsilon), epsilon, 1));
    return {spans.bound(epsilon, drift, Side::lower), spans.bound(epsilon, drift, Side::upper)};
}

// Spans cut around a bracket narrow it by a factor, and in the end to the square of its width.
Bracket single_epsilon(const Pair& pair, double delta, double drift) {
    constexpr int kTurns = 40, kCuts = 12;
    Bracket found = SpanBounds(pair, Coarse{}).epsilon(delta, drift, 0.0, 1.0);
    for (int turn = 0; turn < kTurns && found.upper - found.lower < kInfinity; ++turn) {
        const double width = found.upper - found.lower, middle = found.lower + 0.5 * width;
        if (!(width > 0.0)) break;
        const double reach = 0.5 * width + std::max(0.5 * width, kNextTo * std::fabs(middle));
        const SpanBounds spans(pair, At(middle - reach, middle + reach, kCuts));
        const Bracket next = spans.epsilon(delta, drift, middle, 0.25 * width);
        found = {std::max(found.lower, next.lower), std::min(found.upper, next.upper)};
        if (!(found.upper - found.lower < 0.5 * width)) break;
    }
    return found;
}

}  // namespace renyi::lattice
