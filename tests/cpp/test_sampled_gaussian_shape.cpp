// The shape of log A: monotone in every argument, convex in the order, derivatives and complex orders.
#include <algorithm>
#include <cmath>
#include <complex>
#include <initializer_list>

#include "check.hpp"
#include "random.hpp"
#include "renyi/loss/sampled_gaussian.hpp"

using namespace renyi;
using check::power;
using check::uniform;

namespace {

// Never a certified decrease where the function rises.
bool may_rise(Certified from, Certified to) { return upper(to) >= lower(from); }

void monotone() {
    for (int i = 0; i < 1500; ++i) {
        const double q = power(-12.0, 0.0), sigma = power(-2.0, 6.0), step = 1.0 + power(-15.0, -0.3);
        const double alpha = i % 2 ? 1.0 + power(-6.0, 5.9) : -power(-6.0, 5.9);
        const Certified here = log_a(q, sigma, alpha);
        CHECK(may_rise(here, log_a(std::min(q * step, 1.0), sigma, alpha)));
        CHECK(may_rise(log_a(q, sigma * step, alpha), here));
        const double next = alpha > 0.0 ? std::min(1.0 + (alpha - 1.0) * step, 1e6) : std::max(alpha * step, -1e6);
        CHECK(may_rise(here, log_a(q, sigma, next)));
        if (alpha < 0.0) continue;
        CHECK(may_rise(rdp_sampled_gaussian(q, sigma, alpha), rdp_sampled_gaussian(q, sigma, next)));
        CHECK(may_rise(rdp_sampled_gaussian(q, sigma, 1.0), rdp_sampled_gaussian(q, sigma, alpha)));
        // The remove direction dominates, and both lie below the unsampled mechanism and above Jensen's bound.
        CHECK(may_rise(log_a(q, sigma, std::max(1.0 - alpha, -1e6)), here));
        CHECK(may_rise(here, log_a(1.0, sigma, alpha)));
        CHECK_THAT(upper(here), >=, 0.5 * alpha * (alpha - 1.0) * (q / sigma) * (q / sigma) * (1.0 - 1e-15));
    }
    // Steps large enough are seen.
    CHECK_THAT(upper(log_a(0.01, 1.0, 8.0)), <, lower(log_a(0.01 + 1e-13, 1.0, 8.0)));
    CHECK_THAT(upper(log_a(0.01, 1.0, 8.5)), <, lower(log_a(0.01, 1.0 - 1e-12, 8.5)));
    CHECK_THAT(upper(log_a(0.01, 1.0, 8.5)), <, lower(log_a(0.01, 1.0, 8.5 + 1e-11)));
    CHECK_THAT(upper(log_a(0.01, 1.0, -8.5)), <, lower(log_a(0.01, 1.0, -8.5 - 1e-11)));
}

void derivatives() {
    // Divided differences of the values. With steps h and h/2 the error of a central difference falls from h^2 to h^4.
    for (int i = 0; i < 300; ++i) {
        const double q = power(-6.0, 0.0), sigma = power(-0.5, 2.0),
                     alpha = i % 2 ? 1.5 + power(-1.0, 1.5) : -power(-1.0, 1.5);
        const double scale = 1.0 + std::fabs(alpha) / sigma;  // A changes over alpha of order sigma / |u|
        const LogADerivatives d = log_a_derivatives(q, sigma, alpha);
        const double f = log_a(q, sigma, alpha).value;
        const auto difference = [&](double h) {
            return (log_a(q, sigma, alpha + h).value - log_a(q, sigma, alpha - h).value) / (2.0 * h);
        };
        const auto second_difference = [&](double h) {
            return ((log_a(q, sigma, alpha + h).value - f) - (f - log_a(q, sigma, alpha - h).value)) / (h * h);
        };
        const double h = 0x1p-5 * std::min({1.0, sigma, std::fabs(alpha), std::fabs(alpha - 1.0)}) / scale;
        const double slope = (4.0 * difference(0.5 * h) - difference(h)) / 3.0;
        const double bend = (4.0 * second_difference(0.5 * h) - second_difference(h)) / 3.0;
        CHECK_THAT(std::fabs(slope - d.first), <=, 1e-7 * std::fabs(d.first) + 1e-13 * f / h);
        CHECK_THAT(std::fabs(bend - d.second), <=, 1e-4 * d.second + 1e-12 * f / (h * h));
        CHECK_THAT(d.second, >, 0.0);  // log A is convex
    }
}

void complex_orders() {
    for (int i = 0; i < 300; ++i) {
        const double q = power(-9.0, 0.0), sigma = power(-0.7, 3.0),
                     alpha = i % 2 ? 1.0 + power(-2.0, 2.0) : -power(-2.0, 2.0);
        const Certified real = log_a(q, sigma, alpha);
        const auto on_axis = log_a(q, sigma, std::complex<double>(alpha, 0.0));
        CHECK(on_axis.real() == real.value && on_axis.imag() == 0.0);
        const double tau = power(-1.0, 1.0) * std::min(sigma, 1.0);
        const auto above = log_a(q, sigma, std::complex<double>(alpha, tau)),
                   below = log_a(q, sigma, std::complex<double>(alpha, -tau));
        CHECK(above.real() == below.real() && above.imag() == -below.imag());
        CHECK_THAT(above.real(), <=, real.value + 1e-12 * (1.0 + real.value));  // |A(alpha + i tau)| <= A(alpha)
        // Off the axis by a tiny step it follows the derivatives: log A + i tau (log A)' - tau^2 (log A)''/2.
        const double small = 1e-4 * std::min(sigma, 1.0) / (1.0 + std::fabs(alpha) / sigma);
        const auto near = log_a(q, sigma, std::complex<double>(alpha, small));
        const LogADerivatives d = log_a_derivatives(q, sigma, alpha);
        CHECK_THAT(std::fabs(near.imag() - small * d.first), <=, 1e-6 * small * std::fabs(d.first) + 1e-14);
        CHECK_THAT(std::fabs(near.real() - real.value), <=, small * small * d.second + 1e-12 * (1.0 + real.value));
    }
    // q = 1 and q = 0 in closed form.
    const std::complex<double> z(3.0, 4.0);
    CHECK_THAT(std::abs(log_a(1.0, 2.0, z) - z * (z - 1.0) / 8.0), <=, 1e-14);
    CHECK(log_a(0.0, 2.0, z) == 0.0 && log_a(0.5, kInfinity, z) == 0.0);
    // Order 2 + i tau by the definition at a point.
    const auto at = std::exp(log_a(0.3, 1.5, std::complex<double>(2.0, 1.0)));
    std::complex<long double> sum = 0.0L;
    for (long double u = -14.0L; u <= 16.0L; u += 0.0625L) {
        const long double l = std::log1p(0.3L * std::expm1(u / 1.5L - 0.5L / 2.25L) -
                                         (0.3L - static_cast<long double>(0.3)) * std::expm1(u / 1.5L - 0.5L / 2.25L));
        sum += std::exp(std::complex<long double>(2.0L, 1.0L) * l - 0.5L * u * u);
    }
    sum *= 0.0625L / std::sqrt(2.0L * std::acos(-1.0L));
    CHECK_THAT(std::abs(at - std::complex<double>(sum)), <=, 1e-14);
}

}  // namespace

int main() {
    check::generator.seed(12);
    monotone();
    derivatives();
    complex_orders();
    return check::finish();
}
