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

// log sum_k Bin(m, q)(k) e^{k w - k (k-1) c^2/2}, with the branch that is continuous for 0 <= Im w < pi. Every factor
// turns by at most Im w, so that the argument is added up in turns of less than one half of pi.
inline Complex log_group(const renyi::SampledLoss& law, Complex w) {
    const Real q = law.q, c = law.c;
    const int m = law.records(), turns = 1 + static_cast<int>(m * std::abs(w.imag()));
    Real scale = 0;
    std::vector<Real> weight{std::pow(1 - q, m)}, exponent, size;
    for (int k = 1; k <= m; ++k) weight.push_back(weight.back() * (q / (1 - q)) * (m - k + 1) / k);
    for (int k = 0; k <= m; ++k) exponent.push_back(k * w.real() - k * (k - 1) * c * c / 2);
    for (const Real e : exponent) scale = std::max(scale, e - 4000);
    for (std::size_t k = 0; k < weight.size(); ++k) size.push_back(weight[k] * std::exp(exponent[k] - scale));
    const auto whole = [&](Real angle) {
        const Complex turned = std::polar(Real(1), angle);
        Complex sum = 0, power = 1;
        for (const Real part : size) {
            sum += part * power;
            power *= turned;
        }
        return sum;
    };
    Complex last = whole(0);
    Real argument = 0;
    for (int turn = 1; turn <= turns && w.imag() != 0; ++turn) {
        const Complex next = whole(w.imag() * turn / turns);
        argument += std::arg(next / last);
        last = next;
    }
    if (scale > 0) return {scale + std::log(std::abs(last)), argument};
    Complex above = 0;  // the sum less 1
    for (std::size_t k = 0; k < size.size(); ++k) {
        const Real grown = std::expm1(exponent[k]), half = std::sin(k * w.imag() / 2);
        above += weight[k] * Complex{grown - 2 * (grown + 1) * half * half, (grown + 1) * std::sin(k * w.imag())};
    }
    const Real excess = 2 * above.real() + std::norm(above);
    const bool is_near = excess > -0.5L && excess < 1e30L;
    return {is_near ? std::log1p(excess) / 2 : std::log(std::abs(last)), argument};
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
