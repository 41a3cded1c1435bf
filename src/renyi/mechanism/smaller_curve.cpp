#include "renyi/mechanism/smaller_curve.hpp"

namespace renyi {

namespace {

// evaluate(curve) where both are finite; upper_of its upper end.
template <class Evaluate, class Upper>
auto smaller(const RenyiCurve& a, const RenyiCurve& b, double alpha, Evaluate evaluate, Upper upper_of) noexcept {
    if (alpha > a.largest_order()) return evaluate(b);
    if (alpha > b.largest_order()) return evaluate(a);
    const auto first = evaluate(a), second = evaluate(b);
    return upper_of(first) <= upper_of(second) ? first : second;
}

}  // namespace

LogMoment SmallerCurve::log_moment(double alpha) const noexcept {
    const auto evaluate = [&](const RenyiCurve& curve) { return curve.log_moment(alpha); };
    if (alpha == 1.0) return smaller(*first_, *second_, alpha, evaluate, [](const LogMoment& m) { return m.first; });
    return smaller(*first_, *second_, alpha, evaluate, [](const LogMoment& m) { return upper(m.value); });
}

Certified SmallerCurve::divergence(double alpha) const noexcept {
    return smaller(
        *first_, *second_, alpha, [&](const RenyiCurve& curve) { return curve.divergence(alpha); },
        [](Certified c) { return upper(c); });
}

}  // namespace renyi
