// A contour serves its neighbourhood, and counts that share its nodes. One epoch of random allocation: the other
// direction, other lines, and the atoms beside. Stored points and quadratures are compared in Python.
#include <cmath>

#include "check.hpp"
#include "renyi/curve/allocation_curve.hpp"
#include "renyi/curve/privacy_curve.hpp"

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

// E[(S - x)_+] = E[(x - S)_+] - x, also far from 0, where one of them is next to nothing.
void directions_agree(double sigma, double batches, double x) {
    AllocationCurve one(sigma, batches, 1.0), other(sigma, batches, 1.0);
    const SplitSum::Value a = one.excess(x, false, 1e-10, 0.0), b = other.excess(-x, true, 1e-10, 0.0);
    const double rounding = 1e-13 * std::fabs(x);
    CHECK(a.lower <= b.upper - x + rounding);
    CHECK(b.lower - x <= a.upper + rounding);
}

void epsilon_is_where_delta_is(double sigma, double batches, double delta) {
    AllocationCurve curve(sigma, batches, 1.0), fresh(sigma, batches, 1.0);
    for (const Direction direction : {Direction::remove, Direction::add}) {
        const Bracket epsilon = curve.epsilon(delta, direction);
        CHECK(epsilon.lower <= epsilon.upper);
        CHECK(is_narrow(epsilon, 1e-8));
        CHECK(fresh.delta(epsilon.upper, direction).lower <= delta);
        CHECK(fresh.delta(epsilon.lower, direction).upper >= delta);
    }
}

// delta of atoms: the sum of (p - e^eps q)_+.
double delta_of(const Spans& spans, double epsilon, double infinite) {
    double sum = infinite;
    for (const Span& s : spans.spans) sum += std::fmax(s.p - std::exp(epsilon) * s.q, 0.0);
    return sum;
}

void atoms_lie_on_both_sides(double sigma, double batches) {
    const AllocationPair pair(sigma, batches);
    const Coarse coarse;
    const Spans above = pair.spans(Side::upper, coarse), below = pair.spans(Side::lower, coarse);
    AllocationCurve curve(sigma, batches, 1.0);
    for (const double epsilon : {0.0, 0.0317, 0.1, 0.25, 0.5, 1.0}) {
        const Bracket known = curve.delta(epsilon, Direction::remove);
        CHECK(delta_of(above, epsilon, above.infinite.upper) >= known.lower * (1.0 - 1e-12));
        CHECK(delta_of(below, epsilon, 0.0) <= known.upper * (1.0 + 1e-12));
        const double apart = delta_of(above, epsilon, above.infinite.upper) - delta_of(below, epsilon, 0.0);
        CHECK(apart <= 1e-4 * known.upper + 1e-14);
    }
}

}  // namespace

int main() {
    serves_its_neighbourhood();
    counts_share_nodes();
    for (const double x : {-90.0, -3.0, 0.0, 5.0, 638.0, 40000.0}) directions_agree(1.0, 100.0, x);
    for (const double x : {-4.0, 1.0, 1e6}) directions_agree(0.5, 5.0, x);
    for (const double x : {0.3, 1.0, 1.9}) directions_agree(100.0, 1000.0, x);  // much noise: no ratio is large
    epsilon_is_where_delta_is(100.0, 1000.0, 1e-6);
    for (const double delta : {1e-3, 1e-6, 1e-12}) epsilon_is_where_delta_is(1.0, 100.0, delta);
    epsilon_is_where_delta_is(1.0, 1e6, 1e-6);
    epsilon_is_where_delta_is(10.0, 1000.0, 1e-6);
    atoms_lie_on_both_sides(1.0, 100.0);
    atoms_lie_on_both_sides(0.5, 20.0);
    atoms_lie_on_both_sides(2.0, 1000.0);
    // Beyond the largest loss of `add` at rate 1/2, log 2, there is nothing.
    CHECK(AllocationCurve(1.0, 10.0, 0.5).delta(0.6932, Direction::add).upper == 0.0);
    CHECK(AllocationCurve(1.0, 1e6, 1.0).delta(0.05, Direction::add).upper > 0.0);
    return check::finish();
}
