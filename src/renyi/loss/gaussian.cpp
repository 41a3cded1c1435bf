#include "renyi/loss/gaussian.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "renyi/fp/double_double.hpp"

namespace renyi {

namespace {

constexpr double kLargest = std::numeric_limits<double>::max();
constexpr double kSmallestNormal = std::numeric_limits<double>::min();

// alpha / sigma^2 for arguments in [2^-200, 2^200], where no step overflows or underflows.
Certified divide_by_square(double alpha, double sigma) noexcept {
    const DoubleDouble square = two_prod(sigma, sigma);  // sigma^2 exactly
    const double ratio = alpha / square.hi;
    const DoubleDouble product = two_prod(ratio, square.hi);
    // alpha / sigma^2 = ratio + residual / sigma^2, residual = alpha - ratio sigma^2. Here alpha - product.hi is exact
    // (Sterbenz), the rest is below 2^-51 alpha and loses 2^-53 of itself at each step: the correction is off by less
    // than 2^-100 ratio, and only the last addition rounds: relative error < 2^-53 (1 + 2^-40).
    const double residual = ((alpha - product.hi) - product.lo) - ratio * square.lo;
    const bool exact = residual == 0.0 && product.lo == 0.0 && square.lo == 0.0;
    return {ratio + residual / square.hi, exact ? 0.0 : kUnitRoundoff * (1.0 + 0x1p-40)};
}

}  // namespace

Certified rdp_gaussian(double sigma, double alpha) noexcept {
    if (!(sigma > 0.0) || !(alpha >= 1.0)) return kOutsideDomain;
    if (sigma >= 0x1p-200 && sigma <= 0x1p200 && alpha <= 0x1p200) {
        const Certified c = divide_by_square(alpha, sigma);
        return {0.5 * c.value, c.relative_error};
    }
    if (std::isinf(sigma)) return {0.0, 0.0};
    if (std::isinf(alpha)) return {kInfinity, 0.0};
    int i = 0;
    int j = 0;
    const double a = std::frexp(alpha, &i);  // alpha = a 2^i, sigma = s 2^j with a, s in [1/2, 1)
    const double s = std::frexp(sigma, &j);
    const Certified c = divide_by_square(a, s);
    return {std::ldexp(c.value, i - 2 * j - 1), c.relative_error};
}

double rdp_gaussian_lower(double sigma, double alpha) noexcept {
    const Certified c = rdp_gaussian(sigma, alpha);
    if (c.value == kInfinity && std::isfinite(alpha)) return kLargest;  // the truth is finite
    if (c.value >= kSmallestNormal || std::isinf(sigma)) return lower(c);
    // A subnormal result: the scaling rounds once more, by at most half a unit, and the mantissa was off by less.
    return std::isnan(c.value) ? kNaN : std::max(0.0, std::nextafter(c.value, -1.0));
}

double rdp_gaussian_upper(double sigma, double alpha) noexcept {
    const Certified c = rdp_gaussian(sigma, alpha);
    if (c.value >= kSmallestNormal || std::isinf(sigma)) return upper(c);
    return std::isnan(c.value) ? kNaN : std::nextafter(c.value, 1.0);
}

}  // namespace renyi
