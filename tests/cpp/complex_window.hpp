// Losses and windows beside the real axis in long double, from their definitions: what the certificates of the split
// sum are tested against.
#pragma once

#include <cmath>
#include <complex>
#include <vector>

#include "renyi/transform/sampled_loss.hpp"

namespace reference {

using Real = long double;
using Complex = std::complex<Real>;

constexpr Real kLogRoot2Pi = 0.918938533204672741780329736405617640L;

// log Phi(z) to 1e-7, on the axis to the last digits: the Taylor series of Phi/phi at 0, else the asymptotic one of
// Mills' ratio.
inline Complex log_cdf(Complex z) {
    if (z.imag() == 0 && z.real() > -140)
        return z.real() > 0 ? std::log1p(-std::erfc(z.real() / std::sqrt(2.0L)) / 2)
                            : std::log(std::erfc(-z.real() / std::sqrt(2.0L)) / 2);
    if (std::abs(z) < 6) {
        Complex term = z, sum = z;
        for (int k = 3; std::abs(term) > 1e-25L * std::abs(sum) && k < 400; k += 2) sum += term *= z * z / Real(k);
        return std::log(Real(0.5) + sum * std::exp(Real(-0.5) * z * z - kLogRoot2Pi));
    }
    if (z.real() > 0) {
        const Complex other = log_cdf(-z);  // Phi(z) = 1 - Phi(-z)
        if (other.real() > 60) return other;
        const Complex outside = std::exp(other);
        return std::abs(outside) < 1e-9L ? -outside : std::log(Real(1) - outside);
    }
    Complex term = 1, sum = 1;
    for (int k = 1; k < 40; k += 2) {
        const Complex next = term * (-Real(k) / (z * z));
        if (std::abs(next) > std::abs(term)) break;
        sum += term = next;
    }
    return Real(-0.5) * z * z - kLogRoot2Pi - std::log(-z) + std::log(sum);
}

// log sum_k Bin(m, q)(k) e^{k w - k (k-1) c^2/2}, with the branch that is continuous for 0 <= Im w < pi, in small turns.
inline Complex log_group(const renyi::SampledLoss& law, Complex w) {
    const Real q = law.q, c = law.c;
    const int m = law.records(), turns = w.imag() == 0 ? 1 : 32;
    Complex sum, last;
    Real argument = 0, excess = 0, scale = 0;
    std::vector<Real> log_weight{m * std::log1p(-q)};
    for (int k = 1; k <= m; ++k) log_weight.push_back(log_weight.back() + std::log(q / (1 - q) * (m - k + 1) / k));
    for (int k = 0; k <= m; ++k) scale = std::max(scale, k * w.real() - k * (k - 1) * c * c / 2 - 4000);
    for (int turn = 0; turn <= turns; ++turn, last = sum) {
        const Real angle = w.imag() * turn / turns;
        Complex above = 0, whole = 0;
        for (int k = 0; k <= m; ++k) {
            const Real exponent = k * w.real() - k * (k - 1) * c * c / 2, half = std::sin(k * angle / 2);
            whole += std::polar(std::exp(log_weight[static_cast<std::size_t>(k)] + exponent - scale), k * angle);
            if (scale > 0) continue;
            const Real grown = std::expm1(exponent), weight = std::exp(log_weight[static_cast<std::size_t>(k)]);
            above += weight * Complex{grown - 2 * (grown + 1) * half * half, (grown + 1) * std::sin(k * angle)};
        }
        sum = whole;
        excess = 2 * above.real() + std::norm(above);
        if (turn > 0) argument += std::arg(sum / last);
    }
    const bool is_near = scale == 0 && excess > -0.5L && excess < 1e30L;
    return {scale + (is_near ? std::log1p(excess) / 2 : std::log(std::abs(sum))), argument};
}

// log(1 - q + q e^w), with the branch that is continuous for 0 <= Im w < pi.
inline Complex log_factor(const renyi::SampledLoss& law, Complex w) {
    if (law.group) return log_group(law, w);
    const Real q = law.q;
    if (w.real() > 60) return w + std::log(q) + std::log(Real(1) + (1 - q) / q * std::exp(-w));
    const Real half = std::sin(w.imag() / 2), grown = std::expm1(w.real());
    const Complex r = q * Complex{grown - 2 * (grown + 1) * half * half, (grown + 1) * std::sin(w.imag())};
    const Real excess = 2 * r.real() + std::norm(r);
    return {excess > -0.5L ? std::log1p(excess) / 2 : std::log(std::abs(Real(1) + r)), std::arg(Real(1) + r)};
}

struct Point {
    Complex v, log_density, log_window;
};

inline Point at(const renyi::SampledLoss& law, const renyi::LossWindow& window, Complex x) {
    const Real c = law.c;
    const Complex above = log_factor(law, c * x - c * c / 2);
    Point p{above, Real(-0.5) * x * x - kLogRoot2Pi, 0};
    // The conjugate has its argument in the upper half plane.
    if (law.two_sided()) p.v -= std::conj(log_factor(law, std::conj(-c * x - c * c / 2)));
    if (law.weighted()) p.log_density += above;
    for (const renyi::LossStep& s : window)
        p.log_window += log_cdf(Real(s.sign) * (p.v - Real(s.level)) / Real(s.width));
    return p;
}

}  // namespace reference
