#include "renyi/transform/single_use.hpp"

#include <algorithm>
#include <cmath>

#include "renyi/fp/double_double.hpp"
#include "renyi/transform/log_crossing.hpp"

namespace renyi {

namespace {

// Cuts at epsilon alone, unless it is as good as an end.
class At final : public Fineness {
public:
    explicit At(double epsilon) noexcept : epsilon_(epsilon), least_(8.0 * kUnitRoundoff * std::fabs(epsilon)) {}
    double cut(double low, double high) const noexcept override {
        return low + least_ < epsilon_ && epsilon_ < high - least_ ? epsilon_ : kFine;
    }

private:
    double epsilon_, least_;
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

double bound(const Pair& pair, double epsilon, double drift, Side side) {
    const double sign = side == Side::upper ? 1.0 : -1.0;
    const Spans found = pair.spans(side, At(epsilon));
    DoubleDouble sum{side == Side::upper ? found.infinite.upper : found.infinite.lower, 0.0};
    for (const Span& span : found.spans) {
        // Where losses are wrong by e, the value lies between those at epsilon - e and epsilon + e.
        const double moved = span.loss_error + drift + 2.0 * kUnitRoundoff * (std::fabs(epsilon) + std::fabs(span.mean));
        const double value = of_span(span, epsilon - sign * moved, side);
        if (value > 0.0) sum = sum + value * std::max(1.0 + sign * (span.mass_error + 16.0 * kUnitRoundoff), 0.0);
    }
    const double value = sum.hi * (1.0 + sign * 4.0 * kUnitRoundoff);
    return std::clamp(value, 0.0, 1.0);
}

}  // namespace

Bracket single_delta(const Pair& pair, double epsilon, double drift) {
    return {bound(pair, epsilon, drift, Side::lower), bound(pair, epsilon, drift, Side::upper)};
}

Bracket single_epsilon(const Pair& pair, double delta, double drift) {
    const auto curve = [&](Side side) {
        return [&pair, drift, side](double epsilon) { return bound(pair, epsilon, drift, side); };
    };
    return {log_crossing(curve(Side::lower), delta, 0.0, 1.0).low,
            log_crossing(curve(Side::upper), delta, 0.0, 1.0).high};
}

}  // namespace renyi
