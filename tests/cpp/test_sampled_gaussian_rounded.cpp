// log A and the divergence to nearest: against balls, by the residual that a nearest double leaves; the domain.
#include <cmath>
#include <initializer_list>

#include "check.hpp"
#include "renyi/loss/sampled_gaussian_rounded.hpp"
#include "tables.hpp"

using namespace renyi;

namespace {

constexpr double kInf = HUGE_VAL;

// |hi + lo - value beta| <= ulp(value)/2 beta, the product exactly by fma.
bool is_nearest(double value, double beta, double hi, double lo) {
    const double ulp = std::nextafter(std::fabs(value), kInf) - std::fabs(value);
    return std::fabs(std::fma(-value, beta, hi) + lo) <= 0.5 * ulp * beta;
}

bool inside(double q, double sigma, double alpha) {
    return q >= 1e-12 && q < 1.0 && sigma >= 0.05 && sigma <= 1e6 && alpha > 1.0;
}

void nearest_to_balls() {
    for (const auto& row : table::rows<table::LogA>()) {
        const double log_a = log_a_nearest(row.q, row.sigma, row.alpha);
        const double divergence = rdp_sampled_gaussian_nearest(row.q, row.sigma, row.alpha);
        if (!inside(row.q, row.sigma, row.alpha)) {
            CHECK(std::isnan(log_a));
            continue;
        }
        CHECK(row.alpha > 1000.0 || !std::isnan(log_a));
        CHECK(row.alpha > 1000.0 || !std::isnan(divergence));
        if (!std::isnan(log_a)) CHECK_THAT(log_a, ==, row.hi + row.lo);
        if (!std::isnan(divergence)) CHECK(is_nearest(divergence, row.alpha - 1.0, row.hi, row.lo));
    }
}

void domain() {
    const double nan = std::nan("");
    for (const auto f : {log_a_nearest, rdp_sampled_gaussian_nearest}) {
        for (const double q : {0.0, 1e-13, 1.0, -0.1, nan}) CHECK(std::isnan(f(q, 1.0, 2.0)));
        for (const double sigma : {0.0, 0.04, 2e6, kInf, nan}) CHECK(std::isnan(f(0.1, sigma, 2.0)));
        for (const double alpha : {0.5, -1.0, 1e300, kInf, nan}) CHECK(std::isnan(f(0.1, 1.0, alpha)));
    }
    CHECK(std::isnan(log_a_nearest(0.1, 1.0, 1.0)));
    CHECK(rdp_sampled_gaussian_nearest(0.1, 1.0, 1.0) > 0.0);  // Kullback-Leibler
}

}  // namespace

int main() {
    nearest_to_balls();
    domain();
    return check::finish();
}
