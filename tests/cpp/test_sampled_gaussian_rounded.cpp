// log A and the divergence to nearest: against balls, by the residual that a nearest double leaves; the domain. Many
// more points are in tests/python/test_correct_rounding.py; here sanitizers see the code.
#include <cmath>
#include <initializer_list>

#include "check.hpp"
#include "renyi/loss/sampled_gaussian.hpp"

using namespace renyi;

namespace {

constexpr double kInf = HUGE_VAL;

// |hi + lo - value beta| <= ulp(value)/2 beta, the product exactly by fma.
bool is_nearest(double value, double beta, double hi, double lo) {
    const double ulp = std::nextafter(std::fabs(value), kInf) - std::fabs(value);
    return std::fabs(std::fma(-value, beta, hi) + lo) <= 0.5 * ulp * beta;
}

struct Row {
    double q, sigma, alpha, hi, lo;  // log A = hi + lo
};

// By renyi.reference.log_a(q, sigma, alpha, digits=45).
constexpr Row kRows[] = {
    {0x1.47ae147ae147bp-7, 0x1p+0, 0x1p+1, 0x1.6851a0ec205e2p-13, 0x1.117567f7d3350p-69},
    {0x1.47ae147ae147bp-7, 0x1p+0, 0x1.0400000000000p+5, 0x1.6a34fbeadef69p+8, -0x1.fdbda780fc0f5p-49},
    {0x1.19799812dea11p-40, 0x1.999999999999ap-5, 0x1.8000000000000p+0, 0x1.b236c066a0023p+6, -0x1.189e725abc3cbp-48},
    {0x1.ff7ced916872bp-1, 0x1.8000000000000p+1, 0x1.d000000000000p+2, 0x1.41c1f16197f81p+1, -0x1.176467d06bbf4p-54},
    {0x1.0c6f7a0b5ed8dp-20, 0x1.e848000000000p+19, 0x1.9000000000000p+6, 0x1.7602ecc72203fp-68, 0x1.d6835e73f2913p-122},
    {0x1p-1, 0x1.3333333333333p-2, 0x1.000001ad7f29bp+0, 0x1.d9de99d608fadp-23, 0x1.3bad825534567p-77},
    {0x1.999999999999ap-3, 0x1.6666666666666p-1, 0x1.f400000000000p+9, 0x1.f0f64a266ad18p+19, 0x1.0521269a2ee3ap-37},
    {0x1.0624dd2f1a9fcp-8, 0x1.199999999999ap+0, 0x1.0b764adff822cp+3, 0x1.5c465efa886dbp-11, 0x1.47729f10ff83fp-65},
    {0x1.999999999999ap-4, 0x1.4000000000000p+4, 0x1.f3c0000000000p+9, 0x1.08fec9da2d5dap+4, -0x1.900c408001ddep-50},
    {0x1.a36e2eb1c432dp-14, 0x1p+1, 0x1p+6, 0x1.81013e96e54cfp-18, -0x1.4047c3c53a011p-73}
};

void nearest_to_balls() {
    for (const Row& row : kRows) {
        CHECK_THAT(log_a_nearest(row.q, row.sigma, row.alpha), ==, row.hi);
        const double divergence = rdp_sampled_gaussian_nearest(row.q, row.sigma, row.alpha);
        CHECK(is_nearest(divergence, row.alpha - 1.0, row.hi, row.lo));
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
