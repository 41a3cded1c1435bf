// log A for complex alpha: the moment generating function of the privacy loss off the real axis.
//
// Same convex form and same rule as the real quadrature: A - 1 = E[ beta h(x) + (1+x) phi(beta l) ] for Re alpha >= 1, and
// E[ phi(alpha l) + alpha (l - x) ] for Re alpha <= 0, each piece O(|x|^2), so small A - 1 keeps its digits. |(1+x)^alpha| = (1+x)^(Re alpha),
// hence the nodes of the real order serve; the step must also resolve e^{i Im(alpha) l}: on the line Im u = a,
// |(1+x)^alpha| grows by at most e^{|Im alpha| a c}, which divides the step 2 pi a / (L + a^2/2 + ...) accordingly.
// The absolute error of A is a small multiple of u A(Re alpha) (1 + u_max^2/2): A itself may be far smaller than that, because the
// integrand oscillates. Principal branch. NaN where more than a million nodes would be needed (sigma |Im alpha| and |Re alpha|/sigma extreme).
#include <algorithm>
#include <cmath>
#include <complex>

#include "renyi/loss/sampled_gaussian.hpp"
#include "renyi/loss/sampled_gaussian_far.hpp"
#include "renyi/loss/sampled_gaussian_grid.hpp"
#include "renyi/loss/sampled_gaussian_kernels.hpp"
#include "renyi/special/elementary.hpp"

namespace renyi {

namespace {

using Complex = std::complex<double>;

constexpr double kInverseSqrt2Pi = 0x1.9884533d43651p-2;
constexpr double kMostNodes = 1e6;  // tens of milliseconds; small sigma with large |alpha| is refused beyond

// sin(t) - t
double sine_excess(double t) noexcept {
    if (std::fabs(t) > 0.5) return std::sin(t) - t;
    double term = t, sum = 0.0;
    for (int k = 1; k < 10; ++k) sum += term *= -t * t / (2.0 * k * (2.0 * k + 1.0));
    return sum;
}

// e^t - 1 - t
Complex complex_phi(Complex t) noexcept {
    const ExpReduction e = reduce_exp(std::clamp(t.real(), -700.0, 700.0));
    const double half_sine = std::sin(0.5 * t.imag());
    const double real = phi_of(e) + (std::max(t.real(), -700.0) - t.real()) - 2.0 * exp_of(e) * half_sine * half_sine;
    return {real, expm1_of(e) * std::sin(t.imag()) + sine_excess(t.imag())};
}

Complex complex_log1p(Complex s) noexcept {
    const double norm = 2.0 * s.real() + std::norm(s);
    return {0.5 * std::log1p(norm), std::atan2(s.imag(), 1.0 + s.real())};
}

struct Span {
    double h, first, last;
};

Span span_of(const SampledGaussianLaw& law, Complex alpha, double log_a) noexcept {
    const double q = law.q, c = law.c;
    const double a = alpha.real();
    const bool remove = a >= 1.0;
    const double order = remove ? std::max(a, 2.0) : std::min(a, -1.0);
    const double mode = remove ? 0.0 : far_mode(law, order, 0.0);
    const double p = law.posterior(mode);
    const double narrow = remove ? 1.0 : 1.0 + std::fabs(a) * p * (1.0 - p) * c * c;
    const double smallest = q * q * std::min(c * c, 1.0) * std::min(std::norm(alpha), std::norm(alpha - 1.0));
    const double target = kAliasingTarget + 4.0 + lane_log(1.0 + std::abs(alpha) * q) - std::min(lane_log(std::min(smallest, 1.0) + 1e-300), 0.0);
    const double strip = std::min(std::sqrt(2.0 * target / narrow), (remove ? 3.1 : 1.5) / c);
    const double h = 2.0 * 0x1.921fb54442d18p1 / (target / strip + 0.5 * strip * narrow + std::fabs(alpha.imag()) * c);
    const double reach = 9.5 + std::sqrt(2.0 * std::max(-lane_log(std::min(c * c, 1.0)), 0.0));
    const double left = remove ? -reach : mode - reach;
    const double right = remove ? (log_a > 0.0 ? std::max(order * c, 2.0 * c) + reach : reach) : std::max(2.0 * c, 0.0) + reach;
    return {h, std::floor(left / h), std::ceil(right / h)};
}

}  // namespace

std::complex<double> log_a(double q, double sigma, std::complex<double> alpha) noexcept {
    const double a = alpha.real();
    if (alpha.imag() == 0.0) return log_a(q, sigma, a).value;
    if (!(q >= 0.0 && q <= 1.0 && sigma > 0.0 && (a >= 1.0 || a <= 0.0) && std::fabs(a) <= 1e6 && std::isfinite(alpha.imag()))) {
        return {kNaN, kNaN};
    }
    const double c = 1.0 / sigma;
    if (q == 0.0 || std::isinf(sigma)) return 0.0;
    if (q == 1.0) return 0.5 * c * c * alpha * (alpha - 1.0);
    const bool remove = a >= 1.0;
    const double real_log_a = log_a(q, sigma, a).value;
    const Span span = span_of(SampledGaussianLaw(q, sigma), alpha, real_log_a);
    if (!(span.last - span.first < kMostNodes)) return {kNaN, kNaN};
    const bool excess = real_log_a < 30.0;
    const Complex beta = alpha - 1.0;
    Complex sum = 0.0;
    for (double j = span.first; j <= span.last; ++j) {
        const double u = j * span.h;
        const double w = u * c - 0.5 * c * c;
        double l, x, y, l_minus_x;
        if (w < 600.0) {
            const ExpReduction e = reduce_exp(std::max(w, -700.0));
            x = q * expm1_of(e);
            y = (1.0 - q) + q * exp_of(e);
            const LogReduction log = reduce_log(y, x);
            l = log_of(log);
            l_minus_x = log1pmx_of(log, x);
        } else {
            l = lane_log(q) + w;
            x = y = l_minus_x = kInfinity;
        }
        const double height = a * l - 0.5 * u * u;
        if (!excess) {
            sum += std::polar(lane_exp(height - real_log_a), alpha.imag() * l);
        } else if (a * l > 40.0) {  // the linear part is below rounding
            sum += std::polar(lane_exp(height), alpha.imag() * l);
        } else {
            const double n = lane_exp(-0.5 * u * u);
            sum += remove ? n * beta * (x * l + l_minus_x) + n * y * complex_phi(beta * l) : n * (complex_phi(alpha * l) + alpha * l_minus_x);
        }
    }
    sum *= span.h * kInverseSqrt2Pi;
    return excess ? complex_log1p(sum) : real_log_a + std::log(sum);
}

}  // namespace renyi
