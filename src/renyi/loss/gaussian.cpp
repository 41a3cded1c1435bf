#include "renyi/loss/gaussian.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "renyi/fp/certified.hpp"
#include "renyi/fp/double_double.hpp"
#include "renyi/fp/search.hpp"

namespace renyi {

namespace {

constexpr double kLargest = std::numeric_limits<double>::max();

// alpha / sigma^2 for arguments in [2^-200, 2^200], where no step overflows or underflows.
Certified divide_by_square(double alpha, double sigma) noexcept {
    const DoubleDouble square = two_prod(sigma, sigma);  // sigma^2 exactly
    const double ratio = alpha / square.hi;
    const DoubleDouble product = two_prod(ratio, square.hi);
    // alpha / sigma^2 = ratio + residual / sigma^2, residual = alpha - ratio sigma^2. Here alpha - product.hi is exact
    // (Sterbenz), the rest is below 2^-51 alpha and loses 2^-53 of itself at each step: the error of the correction is
    // less than 2^-100 ratio, and only the last addition rounds: relative error < 2^-53 (1 + 2^-40).
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
    if (c.value == kInfinity && std::isfinite(alpha)) return kLargest;  // the true value is finite
    if (c.value >= kSmallestNormal || std::isinf(sigma)) return lower(c);
    // A subnormal result: the scaling rounds once more, by at most half a unit; the error of the mantissa is smaller.
    return std::isnan(c.value) ? kNaN : std::max(0.0, std::nextafter(c.value, -1.0));
}

double rdp_gaussian_upper(double sigma, double alpha) noexcept {
    const Certified c = rdp_gaussian(sigma, alpha);
    if (c.value >= kSmallestNormal || std::isinf(sigma)) return upper(c);
    return std::isnan(c.value) ? kNaN : std::nextafter(c.value, 1.0);
}

namespace {

// The relative margin by which the left sides must stay below the right sides. About ten operations, no cancelling
// subtraction of more than a third of either side, and logarithms with error kSystemError lead to an error below 1e-14.
constexpr double kGuard = 1e-12;
constexpr double kLog5Upper = 1.6094379124341005;  // log 5 = 1.60943791243410037...

double step_up(double x) noexcept { return std::nextafter(x, kInfinity); }

// The fused multiply-add gives the sign of the rounding error, exactly unless the error itself underflows.
constexpr double kResidualsExact = 0x1p-900;

double product_up(double a, double b) noexcept {
    const double p = a * b;
    return p < kResidualsExact || std::fma(a, b, -p) > 0.0 ? step_up(p) : p;
}

double quotient_up(double a, double b) noexcept {
    const double r = a / b;
    return r < kResidualsExact || a < kResidualsExact || std::fma(-r, b, a) > 0.0 ? step_up(r) : r;
}

bool in_range(double q, double sigma) noexcept { return q >= 0.0 && q <= 0.2 && sigma >= 4.0; }

bool releases_nothing(double q, double sigma) noexcept { return q == 0.0 || std::isinf(sigma); }

// log(1 + 1/(q (alpha-1))), also where the quotient overflows.
double log_ratio(double q, double alpha) noexcept {
    const double x = q * (alpha - 1.0);
    return x > 1e-290 ? std::log1p(1.0 / x) : -std::log(q) - std::log(alpha - 1.0);
}

// (c1) and (c2) at q in (0, 0.2], sigma in [4, inf), alpha in (1, inf). Both become weaker as sigma grows, so that
// sigma may be capped to keep its square finite: the right sides grow with sigma once sigma^2 L > 2 and
// (sigma L)^2 > 2, which either condition implies there.
bool holds(BoundCondition condition, double q, double sigma, double alpha) noexcept {
    sigma = std::min(sigma, 1e150);
    const double square = sigma * sigma;
    const double l = log_ratio(q, alpha);
    const double budget = 2.0 * std::log(sigma);
    if (condition != BoundCondition::second) {
        // alpha + 2 log sigma <= sigma^2 L / 2
        if (!((alpha + budget) * (1.0 + kGuard) <= 0.5 * square * l)) return false;
    }
    if (condition != BoundCondition::first) {
        // L + log(q alpha) = log(q alpha + alpha/(alpha-1)) = log1p(q alpha + 1/(alpha-1)) > 0: the denominator of (c2)
        // is positive, and in this form nothing cancels.
        const double denominator = std::log1p(q * alpha + 1.0 / (alpha - 1.0)) + 0.5 / square;
        const double left = alpha * denominator + kLog5Upper + budget;
        if (!(left * (1.0 + kGuard) <= 0.5 * square * l * l)) return false;
    }
    return true;
}

}  // namespace

double rdp_sampled_gaussian_bound(double q, double sigma, double alpha) noexcept {
    if (!in_range(q, sigma) || !(alpha > 1.0) || std::isinf(alpha)) return kNaN;
    if (releases_nothing(q, sigma)) return 0.0;
    if (!holds(BoundCondition::both, q, sigma, alpha)) return kNaN;
    // alpha r before r r: alpha r >= r, so that a product underflows only if the bound itself does.
    const double r = quotient_up(q, sigma);
    return 2.0 * product_up(product_up(alpha, r), r);
}

// The permitted orders are an interval (1, largest]: the right side of (c1) falls with alpha. In (c2) the difference
// g = sigma^2 L^2/2 - log 5 - 2 log sigma - alpha D, D the denominator, has with x = q (alpha-1)
//   g' = (1 - sigma^2 L - q (alpha-1)^2) / ((alpha-1)(1+x)) - D < 0:
// if sigma^2 L < 1 then L < 1/16, x > 15 and q (alpha-1)^2 = x^2/q > 1. So bisection finds the end. It runs on the bit
// patterns of positive doubles, which are ordered as the doubles are: 63 halvings at most, each ends at a double.
double largest_order_of_bound(double q, double sigma, BoundCondition condition) noexcept {
    if (!in_range(q, sigma)) return kNaN;
    if (releases_nothing(q, sigma)) return kInfinity;
    // The condition holds next to 1: L > 37 there.
    const auto is_refused = [&](double alpha) { return !holds(condition, q, sigma, alpha); };
    return bisect_bits(step_up(1.0), kLargest, is_refused).low;
}

}  // namespace renyi
