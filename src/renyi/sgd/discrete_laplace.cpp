#include "renyi/sgd/discrete_laplace.hpp"

#include <algorithm>
#include <cmath>

#include "renyi/sgd/exact_exponential.hpp"

namespace renyi {

ExactScale::ExactScale(double scale) noexcept : value(scale) {
    int exponent;
    const double mantissa = std::frexp(scale, &exponent);
    log_modulus = std::max(0, mantissa < 0x1.6a09e667f3bcdp-1 ? exponent - 1 : exponent);
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

// distance <= 2^41 is exact in double, the quotient off by u; where e^-x counts, x is below 64.
bool DiscreteLaplace::accepts(WordSource& words, std::uint64_t distance) const {
    const double x = static_cast<double>(distance) / scale_.value;
    return bernoulli_exp(words, x, 0x1p-53 * std::min(x, 64.0), [&] {
        return Fraction{Natural(distance).times_power_of_two(static_cast<std::size_t>(scale_.shift)),
                        Natural(scale_.integer)};
    });
}

}  // namespace renyi
