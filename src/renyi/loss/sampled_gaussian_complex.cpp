// log A for complex alpha: the log moment generating function of the privacy loss off the real axis.
//
// The result is not certified: there is only an error estimate. The convex form and the rule are those of the real
// quadrature: A - 1 = E[ beta h(x) + (1+x) phi(beta l) ] for Re alpha >= 1, and E[ phi(alpha l) + alpha (l - x) ] for
// Re alpha <= 0. Each piece is O(|x|^2), so small A - 1 keeps its digits. As |(1+x)^alpha| = (1+x)^(Re alpha), the mass
// lies where it lies for the real order. The step must also resolve e^{i Im(alpha) l}: on the line Im u = a,
// |(1+x)^alpha| grows by at most e^{|Im alpha| a c}, so the step is 2 pi a / (L + a^2/2 + |Im alpha| a c). The absolute
// error of A is a small multiple of u A(Re alpha) (1 + u^2/2) at the nodes that matter: A itself may be far smaller,
// because the integrand oscillates. The logarithm is on the principal branch. The result is NaN where more than four
// million nodes would be needed (|Im alpha|/sigma above about 1e6).
#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <numbers>

#include "renyi/loss/sampled_gaussian.hpp"
#include "renyi/loss/sampled_gaussian_quadrature.hpp"
#include "renyi/special/elementary.hpp"

namespace renyi {

namespace {

using Complex = std::complex<double>;

constexpr double kMostNodes = 4e6;     // most nodes, a limit of time: NaN beyond
constexpr double kPeakDepth = 50.0;    // nats: values below e^-50 of a peak are left out
constexpr double kSmallExcess = 30.0;  // log A below which A - 1 is summed instead of A

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
    if (std::norm(s) > 0.25) return std::log(1.0 + s);
    const double norm = 2.0 * s.real() + std::norm(s);
    return {0.5 * std::log1p(norm), std::atan2(s.imag(), 1.0 + s.real())};
}

struct Window {
    double first, last;  // range of u
};

// Returns the window around a mode in which the logarithm of the integrand of the real order exceeds `floor`.
Window around(const SampledGaussianLaw& law, double order, double mode, double floor) noexcept {
    const auto reach = [&](double direction) {
        double step = 0.05 / std::sqrt(1.0 + std::fabs(order) * law.c * law.c);
        double u = mode;
        while (far_height(law, order, u) > floor) u += direction * (step *= 1.5);
        return u;
    };
    return {reach(-1.0), reach(1.0)};
}

double step_of(const SampledGaussianLaw& law, Complex alpha, double mode) noexcept {
    const double c = law.c, p = law.posterior(mode);
    const bool remove = alpha.real() >= 1.0;
    const double narrow = remove ? 1.0 : 1.0 - alpha.real() * p * (1.0 - p) * c * c;
    const double smallest = law.q * law.q * std::min(c * c, 1.0) * std::min(std::norm(alpha), std::norm(alpha - 1.0));
    const double target =
        kAliasingTarget + 4.0 + lane_log(1.0 + std::abs(alpha) * law.q) - std::log(std::clamp(smallest, 1e-300, 1.0));
    const double strip = std::min(std::sqrt(2.0 * target / narrow), (remove ? 3.1 : 1.5) / c);
    return 2.0 * std::numbers::pi / (target / strip + 0.5 * strip * narrow + std::fabs(alpha.imag()) * c);
}

// The integrand of A - 1 at u, times sqrt(2 pi).
Complex excess_at(const SampledGaussianLaw& law, Complex alpha, double u) noexcept {
    const double w = law.w(u);
    const double n = lane_exp(-0.5 * u * u);
    if (w > 1.0) {  // l may be large and n tiny: combine exponents
        const double l = law.log_ratio(u);
        if (alpha.real() >= 1.0) {
            const Complex t = (alpha - 1.0) * l;
            const double mu = lane_exp(l - 0.5 * u * u);
            if (t.real() > 600.0) return std::polar(lane_exp(alpha.real() * l - 0.5 * u * u), t.imag());
            return mu * ((alpha - 1.0) * (l - 1.0 + lane_exp(-l)) + complex_phi(t));
        }
        return n * (complex_phi(alpha * l) + alpha * l) -
               alpha * law.q * (lane_exp(-0.5 * (u - law.c) * (u - law.c)) - n);
    }
    const ExpReduction e = reduce_exp(std::max(w, -700.0));
    const double x = law.q * expm1_of(e);
    const double y = law.one_minus_q + law.q * exp_of(e);
    const LogReduction log = reduce_log(y, x);
    const double l = log_of(log), l_minus_x = log1pmx_of(log, x);
    if (alpha.real() * l > 600.0) return std::polar(lane_exp(alpha.real() * l - 0.5 * u * u), alpha.imag() * l);
    if (alpha.real() >= 1.0) return n * (alpha - 1.0) * (x * l + l_minus_x) + n * y * complex_phi((alpha - 1.0) * l);
    return n * (complex_phi(alpha * l) + alpha * l_minus_x);
}

}  // namespace

std::complex<double> log_a(double q, double sigma, std::complex<double> alpha) noexcept {
    const double order = alpha.real();
    const Certified real_order = log_a(q, sigma, order);
    if (alpha.imag() == 0.0) return real_order.value;
    if (std::isnan(real_order.value) || !std::isfinite(alpha.imag())) return {kNaN, kNaN};
    const double c = 1.0 / sigma;
    if (q == 0.0 || std::isinf(sigma)) return 0.0;
    if (q == 1.0) return 0.5 * c * c * alpha * (alpha - 1.0);
    const SampledGaussianLaw law(q, sigma);
    const bool excess = real_order.value < kSmallExcess;
    const double low = far_mode(law, order, 0.0), high = order > 1.0 ? far_mode(law, order, order * c) : low;
    const double h = step_of(law, alpha, low);

    // The modes, and for A - 1 the bulk and the bump of the linear part at u = c; the windows may overlap.
    const double top = std::max(far_height(law, order, low), far_height(law, order, high));
    const auto floor_of = [&](double mode) { return (excess ? far_height(law, order, mode) : top) - kPeakDepth; };
    std::array<Window, 4> windows{
        around(law, order, low, floor_of(low)), around(law, order, high, floor_of(high)), {low, low}, {low, low}};
    if (excess) {
        const double reach = 10.0 + 2.0 * std::sqrt(std::max(std::log(sigma), 0.0));
        windows[2] = {-reach, std::min(2.0 * c, reach) + reach};
        windows[3] = {c - reach, c + reach};
    }
    std::sort(windows.begin(), windows.end(), [](Window a, Window b) { return a.first < b.first; });
    double nodes = 0.0, covered = -kInfinity;
    for (const Window& window : windows) {
        nodes += std::max(window.last - std::max(window.first, covered), 0.0) / h;
        if (std::max(-window.first, window.last) > 0x1p50 * h)
            return {kNaN, kNaN};  // indices beyond the integers of double
        covered = std::max(covered, window.last);
    }
    if (!(nodes < kMostNodes)) return {kNaN, kNaN};

    Complex sum = 0.0;
    double next = -kInfinity;
    for (const Window& window : windows) {
        for (double j = std::max(next, std::floor(window.first / h)); j * h <= window.last; ++j) {
            const double u = j * h;
            sum += excess ? excess_at(law, alpha, u)
                          : std::polar(lane_exp(far_height(law, order, u) - real_order.value),
                                       alpha.imag() * law.log_ratio(u));
        }
        next = std::max(next, std::floor(window.last / h) + 1.0);
    }
    sum *= h * kInverseRoot2Pi;
    return excess ? complex_log1p(sum) : real_order.value + std::log(sum);
}

}  // namespace renyi
