// The closed-form bound: rounded up, refused outside its conditions, and the largest order where they hold.
#include <cmath>
#include <initializer_list>
#include <random>

#include "check.hpp"
#include "renyi/loss/gaussian.hpp"
#include "renyi/fp/certified.hpp"

using namespace renyi;

int main() {
    CHECK_THAT(rdp_sampled_gaussian_bound(0.125, 4.0, 2.0), ==, 0x1p-8);  // exact
    CHECK_THAT(rdp_sampled_gaussian_bound(0.0, 4.0, 1e5), ==, 0.0);
    CHECK_THAT(rdp_sampled_gaussian_bound(0.1, kInfinity, 1e5), ==, 0.0);
    CHECK(std::isfinite(rdp_sampled_gaussian_bound(0.2, 4.0, 2.0)));

    CHECK(std::isnan(rdp_sampled_gaussian_bound(std::nextafter(0.2, 1.0), 4.0, 2.0)));
    CHECK(std::isnan(rdp_sampled_gaussian_bound(0.1, std::nextafter(4.0, 0.0), 2.0)));
    for (const double alpha : {1.0, 0.5, -3.0, kInfinity, kNaN})
        CHECK(std::isnan(rdp_sampled_gaussian_bound(0.1, 4.0, alpha)));
    CHECK(std::isnan(rdp_sampled_gaussian_bound(kNaN, 4.0, 2.0)));
    CHECK(std::isnan(rdp_sampled_gaussian_bound(0.1, kNaN, 2.0)));
    CHECK(std::isnan(largest_order_of_bound(0.3, 4.0)));
    CHECK(std::isnan(largest_order_of_bound(0.1, 3.9)));
    CHECK_THAT(largest_order_of_bound(0.0, 4.0), ==, kInfinity);

    std::mt19937_64 generator(11);
    std::uniform_real_distribution<double> log_q(-300.0, std::log10(0.2));
    std::uniform_real_distribution<double> log_q_usual(-9.0, std::log10(0.2));
    std::uniform_real_distribution<double> log_sigma(std::log10(4.0), 3.0);
    std::uniform_real_distribution<double> log_sigma_wide(std::log10(4.0), 300.0);
    std::uniform_real_distribution<double> unit(0.0, 1.0);
    for (int i = 0; i < 4000; ++i) {
        const bool wide = i % 4 == 0;
        const double q = std::fmin(0.2, std::pow(10.0, wide ? log_q(generator) : log_q_usual(generator)));
        const double sigma = std::fmax(4.0, std::pow(10.0, wide ? log_sigma_wide(generator) : log_sigma(generator)));
        const double first = largest_order_of_bound(q, sigma, BoundCondition::first);
        const double second = largest_order_of_bound(q, sigma, BoundCondition::second);
        const double both = largest_order_of_bound(q, sigma);
        CHECK_THAT(both, ==, std::fmin(first, second));
        CHECK(!std::isnan(rdp_sampled_gaussian_bound(q, sigma, both)));
        CHECK(std::isnan(rdp_sampled_gaussian_bound(q, sigma, both * (1.0 + 0x1p-50))));

        const double alpha = 1.0 + (both - 1.0) * unit(generator);
        if (!(alpha > 1.0)) continue;
        const long double exact = 2.0L * q * q * alpha / sigma / sigma;
        const double bound = rdp_sampled_gaussian_bound(q, sigma, alpha);
        CHECK(bound >= exact * (1.0L - 0x1p-60L));
        CHECK(bound <= exact * (1.0L + 0x1p-50L) + 0x1p-1072L);  // four units where the bound is subnormal
    }
    return check::finish();
}
