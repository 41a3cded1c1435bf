// log A and the divergence of the sampled Gaussian: published values, balls, the definition itself, three routes that
// must agree, limits and edges by name.
#include <algorithm>
#include <cmath>
#include <complex>
#include <initializer_list>

#include "check.hpp"
#include "measure.hpp"
#include "random.hpp"
#include "renyi/loss/sampled_gaussian.hpp"
#include "tables.hpp"

using namespace renyi;
using check::power;
using check::uniform;
using check::Worst;

namespace {

bool encloses(Certified c, double hi, double lo) {  // lower <= hi + lo <= upper
    return lower(c) - hi <= lo && upper(c) - hi >= lo;
}

// The interval of one certificate meets that of another.
bool agree(Certified a, Certified b) { return lower(a) <= upper(b) && lower(b) <= upper(a); }

bool is_zero(Certified c) { return c.value == 0.0 && c.relative_error == 0.0; }

// q, sigma, alpha, log A(alpha) / (alpha-1), log A(1-alpha) / (alpha-1), by another quadrature with 40 digits.
void known_values() {
    struct Known {
        double q, sigma, alpha, remove, add, digits;
    };
    constexpr Known kKnown[] = {
        {0.01, 1, 2, 0.0001718134220745479, 0.0001602226498185536, 1e-15},
        {0.01, 1, 1.5, 0.0001272537433274498, 0.0001214759930640138, 1e-15},
        {0.01, 1, 32, 11.24627593704807, 0.001692336779965303, 1e-15},
        {0.001, 0.5, 4.75, 0.7661006723570068, 6.627900911489878e-05, 1e-15},
        {0.2, 4, 4, 0.005262844037639986, 0.004901469186606242, 1e-15},
        {0.02, 10, 50, 0.0001014669221194025, 9.950200517178858e-05, 1e-15},
        {0.5, 1, 2.5, 0.5105603809236316, 0.2142549001780721, 1e-15},
        {0.9, 2, 1.5, 0.1537166309586305, 0.1467919877401945, 1e-15},
        {0.004, 1.1, 8.5, 9.191938358167932e-05, 8.203567304460058e-05, 1e-15},
        {1e-6, 4, 8, 2.579779376463565e-13, 2.579776827092439e-13, 1e-15},
        {0.1, 1, 7.3, 1.00347872422, kNaN, 1e-11},
        {0.25, 0.8, 1.5, 0.124822089277, kNaN, 1e-11},
        {0.001, 5, 30.25, 6.17984657174e-7, kNaN, 1e-11},
        {0.1, 100, 1.5, 7.5003375082e-7, kNaN, 1e-10},
    };
    for (const Known& k : kKnown) {
        const double beta = k.alpha - 1.0;
        const Certified remove = rdp_sampled_gaussian(k.q, k.sigma, k.alpha);
        CHECK_THAT(std::fabs(remove.value - k.remove), <=, k.remove * (remove.relative_error + k.digits));
        CHECK_THAT(std::fabs(log_a(k.q, k.sigma, k.alpha).value / beta - k.remove), <=,
                   k.remove * (remove.relative_error + k.digits));
        if (std::isnan(k.add)) continue;
        const Certified add = log_a(k.q, k.sigma, -beta);  // 1 - alpha
        CHECK_THAT(std::fabs(add.value / beta - k.add), <=, k.add * (add.relative_error + k.digits));
    }
}

void balls() {
    Worst worst{"error / certified error", 1.0}, bound{"certified error", 1e5};
    int binomial = 0, series = 0;
    for (const auto& row : table::rows<table::LogA>()) {
        const Certified c = log_a(row.q, row.sigma, row.alpha),
                        quadrature = log_a_quadrature(row.q, row.sigma, row.alpha);
        CHECK(encloses(c, row.hi, row.lo));
        CHECK(encloses(quadrature, row.hi, row.lo));
        if (c.relative_error > 0.0)
            worst.note_error(std::fabs(((c.value - row.hi) - row.lo) / row.hi) / c.relative_error, row.alpha);
        bound.note_error(c.relative_error / 0x1p-53, row.alpha);
        const Certified b = log_a_binomial(row.q, row.sigma, row.alpha), s = log_a_series(row.q, row.sigma, row.alpha);
        if (!std::isnan(b.value)) ++binomial, CHECK(encloses(b, row.hi, row.lo));
        if (!std::isnan(s.value)) ++series, CHECK(encloses(s, row.hi, row.lo));
    }
    REPORT(worst);
    REPORT(bound);
    CHECK(binomial >= 20 && series >= 10);
}

// E[(mu/mu0)^alpha] as it is written, by the trapezoidal rule in extended precision: no rearrangement, no certificate.
long double log_a_by_definition(double q, double sigma, double alpha) {
    const long double c = 1.0L / sigma, h = std::min(0.2L, 0.3L * sigma) /
                                            (1.0L + (alpha < 0.0 ? 0.1L * std::sqrt(-alpha) / sigma : 0.0L));
    const long double left = -12.0L + std::min(alpha * c, 0.0L), right = 12.0L + std::max(alpha * c, 0.0L);
    const auto exponent = [&](long double u) {
        const long double w = u * c - 0.5L * c * c;
        const long double l = w > 0.0L ? w + std::log(q + (1.0L - q) * std::exp(-w)) : std::log1p(q * std::expm1(w));
        return alpha * l - 0.5L * u * u;
    };
    long double top = -1e4L, sum = 0.0L;
    for (long double u = left; u <= right; u += h) top = std::max(top, exponent(u));
    for (long double u = left; u <= right; u += h) sum += std::exp(exponent(u) - top);
    return top + std::log(sum * h / std::sqrt(2.0L * std::acos(-1.0L)));
}

void the_definition() {
    int count = 0;
    for (int i = 0; i < 400; ++i) {
        const double q = i % 2 ? uniform(0.01, 0.99) : power(-4.0, 0.0), sigma = power(-0.5, 0.7);
        const double alpha = i % 3 ? 1.0 + power(-1.0, 1.3) : -power(-1.0, 1.3);
        const Certified c = log_a(q, sigma, alpha);
        if (c.value < 1e-3) continue;
        ++count;
        const long double truth = log_a_by_definition(q, sigma, alpha);
        CHECK(std::fabs(c.value - truth) <= truth * c.relative_error + 2e-17L * (1.0L + std::fabs(alpha)));
    }
    CHECK(count > 100);
}

void three_routes() {
    int binomial = 0, series = 0;
    for (int i = 0; i < 4000; ++i) {
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
    CHECK(binomial > 1000 && series > 300);
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
    for (int i = 0; i < 2000; ++i) {
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
        const double q = power(-12.0, 0.0), sigma = power(-1.4, 6.0), c = 1.0 / sigma;
        const long double truth =
            std::log1p(static_cast<long double>(q) * q * std::expm1(1.0L / (static_cast<long double>(sigma) * sigma)));
        for (const Certified& a :
             {log_a(q, sigma, 2.0), log_a_quadrature(q, sigma, 2.0), log_a_binomial(q, sigma, 2.0)}) {
            CHECK(lower(a) <= truth && truth <= upper(a));
        }
        CHECK(c > 0.0);
    }
}

void outside_the_domain() {
    const auto refused = [](double q, double sigma, double alpha) {
        const LogADerivatives d = log_a_derivatives(q, sigma, alpha);
        const std::complex<double> z = log_a(q, sigma, std::complex<double>(alpha, 1.0));
        return std::isnan(log_a(q, sigma, alpha).value) && std::isnan(lower(log_a(q, sigma, alpha))) &&
               std::isnan(log_a_quadrature(q, sigma, alpha).value) && std::isnan(log_a_series(q, sigma, alpha).value) &&
               std::isnan(log_a_binomial(q, sigma, alpha).value) && std::isnan(d.value.value) && std::isnan(d.first) &&
               std::isnan(d.second) && std::isnan(rdp_sampled_gaussian(q, sigma, alpha).value) && std::isnan(z.real());
    };
    for (const double q : {-0.1, -0x1p-1074, std::nextafter(1.0, 2.0), 2.0, kInfinity, -kInfinity, kNaN, 1e-101}) {
        for (const double alpha : {1.5, 2.0, 7.0}) CHECK(refused(q, 1.0, alpha));
    }
    for (const double sigma : {0.0, -0.0, -1.0, -kInfinity, kNaN, 1e-101}) {
        for (const double alpha : {1.5, 2.0, 7.0}) CHECK(refused(0.1, sigma, alpha));
    }
    for (const double alpha : {0.5, std::nextafter(1.0, 0.0), 0x1p-1074, std::nextafter(1e6, 2e6), kInfinity,
                               -kInfinity, kNaN, std::nextafter(-1e6, -2e6)}) {
        for (const double q : {0.0, 0.1, 1.0}) CHECK(refused(q, 1.0, alpha));
        CHECK(refused(0.1, kInfinity, alpha));
    }
    CHECK(std::isnan(log_a_binomial(0.1, 1.0, 2.5).value) && std::isnan(log_a_binomial(0.1, 1.0, -2.0).value));
    CHECK(std::isnan(rdp_sampled_gaussian(0.1, 1.0, 0.0).value) &&
          std::isnan(rdp_sampled_gaussian(0.1, 1.0, -2.0).value));
    for (const double tau : {kNaN, kInfinity})
        CHECK(std::isnan(log_a(0.1, 1.0, std::complex<double>(2.0, tau)).real()));
    // -0 is 0, and the ends belong to the domain.
    CHECK(is_zero(log_a(0.1, 1.0, -0.0)) && is_zero(log_a(-0.0, 1.0, 2.5)));
    for (const double alpha : {1e6, -1e6, 999999.5}) {
        for (const double q : {1e-12, 0.5, 1.0}) {
            for (const double sigma : {0.01, 1.0, 1e6}) CHECK(log_a(q, sigma, alpha).value > 0.0);
        }
    }
}

}  // namespace

int main() {
    check::generator.seed(9);
    known_values();
    balls();
    if constexpr (check::kExtended) the_definition();
    three_routes();
    limits();
    outside_the_domain();
    return check::finish();
}
