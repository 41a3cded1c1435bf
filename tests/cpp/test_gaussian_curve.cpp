// The privacy curves of the Gaussian mechanism and of one sampled step: roots on both sides of delta and the ends of
// the domain. Containment of exact values is tested in Python.
#include <cmath>
#include <initializer_list>
#include <limits>
#include <random>

#include "check.hpp"
#include "renyi/curve/closed_curve.hpp"

using namespace renyi;

namespace {

double ulps(Bracket b) {
    int steps = 0;
    for (double x = b.lower; x < b.upper && steps < 100; x = std::nextafter(x, kInfinity)) ++steps;
    return steps;
}

// The curve at both ends of a bracket lies on both sides of delta: all that a root has to satisfy.
void epsilon_of_one_step() {
    std::mt19937_64 generator(3);
    std::uniform_real_distribution<double> uniform(0.0, 1.0);
    for (int i = 0; i < 2000; ++i) {
        const double q = std::pow(10.0, -8.0 * uniform(generator)),
                     sigma = std::pow(10.0, 3.0 * uniform(generator) - 1.0);
        const double delta = i % 2 == 0 ? std::pow(10.0, -300.0 * uniform(generator)) : uniform(generator);
        for (const Direction direction : {Direction::remove, Direction::add}) {
            const SingleStep step{q, sigma, direction};
            const Bracket b = single_step_epsilon(step, delta);
            CHECK(b.lower <= b.upper && std::isfinite(b.lower) && std::isfinite(b.upper));
            CHECK_THAT(single_step_delta_bounds(step, b.lower).upper, >=, delta);
            CHECK_THAT(single_step_delta_bounds(step, b.upper).lower, <=, delta);
            // For `add` and a tiny delta the root sits next to the end of the losses.
            if (direction == Direction::remove || delta > 1e-10) CHECK_THAT(ulps(b), <=, 8.0);
            CHECK_THAT(b.upper - b.lower, <=, 1e-9 * std::fabs(b.upper));
        }
    }
}

void edges() {
    constexpr double kTiny = std::numeric_limits<double>::denorm_min();
    CHECK_THAT(gaussian_delta(0.0, 0.0).value, ==, 0.0);
    CHECK_THAT(gaussian_delta(0.0, 1.0).relative_error, ==, 0.0);
    CHECK_THAT(gaussian_delta(kInfinity, 1.0).value, ==, 1.0);
    CHECK_THAT(gaussian_delta(1.0, kInfinity).value, ==, 0.0);
    CHECK_THAT(gaussian_delta(1.0, -kInfinity).value, ==, 1.0);
    for (const double mu : {kTiny, 1e-300, 1e-30, 1.0, 1e30, 1e300})
        for (const double eps : {-1e308, -1.0, -kTiny, 0.0, kTiny, 1e-300, 1.0, 1e30, 1e308}) {
            const Bracket b = gaussian_delta_bounds(mu, eps);
            CHECK(b.lower <= b.upper && b.lower >= 0.0 && b.upper <= 1.0);
            for (const double delta : {kTiny, 1e-300, 1e-5, 0.5, 1.0 - 0x1p-53}) {
                const Bracket e = gaussian_epsilon(mu, delta);
                CHECK(e.lower <= e.upper);
                const Bracket m = gaussian_mu(eps, delta);
                CHECK(std::isnan(m.lower) ? eps < 0.0 : m.lower <= m.upper);
            }
        }
    // Underflow: nothing but the smallest normal double is claimed.
    CHECK_THAT(gaussian_delta_bounds(1.0, 50.0).lower, ==, 0.0);
    CHECK_THAT(gaussian_delta_bounds(1.0, 50.0).upper, ==, kSmallestNormal);
    CHECK_THAT(gaussian_delta(1.0, 50.0).relative_error, ==, 1.0);

    for (const double mu : {-1.0, -kTiny, -kInfinity, kNaN}) {
        CHECK(std::isnan(gaussian_delta(mu, 1.0).value));
        CHECK(std::isnan(gaussian_epsilon(mu, 0.5).upper));
        CHECK(std::isnan(gaussian_tradeoff(mu, 0.5).value));
    }
    for (const double delta : {-kTiny, 1.1, kNaN}) {
        CHECK(std::isnan(gaussian_epsilon(1.0, delta).upper));
        CHECK(std::isnan(gaussian_mu(1.0, delta).lower));
        CHECK(std::isnan(gaussian_tradeoff(1.0, delta).value));
    }
    CHECK(std::isnan(gaussian_delta(1.0, kNaN).value));
    CHECK_THAT(gaussian_epsilon(1.0, 0.0).lower, ==, kInfinity);
    CHECK_THAT(gaussian_epsilon(1.0, 1.0).upper, ==, -kInfinity);
    CHECK_THAT(gaussian_mu(1.0, 0.0).upper, ==, 0.0);
    CHECK_THAT(gaussian_mu(1.0, 1.0).lower, ==, kInfinity);
    CHECK_THAT(gaussian_tradeoff(1.0, 0.0).value, ==, 1.0);
    CHECK_THAT(gaussian_tradeoff(1.0, 1.0).value, ==, 0.0);
    CHECK_THAT(gaussian_tradeoff(0.0, 0.25).value, ==, 0.75);
}

void edges_of_one_step() {
    for (const Direction direction : {Direction::remove, Direction::add}) {
        // q = 1 is the Gaussian mechanism, in both directions
        for (const double eps : {-3.0, -1e-9, 0.0, 0.1, 5.0})
            CHECK_THAT(single_step_delta({1.0, 0.5, direction}, eps).value, ==, gaussian_delta(2.0, eps).value);
        CHECK_THAT(single_step_delta({0.0, 1.0, direction}, 0.0).value, ==, 0.0);
        CHECK_THAT(single_step_delta({0.5, kInfinity, direction}, 0.0).value, ==, 0.0);
        CHECK_THAT(std::fabs(single_step_delta({0.0, 1.0, direction}, -1.0).value + std::expm1(-1.0)), <=, 2e-16);
        for (const double bad : {-0.1, 1.1, 1e-200, kNaN})
            CHECK(std::isnan(single_step_delta({bad, 1.0, direction}, 1.0).value));
        for (const double bad : {0.0, -1.0, 1e-200, kNaN})
            CHECK(std::isnan(single_step_delta({0.5, bad, direction}, 1.0).value));
        for (const double q : {1e-100, 1e-12, 0.5, 1.0 - 0x1p-53, 1.0})
            for (const double sigma : {1e-100, 1e-3, 1.0, 1e100, 1e300})
                for (const double eps : {-1e308, -800.0, -1.0, -1e-300, 0.0, 1e-300, 1.0, 800.0, 1e308}) {
                    const Bracket b = single_step_delta_bounds({q, sigma, direction}, eps);
                    CHECK(b.lower <= b.upper && b.lower >= 0.0 && b.upper <= 1.0);
                    for (const double delta : {1e-300, 1e-5, 0.5}) {
                        const Bracket e = single_step_epsilon({q, sigma, direction}, delta);
                        CHECK(e.lower <= e.upper);
                    }
                }
    }
    CHECK_THAT(single_step_delta({0.1, 1.0, Direction::add}, 0.5).value, ==, 0.0);
    CHECK_THAT(single_step_delta_bounds({0.1, 1.0, Direction::add}, 0.5).upper, ==, 0.0);
    CHECK_THAT(single_step_epsilon({0.1, 1.0, Direction::remove}, 0.0).upper, ==, kInfinity);
    const Bracket end = single_step_epsilon({0.1, 1.0, Direction::add}, 0.0);
    CHECK(end.lower <= -std::log1p(-0.1) && -std::log1p(-0.1) <= end.upper);
}

}  // namespace

int main() {
    epsilon_of_one_step();
    edges();
    edges_of_one_step();
    return check::finish();
}
