// rdp_gaussian against long double (64 bits of mantissa on x86: 2048 times finer than the claim) and at its edges.
#include <cmath>
#include <initializer_list>
#include <limits>
#include <random>

#include "check.hpp"
#include "renyi/loss/gaussian.hpp"

using namespace renyi;

int main() {
    constexpr double kLargest = std::numeric_limits<double>::max();
    constexpr double kTiny = std::numeric_limits<double>::denorm_min();

    CHECK_THAT(rdp_gaussian(2.0, 3.0).value, ==, 0.375);
    CHECK_THAT(rdp_gaussian(2.0, 3.0).relative_error, ==, 0.0);
    CHECK_THAT(rdp_gaussian_lower(2.0, 3.0), ==, rdp_gaussian_upper(2.0, 3.0));
    CHECK_THAT(rdp_gaussian(kInfinity, 3.0).value, ==, 0.0);
    CHECK_THAT(rdp_gaussian_upper(kInfinity, kInfinity), ==, 0.0);
    CHECK_THAT(rdp_gaussian(1.0, kInfinity).value, ==, kInfinity);

    for (const double sigma : {0.0, -0.0, -1.0, -kInfinity, kNaN}) {
        CHECK(std::isnan(rdp_gaussian(sigma, 2.0).value));
        CHECK(std::isnan(rdp_gaussian_lower(sigma, 2.0)));
        CHECK(std::isnan(rdp_gaussian_upper(sigma, 2.0)));
    }
    for (const double alpha : {0.0, std::nextafter(1.0, 0.0), -2.0, -kInfinity, kNaN})
        CHECK(std::isnan(rdp_gaussian(2.0, alpha).value));

    // Overflow and underflow: the bounds still enclose the finite positive truth.
    CHECK_THAT(rdp_gaussian_lower(1e-200, 3.0), ==, kLargest);
    CHECK_THAT(rdp_gaussian_upper(1e-200, 3.0), ==, kInfinity);
    CHECK_THAT(rdp_gaussian_lower(1e170, 3.0), ==, 0.0);
    CHECK_THAT(rdp_gaussian_upper(1e170, 3.0), ==, kTiny);

    std::mt19937_64 generator(20190828);
    std::uniform_real_distribution<double> log_sigma(-5.0, 160.0);
    std::uniform_real_distribution<double> log_alpha(0.0, 6.0);
    for (int i = 0; i < 200000; ++i) {
        const double sigma = std::pow(10.0, log_sigma(generator));
        const double alpha = std::pow(10.0, log_alpha(generator));
        const long double truth = static_cast<long double>(alpha) / (2.0L * sigma * sigma);
        const Certified c = rdp_gaussian(sigma, alpha);
        CHECK(rdp_gaussian_lower(sigma, alpha) <= truth && truth <= rdp_gaussian_upper(sigma, alpha));
        if (c.value < std::numeric_limits<double>::min()) continue;
        const long double error = std::fabs(c.value - truth);
        CHECK(error <= truth * (c.relative_error + 3.0L * std::numeric_limits<long double>::epsilon()));
    }
    return check::finish();
}
