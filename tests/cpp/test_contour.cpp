// The exact privacy curve against stored points (tests/reference/make_curve.py): brackets contain them and are narrow,
// epsilon is the inverse, contours serve their neighbourhood, and routes agree.
#include <cmath>
#include <vector>

#include "check.hpp"
#include "renyi/curve/privacy_curve.hpp"
#include "renyi/transform/split_sum.hpp"

using namespace renyi;

namespace {

struct Point {
    double q, sigma, count;
    SampledPair pair;
    double epsilon, delta;
};

constexpr Point kPoints[] = {
    {0.14971816989636708, 8.20139118866965, 490, SampledPair::remove, 3.147473450902201, 2.8233497399168727e-15},
    {0.03930811686000183, 1.1720924263424595, 191921, SampledPair::add, 500.08521406421596, 1.9819708063723024e-107},
    {0.3587436453330276, 0.8920057935938366, 50, SampledPair::add, 14.058599909974065, 1.3890278352079268e-09},
    {0.011694493622119072, 4.1607084628037425, 317651, SampledPair::remove, 39.18842836273022, 3.465700460684143e-123},
    {0.15677930204276447, 9.832384099162898, 50, SampledPair::add, 2.8191528716404055, 2.552021272652416e-198},
    {0.2557446307016473, 0.8981364952001912, 12394, SampledPair::add, 1075.720724477043, 1.567150446702774e-98},
    {0.0007778233317526659, 7.8846992954939035, 4014, SampledPair::add, 0.05093905160668749, 1.0345568424575371e-19},
    {0.002017516954914651, 2.125190885854647, 15268, SampledPair::add, 3.4425676242717036, 7.007680178127832e-194},
    {0.18784904290590534, 2.2856625868920024, 873422, SampledPair::add, 3722.96381264658, 3.0720402228092113e-19},
    {0.043997006225445355, 1.3954815539871936, 1701, SampledPair::remove, 10.673460822443795, 1.373719506152295e-10},
    {0.01, 50.0, 1000, SampledPair::add, 0.02, 1.3449626162140513e-06},
};

void stored_points() {
    for (const Point& p : kPoints) {
        const SampledStep steps[] = {{p.q, p.sigma, p.count}};
        Bracket answer;
        PrivacyCurve(steps, p.pair).delta({&p.epsilon, 1}, {}, &answer);
        CHECK_THAT(answer.lower, <=, p.delta * (1.0 + 0x1p-52));
        CHECK_THAT(answer.upper, >=, p.delta * (1.0 - 0x1p-52));
        CHECK_THAT(answer.upper - answer.lower, <=, 1e-10 * p.delta);
        PrivacyCurve(steps, p.pair).epsilon({&p.delta, 1}, {}, &answer);
        CHECK_THAT(answer.lower, <=, p.epsilon * (1.0 + 1e-15));
        CHECK_THAT(answer.upper, >=, p.epsilon * (1.0 - 1e-15));
    }
}

// A contour placed elsewhere is wider, not wrong; neither is one that shares its nodes between counts.
void reuse() {
    const SampledStep steps[] = {{0.01, 1.0, 10000}};
    Contour contour(steps, {}, Direction::remove, kPlainEffort);
    CHECK(contour.place_for_epsilon(6.0));
    Contour there(steps, {}, Direction::remove, kPlainEffort);
    CHECK(there.place_for_epsilon(6.5));
    const Bracket near = contour.delta(6.5), exact = there.delta(6.5);
    CHECK_THAT(near.lower, <=, exact.upper);
    CHECK_THAT(near.upper, >=, exact.lower);

    const SampledStep one[] = {{0.01, 1.0, 1.0}};
    const double times[] = {9000.0, 9500.0, 10000.0}, delta = 1e-5;
    Bracket after[3], whole;
    curve_epsilon_after({}, one, SampledPair::remove, times, delta, after);
    PrivacyCurve(steps, SampledPair::remove).epsilon({&delta, 1}, {}, &whole);
    CHECK_THAT(after[2].lower, <=, whole.upper);
    CHECK_THAT(after[2].upper, >=, whole.lower);
}

void routes_agree() {
    const SampledStep steps[] = {{0.05, 2.0, 40}};
    for (const double epsilon : {0.1, 0.5, 1.5}) {
        Bracket line;
        PrivacyCurve(steps, SampledPair::remove).delta({&epsilon, 1}, {}, &line);
        SplitSum split(steps, SampledPair::remove);
        CHECK(split.place(epsilon, -30.0));
        const Bracket sum = split.delta(epsilon);
        CHECK_THAT(sum.lower, <=, line.upper);
        CHECK_THAT(sum.upper, >=, line.lower);
        CHECK_THAT(sum.upper - sum.lower, <=, 1e-10 * sum.upper);
        CHECK_THAT(PrivacyCurve(steps, SampledPair::remove).rough_delta(epsilon), >=, line.lower);
    }
}

void order_does_not_matter() {
    const SampledStep forward[] = {{0.01, 1.0, 10}, {0.02, 1.5, 100}, {1.0, 30.0, 5}, {0.01, 1.0, 40}};
    const SampledStep backward[] = {{0.01, 1.0, 40}, {1.0, 30.0, 5}, {0.02, 1.5, 100}, {0.01, 1.0, 10}};
    const double epsilon = 1.0;
    Bracket a, b;
    PrivacyCurve(forward, SampledPair::add).delta({&epsilon, 1}, {}, &a);
    PrivacyCurve(backward, SampledPair::add).delta({&epsilon, 1}, {}, &b);
    CHECK(a.upper == b.upper);
    CHECK(a.lower == b.lower);
}

void edges() {
    const SampledStep steps[] = {{0.01, 1.0, 100}};
    const double beyond = 1.01;  // 100 log(1/0.99) = 1.005
    Bracket answer;
    PrivacyCurve(steps, SampledPair::add).delta({&beyond, 1}, {}, &answer);
    CHECK(answer.upper == 0.0);
    const SampledStep nothing[] = {{0.0, 1.0, 5}, {0.5, kInfinity, 5}};
    PrivacyCurve(nothing, SampledPair::remove).delta({&beyond, 1}, {}, &answer);
    CHECK(answer.upper == 0.0);
}

}  // namespace

int main() {
    stored_points();
    reuse();
    routes_agree();
    order_does_not_matter();
    edges();
    return check::finish();
}
