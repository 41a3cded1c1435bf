#include "renyi/sgd/discrete_gaussian.hpp"

#include <cmath>
#include <cstdlib>

#include "renyi/sgd/exact_exponential.hpp"

namespace renyi {

DiscreteGaussian::DiscreteGaussian(double sigma) noexcept
    : sigma_(sigma),
      quotient_(std::ldexp(sigma, -sigma_.log_modulus)),
      proposal_(std::ldexp(1.0, sigma_.log_modulus)) {}

std::int64_t DiscreteGaussian::operator()(WordSource& words) const {
    for (;;) {
        const std::int64_t proposed = proposal_(words);
        const auto y = static_cast<std::uint64_t>(std::abs(proposed));
        // With a = y / sigma and b = sigma / t (exact), z = a - b is off by u (a + |z|), and z^2/2 by less than
        // |z| u (a + |z|) + 3u z^2 / 2 + ... <= 4u (a + b)^2; for g <= 64, |z| < 12 and b < 1.5 make that less than
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
