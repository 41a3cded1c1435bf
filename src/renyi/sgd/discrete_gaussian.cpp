#include "renyi/sgd/discrete_gaussian.hpp"

#include <algorithm>
#include <cmath>

#include "renyi/sgd/exact_exponential.hpp"
#include "renyi/sgd/parallel.hpp"

namespace renyi {

DiscreteGaussian::DiscreteGaussian(double sigma) noexcept : sigma_(sigma) {
    int exponent;
    const double mantissa = std::frexp(sigma, &exponent);
    log_t_ = std::max(0, mantissa < 0x1.6a09e667f3bcdp-1 ? exponent - 1 : exponent);
    quotient_ = std::ldexp(sigma, -log_t_);
    integer_ = static_cast<std::uint64_t>(std::ldexp(mantissa, 53));
    shift_ = 53 - exponent;
}

std::int64_t DiscreteGaussian::operator()(WordSource& words) const {
    const std::uint64_t t = std::uint64_t{1} << log_t_;
    for (;;) {
        const std::uint64_t bits = words.next64();
        const std::uint64_t r = bits & (t - 1);
        const bool negative = (bits >> 63) != 0;                       // t <= 2^41
        const double x = std::ldexp(static_cast<double>(r), -log_t_);  // exact
        if (!bernoulli_exp(words, x, 0.0, [&] { return Fraction{Natural(r), Natural(t)}; })) continue;
        std::uint64_t y = r;
        while (bernoulli_exp(words, 1.0, 0.0, [] { return Fraction{Natural(1), Natural(1)}; })) y += t;
        if (negative && y == 0) continue;
        // With a = y / sigma and b = sigma / t (exact), z = a - b is off by u (a + |z|), and z^2/2 by less than
        // |z| u (a + |z|) + 3u z^2 / 2 + ... <= 4u (a + b)^2; for g <= 64, |z| < 12 and b < 1.5 make that less than
        // 2^-42.
        const double a = static_cast<double>(y) / sigma_, z = a - quotient_;
        const double g = 0.5 * z * z, error = 0x1p-50 * (a + quotient_) * (a + quotient_);
        const auto exact = [&] {  // (y t - sigma^2)^2 / (2 sigma^2 t^2), times 4^(2 shift) above and below
            const Natural square = Natural(integer_) * Natural(integer_);
            const auto twice = static_cast<std::size_t>(2 * shift_), log_t = static_cast<std::size_t>(log_t_);
            const Natural product = Natural(y).times_power_of_two(twice + log_t);
            const Natural difference = product < square ? square - product : product - square;
            return Fraction{difference * difference, square.times_power_of_two(twice + 2 * log_t + 1)};
        };
        if (bernoulli_exp(words, g, error, exact))
            return negative ? -static_cast<std::int64_t>(y) : static_cast<std::int64_t>(y);
    }
}

void add_discrete_gaussian(const ChaChaStream& stream, double sigma, std::int64_t* out, std::size_t count,
                           int threads) noexcept {
    constexpr std::size_t kChunk = 256;
    const DiscreteGaussian law(sigma);
    parallel_for((count + kChunk - 1) / kChunk, threads, [&](std::size_t begin, std::size_t end) {
        for (std::size_t c = begin; c < end; ++c) {
            WordSource words({stream.key, c});
            for (std::size_t i = c * kChunk; i < std::min(count, (c + 1) * kChunk); ++i)
                out[i] = static_cast<std::int64_t>(static_cast<std::uint64_t>(out[i]) +
                                                   static_cast<std::uint64_t>(law(words)));
        }
    });
}

}  // namespace renyi
