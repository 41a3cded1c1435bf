#include "renyi/sgd/discrete_noise.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "renyi/fp/certified.hpp"

namespace renyi {

bool is_below_exp(WordSource& words, std::uint64_t first, const Fraction& x) {
    if (x.p.is_zero()) return true;  // U < 1
    Natural u(first), one(1), denominator(1), term(1), plus(1), minus;
    std::uint32_t bits = 64, j = 0;
    const auto lengthen = [&] { u = u.shifted(2) + Natural(words.next64()), bits += 64; };
    // Where x >= bits, e^-x < 2^-bits: only U = 0.00...0 is still undecided, and the series would be long.
    for (; !(x.p < x.q * Natural(bits)); lengthen())
        if (!u.is_zero()) return false;
    // e^-x lies between the sums S_j = sum_{i <= j} (-x)^i / i! for even and odd j as soon as the terms decrease, j >
    // x; D = q^j j! is the common denominator, P and M the numerators of the positive and of the negative terms.
    for (;; lengthen()) {
        bool decreasing = false;
        for (const std::uint32_t last = j + 8; j < last;) {
            ++j;
            const Natural factor = x.q * Natural(j);
            denominator = denominator * factor, plus = plus * factor, minus = minus * factor;
            term = term * x.p;
            (j % 2 != 0 ? minus : plus) = (j % 2 != 0 ? minus : plus) + term;
            decreasing = x.p < factor;
        }
        if (!decreasing) continue;
        // j is even: S_j = (P - M) / D is above e^-x, and S_j - term / D is below.
        const std::uint32_t words32 = bits / 32;
        const Natural top = plus.shifted(words32), bottom = minus.shifted(words32);
        if (!(u * denominator + bottom < top)) return false;
        if (!(top < (u + one) * denominator + bottom + term.shifted(words32))) return true;
    }
}

ExactScale::ExactScale(double scale) noexcept : value(scale) {
    int exponent;
    const double mantissa = std::frexp(scale, &exponent);
    log_modulus = std::max(0, mantissa < kRootHalf ? exponent - 1 : exponent);
    integer = static_cast<std::uint64_t>(std::ldexp(mantissa, 53));
    shift = 53 - exponent;
}

std::int64_t DiscreteLaplace::operator()(WordSource& words) const {
    const std::uint64_t t = std::uint64_t{1} << scale_.log_modulus;
    for (;;) {
        const std::uint64_t bits = words.next64();
        const bool negative = (bits >> 63) != 0;  // t <= 2^41
        std::uint64_t y = bits & (t - 1);
        if (!accepts(words, y)) continue;
        while (accepts(words, t)) y += t;
        if (negative && y == 0) continue;
        return negative ? -static_cast<std::int64_t>(y) : static_cast<std::int64_t>(y);
    }
}

// distance <= 2^41 is exact in double, the quotient has an error of u; where e^-x matters, x is below 64.
bool DiscreteLaplace::accepts(WordSource& words, std::uint64_t distance) const {
    const double x = static_cast<double>(distance) / scale_.value;
    return bernoulli_exp(words, x, 0x1p-53 * std::min(x, 64.0), [&] {
        return Fraction{Natural(distance).times_power_of_two(static_cast<std::size_t>(scale_.shift)),
                        Natural(scale_.integer)};
    });
}

DiscreteGaussian::DiscreteGaussian(double sigma) noexcept
    : sigma_(sigma),
      quotient_(std::ldexp(sigma, -sigma_.log_modulus)),
      proposal_(std::ldexp(1.0, sigma_.log_modulus)) {}

std::int64_t DiscreteGaussian::operator()(WordSource& words) const {
    for (;;) {
        const std::int64_t proposed = proposal_(words);
        const auto y = static_cast<std::uint64_t>(std::abs(proposed));
        // With a = y / sigma and b = sigma / t (exact), z = a - b has an error of u (a + |z|), and z^2/2 one of less
        // than |z| u (a + |z|) + 3u z^2 / 2 + ... <= 4u (a + b)^2; for g <= 64, |z| < 12 and b < 1.5 this is less than
        // 2^-42.
        const double a = static_cast<double>(y) / sigma_.value, z = a - quotient_;
        const double g = 0.5 * z * z, error = 0x1p-50 * (a + quotient_) * (a + quotient_);
        const auto exact = [&] {  // (y t - sigma^2)^2 / (2 sigma^2 t^2), times 4^(2 shift) above and below
            const Natural square = Natural(sigma_.integer) * Natural(sigma_.integer);
            const auto twice = static_cast<std::size_t>(2 * sigma_.shift);
            const auto log_t = static_cast<std::size_t>(sigma_.log_modulus);
            const Natural product = Natural(y).times_power_of_two(twice + log_t);
            const Natural difference = product < square ? square - product : product - square;
            return Fraction{difference * difference, square.times_power_of_two(twice + 2 * log_t + 1)};
        };
        if (bernoulli_exp(words, g, error, exact)) return proposed;
    }
}

}  // namespace renyi
