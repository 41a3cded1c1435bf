#include "renyi/pair/exponential_loss.hpp"

#include "renyi/pair/division.hpp"

namespace renyi {

ExponentialLoss ExponentialLoss::bounded_range(double epsilon) noexcept {
    return ExponentialLoss(epsilon, -2.0 / lane_expm1(-epsilon), false);
}

// Over [a, b] the masses are mass/2 e^{(a - top)/2} (e^{(b-a)/2} - 1) and mass/2 e^{-(b + top)/2} (e^{(b-a)/2} - 1):
// the mean is (a + b)/2. An error of u top in top is one of u top in both exponents.
Spans ExponentialLoss::spans(Side, const Fineness& fineness) const {
    Spans found;
    found.unbounded_above = found.unbounded_below = false;
    const double top = top_, loss_error = 2.0 * kUnitRoundoff * top, mass_error = (16.0 + 4.0 * top) * kUnitRoundoff;
    if (atoms_) {
        const double rest = 0.5 * deep_exp(-top);
        found.spans.push_back({top, top, top, 0.5, rest, mass_error, loss_error});
        found.spans.push_back({-top, -top, -top, rest, 0.5, mass_error, loss_error});
    }
    const auto loss = [](double l) { return l; };
    divide({-top, top, -top, top}, loss, fineness, [&](const Part& part) {
        const double a = part.start, b = part.end;
        const double grown = 0.5 * mass_ * (b - a < 1400.0 ? std::expm1(0.5 * (b - a)) : kInfinity);
        const double p = b - a < 700.0 ? grown * deep_exp(0.5 * (a - top))
                                       : 0.5 * mass_ * (deep_exp(0.5 * (b - top)) - deep_exp(0.5 * (a - top)));
        const double q = b - a < 700.0 ? grown * deep_exp(-0.5 * (b + top))
                                       : 0.5 * mass_ * (deep_exp(-0.5 * (a + top)) - deep_exp(-0.5 * (b + top)));
        found.spans.push_back({a, 0.5 * (a + b), b, p, q, mass_error, loss_error});
    });
    return found;
}

}  // namespace renyi
