// A contour serves its neighbourhood, and counts that share its nodes. Stored points of the curve are compared in Python.
#include "renyi/curve/privacy_curve.hpp"

#include "check.hpp"

using namespace renyi;

namespace {

// Placed elsewhere it is wider, not wrong.
void serves_its_neighbourhood() {
    const SampledStep steps[] = {{0.01, 1.0, 10000}};
    Contour contour(steps, {}, Direction::remove, kPlainEffort), there(steps, {}, Direction::remove, kPlainEffort);
    CHECK(contour.place_for_epsilon(6.0));
    CHECK(there.place_for_epsilon(6.5));
    const Bracket near = contour.delta(6.5), exact = there.delta(6.5);
    CHECK_THAT(near.lower, <=, exact.upper);
    CHECK_THAT(near.upper, >=, exact.lower);
}

void counts_share_nodes() {
    const SampledStep steps[] = {{0.01, 1.0, 10000}}, one[] = {{0.01, 1.0, 1.0}};
    const double times[] = {9000.0, 9500.0, 10000.0}, delta = 1e-5;
    Bracket after[3], whole;
    curve_epsilon_after({}, one, SampledPair::remove, times, delta, after);
    PrivacyCurve curve(steps, SampledPair::remove);
    curve.epsilon({&delta, 1}, {}, &whole);
    CHECK_THAT(after[2].lower, <=, whole.upper);
    CHECK_THAT(after[2].upper, >=, whole.lower);
    CHECK_THAT(curve.rough_delta(whole.upper), >=, delta * (1.0 - 1e-9));
}

}  // namespace

int main() {
    serves_its_neighbourhood();
    counts_share_nodes();
    return check::finish();
}
