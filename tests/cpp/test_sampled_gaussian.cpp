// log A of the sampled Gaussian: three routes that must agree, the part below a limit, closed forms. Containment of
// proven values is tested in Python.
#include <algorithm>
#include <cmath>
#include <complex>
#include <initializer_list>

#include "check.hpp"
#include "measure.hpp"
#include "random.hpp"
#include "renyi/loss/sampled_gaussian.hpp"
#include "renyi/special/elementary_dd.hpp"
#include "renyi/special/normal.hpp"

using namespace renyi;
using check::power;
using check::uniform;
using check::Worst;

namespace {

// The interval of one certificate meets that of another.
bool agree(Certified a, Certified b) { return lower(a) <= upper(b) && lower(b) <= upper(a); }

bool is_zero(Certified c) { return c.value == 0.0 && c.relative_error == 0.0; }

void three_routes() {
    int binomial = 0, series = 0;
    for (int i = 0; i < check::cases(4000); ++i) {
        const double q = i % 5 == 0 ? uniform(0.0, 1.0) : power(-12.0, 0.0),
                     sigma = i % 2 ? power(-2.0, 6.0) : power(-1.0, 0.5);
        double alpha = i % 3 ? std::round(power(0.31, i % 2 ? 4.5 : 2.0)) : 1.0 + power(-8.0, i % 2 ? 6.0 : 2.0);
        if (i % 7 == 0) alpha = -power(-8.0, 6.0);
        alpha = std::clamp(alpha, -1e6, 1e6);
        const Certified any = log_a(q, sigma, alpha), quadrature = log_a_quadrature(q, sigma, alpha);
        CHECK(any.value > 0.0 && any.relative_error < 1e-9);
        CHECK(quadrature.value > 0.0 && quadrature.relative_error < 1e-9);
        CHECK(agree(any, quadrature));
        const Certified b = log_a_binomial(q, sigma, alpha), s = log_a_series(q, sigma, alpha);
        CHECK(std::isnan(b.value) == !(alpha >= 1.0 && alpha == std::floor(alpha)));
        if (!std::isnan(b.value)) ++binomial, CHECK(agree(b, quadrature));
        if (alpha < 0.0) CHECK(std::isnan(s.value));
        if (!std::isnan(s.value)) {
            ++series;
            CHECK(agree(s, quadrature));
            if (!std::isnan(b.value)) CHECK(agree(s, b));
        }
    }
    CHECK(binomial > check::cases(1000) && series > check::cases(300));
}

// A of the part below a limit for integer alpha: sum_k C(alpha,k) (1-q)^(alpha-k) q^k e^{k(k-1)c^2/2} Phi(limit - k c).
DoubleDouble excess_below(double q, double sigma, int alpha, double limit) {
    const DoubleDouble c = DoubleDouble{1.0, 0.0} / DoubleDouble{sigma, 0.0}, rest = two_sum(1.0, -q);
    DoubleDouble sum{-1.0, 0.0}, weight{1.0, 0.0};
    for (int k = 0; k < alpha; ++k) weight = weight * rest;
    for (int k = 0; k <= alpha; ++k) {
        const Scaled grown = exp_dd(c * c * (0.5 * k * (k - 1.0))) * normal_tail(c * k + -limit);
        sum = sum + unscaled(grown * weight);
        weight = weight * q / rest * (alpha - k) / DoubleDouble{k + 1.0, 0.0};
    }
    return sum;
}

// Also where the integrals below and beyond the limit cancel; and a limit beyond the tilted law leaves the whole.
void below_a_limit() {
    Worst narrow{"log A below a limit, in its error", 1.0};
    for (int i = 0; i < check::cases(2000); ++i) {
        const double q = power(-4.0, -0.05), sigma = power(-0.6, 1.0);
        const int alpha = 2 + static_cast<int>(uniform(0.0, 7.0));
        const double limit = uniform(0.0, 6.0) + (i % 2 == 0 ? 0.0 : 1.0 / sigma);
        const LogADerivatives found = log_a_below(q, sigma, alpha, limit);
        const DoubleDouble excess = excess_below(q, sigma, alpha, limit);
        if (!(found.value.relative_error < 0x1p-20) || std::fabs(excess.hi) < 1e-12 || excess.hi > 1e12) continue;
        const DoubleDouble truth = log1p_dd(excess, excess + 1.0);
        const double off = std::fabs((found.value.value - truth.hi) - truth.lo);
        narrow.note_error(off / std::fabs(truth.hi) / found.value.relative_error, sigma);
        const double real = uniform(1.2, 3.5), small = power(-1.0, 1.0);
        CHECK(agree(log_a_below(q, small, real, real / small + 13.0).value, log_a(q, small, real)));
    }
    REPORT(narrow);
}

// By a plain fine rule in long double.
void between_zero_and_one() {
    Worst narrow{"log A of orders between 0 and 1, in its error", 1.0};
    for (int i = 0; i < check::cases(300); ++i) {
        const double q = power(-6.0, -0.005), sigma = power(-1.3, 1.0), alpha = uniform(0.001, 0.999);
        using Real = long double;
        const Real c = 1 / static_cast<Real>(sigma), h = std::min<Real>(sigma, 1) / 8;
        Real excess = 0;
        for (Real u = -13; u < c + 13; u += h) {
            const Real x = q * std::expm1(c * u - c * c / 2);
            excess += h * std::exp(-u * u / 2) * (std::expm1(alpha * std::log1p(x)) - alpha * x);
        }
        const Real truth = std::log1p(excess / std::sqrt(2 * std::numbers::pi_v<Real>));
        const Certified found = log_a_between(q, sigma, alpha).value;
        narrow.note_error(static_cast<double>(std::fabs((found.value - truth) / truth)) / found.relative_error, sigma);
        CHECK(std::fabs(found.value) * found.relative_error < 1e-11 * q);
    }
    REPORT(narrow);
    CHECK(agree(log_a_between(1.0, 2.0, 0.5).value, {-0.03125, 0.0}));
}

void limits() {
    for (const double q : {0.0, 1e-12, 0.3, 1.0}) {
        for (const double sigma : {0.01, 1.0, 1e6, kInfinity}) {
            CHECK(is_zero(log_a(q, sigma, 1.0)) && is_zero(log_a(q, sigma, 0.0)) &&
                  is_zero(log_a_quadrature(q, sigma, 1.0)));
            CHECK(is_zero(log_a_derivatives(q, sigma, 1.0).value) && is_zero(log_a_derivatives(q, sigma, 0.0).value));
            for (const double alpha : {-1e6, -0.5, 2.0, 2.5, 1e6}) {
                if (q != 0.0 && !std::isinf(sigma)) continue;
                CHECK(is_zero(log_a(q, sigma, alpha)) && is_zero(log_a_quadrature(q, sigma, alpha)));
                const LogADerivatives d = log_a_derivatives(q, sigma, alpha);
                CHECK(d.first == 0.0 && d.second == 0.0);
                if (alpha > 1.0) CHECK(is_zero(rdp_sampled_gaussian(q, sigma, alpha)));
            }
            if (q == 0.0 || std::isinf(sigma)) CHECK(is_zero(rdp_sampled_gaussian(q, sigma, 1.0)));
        }
    }
    // q = 1: alpha (alpha-1) / (2 sigma^2), to the error that is stated.
    for (int i = 0; i < check::cases(2000); ++i) {
        const double sigma = power(-2.0, 6.0), alpha = i % 2 ? 1.0 + power(-8.0, 5.9) : -power(-8.0, 5.9);
        const long double s = sigma, truth = static_cast<long double>(alpha) *
                                             (static_cast<long double>(alpha) - 1.0L) / (2.0L * s * s);
        const Certified c = log_a(1.0, sigma, alpha);
        CHECK(lower(c) <= truth && truth <= upper(c) && c.relative_error <= 16.0 * kUnitRoundoff);
        if (alpha < 1.0) continue;
        const Certified rho = rdp_sampled_gaussian(1.0, sigma, alpha), kl = rdp_sampled_gaussian(1.0, sigma, 1.0);
        CHECK(lower(rho) <= alpha / (2.0L * s * s) && alpha / (2.0L * s * s) <= upper(rho));
        CHECK(lower(kl) <= 1.0L / (2.0L * s * s) && 1.0L / (2.0L * s * s) <= upper(kl));
    }
    // q next to 1 is the same to first order.
    const Certified near = log_a(1.0 - 0x1p-53, 2.0, 3.5), at = log_a(1.0, 2.0, 3.5);
    CHECK_THAT(std::fabs(near.value / at.value - 1.0), <=, 1e-13);
    // Small q / sigma: alpha (alpha-1) q^2 expm1(1/sigma^2) / 2.
    for (const double alpha : {-3.0, 1.5, 2.0, 40.0}) {
        const double leading = 0.5 * alpha * (alpha - 1.0) * 1e-24 * std::expm1(0.25);
        CHECK_THAT(std::fabs(log_a(1e-12, 2.0, alpha).value / leading - 1.0), <=, 1e-9);
    }
    // Order 2 in closed form: log1p(q^2 expm1(1/sigma^2)).
    for (int i = 0; i < 500; ++i) {
        const double q = power(-12.0, 0.0), sigma = power(-1.4, 6.0);
        const long double truth =
            std::log1p(static_cast<long double>(q) * q * std::expm1(1.0L / (static_cast<long double>(sigma) * sigma)));
        for (const Certified& a :
             {log_a(q, sigma, 2.0), log_a_quadrature(q, sigma, 2.0), log_a_binomial(q, sigma, 2.0)}) {
            CHECK(lower(a) <= truth && truth <= upper(a));
        }
    }
    // Complex orders, of q = 1 and 0 and conjugates; their values are compared in Python.
    const std::complex<double> z(3.0, 4.0), above = log_a(0.3, 1.5, z), below = log_a(0.3, 1.5, std::conj(z));
    CHECK_THAT(std::abs(log_a(1.0, 2.0, z) - z * (z - 1.0) / 8.0), <=, 1e-14);
    CHECK(log_a(0.0, 2.0, z) == 0.0 && log_a(0.5, kInfinity, z) == 0.0 && above == std::conj(below));
}

}  // namespace

int main() {
    check::generator.seed(9);
    three_routes();
    below_a_limit();
    between_zero_and_one();
    limits();
    return check::finish();
}
