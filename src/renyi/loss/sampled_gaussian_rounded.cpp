// The sum is that of sampled_gaussian_quadrature.hpp, with F = (1+x)^alpha - 1 - alpha x = beta h + y phi(beta l),
//     w = u c - c^2/2,  x = q expm1(w),  y = 1 + x,  l = log y,  h = y l - x,  phi(t) = e^t - 1 - t,  beta = alpha - 1,
// or of (1+x)^alpha itself where A is large. At alpha = 1 it is that of h, whose sum is the divergence.
//
// A Ball carries a bound of its absolute error, raised with every operation: the operations of double_double.hpp have
// an error of 2^-100 of the result, or of the sum of the sizes of the terms; elementary_dd.hpp states those of the
// functions. The bounds are computed in double; kSlack covers their own roundings.
//
// Truncation. The sum leaves out nodes before the first, where F <= beta q^2 max(1, alpha/2) and y <= 1
// (sampled_gaussian_quadrature.cpp); nodes beyond the last, where F <= alpha beta/2 x^2 y^(alpha-2)+ and y^alpha fall
// at least as Gaussians about max(alpha, 2) c, since log y rises by at most c; and single nodes at which
// max(beta q^2 max(1, alpha/2), y^alpha) n is negligible.
#include "renyi/loss/sampled_gaussian.hpp"

#include <array>
#include <cmath>
#include <cstddef>

#include "renyi/fp/double_double.hpp"
#include "renyi/loss/sampled_gaussian_quadrature.hpp"
#include "renyi/special/elementary.hpp"
#include "renyi/special/elementary_dd.hpp"

namespace renyi {

namespace {

constexpr double kSlack = 1.0 + 0x1p-20;
constexpr double kUlp = 0x1p-100;       // relative error of an operation
constexpr double kNats = 60.0;          // nats of the aliasing error: 2 e^-60 < 2^-85
constexpr double kLeftOut = 66.0;       // nats of the nodes left out, relative: e^-66 < 2^-95
constexpr double kMostNodes = 16000.0;  // u = j h is exact
constexpr double kLargest = 690.0;      // largest exponent
constexpr double kDirect = 81.0;        // beta l beyond which alpha e^-beta l < 2^-96 is dropped
constexpr double kGrown = 300.0;        // w beyond which l = log q + w to (1-q)/q e^-w < 2^-390
constexpr double kSmallX = 0x1p-4, kSmallT = 0x1p-3;

struct Ball {
    DoubleDouble value;
    double error;
};

double size(const Ball& a) noexcept { return std::fabs(a.value.hi); }

Ball operator+(const Ball& a, const Ball& b) noexcept {
    return {a.value + b.value, kSlack * (a.error + b.error + kUlp * (size(a) + size(b)))};
}

Ball operator-(const Ball& a, const Ball& b) noexcept {
    return {a.value - b.value, kSlack * (a.error + b.error + kUlp * (size(a) + size(b)))};
}

Ball operator*(const Ball& a, const Ball& b) noexcept {
    const double error = size(a) * b.error + size(b) * a.error + a.error * b.error;
    return {a.value * b.value, kSlack * (error + kUlp * size(a) * size(b))};
}

// e^a for |a| <= 690. exp_fine has an error of 2^-97; |lo| < 2^-43, and lo^3/6 < 2^-131.
Ball exp_of(const Ball& a) noexcept {
    const double lo = a.value.lo;
    const DoubleDouble value = exp_fine(a.value.hi) * (DoubleDouble{1.0, 0.0} + lo + 0.5 * lo * lo);
    return {value, kSlack * value.hi * (0x1p-95 + a.error * (1.0 + a.error))};
}

// e^a - 1: lo adds e^hi lo (1 + lo/2).
Ball expm1_of(const Ball& a) noexcept {
    const double grown = a.value.hi > -700.0 ? lane_exp(a.value.hi) : 0.0, lo = a.value.lo;
    const DoubleDouble value = expm1_dd(a.value.hi) + grown * lo * (1.0 + 0.5 * lo);
    const double rounding = kUlp * std::fabs(value.hi) + 0x1p-50 * grown * std::fabs(lo);
    return {value, kSlack * (expm1_dd_error(a.value.hi) + rounding + grown * a.error * (1.0 + a.error))};
}

// log y, y = 1 + x > 0: see log1p_dd.
Ball log1p_of(const Ball& x, const Ball& y) noexcept {
    const DoubleDouble value = log1p_dd(x.value, y.value);
    if (size(x) < 0x1p-6) return {value, kSlack * (0x1p-78 * std::fabs(value.hi) + 1.02 * x.error)};
    const double moved = y.error / (y.value.hi - y.error);
    return {value, kSlack * (0x1p-79 * (1.0 + std::fabs(value.hi) * 0x1p-20) + moved)};
}

// sum_k f(k) x^k, k = 0 ... Terms - 1, for small x.
template <std::size_t Terms>
DoubleDouble series(const std::array<DoubleDouble, Terms>& f, DoubleDouble x) noexcept {
    DoubleDouble sum = f[Terms - 1];
    for (std::size_t k = Terms - 1; k-- > 0;) sum = f[k] + x * sum;
    return sum;
}

// Coefficients of the series: 1/(k (k-1)), k >= 2, of which 26 terms at |x| < 2^-4 leave out 2^-104/700; and 1/k!, of
// which 22 terms at |t| < 2^-3 leave out 2^-140.
std::array<DoubleDouble, 26> entropy_terms() noexcept {
    std::array<DoubleDouble, 26> f;
    for (std::size_t i = 0; i < f.size(); ++i) {
        const double k = static_cast<double>(i) + 2.0;
        f[i] = DoubleDouble{1.0, 0.0} / DoubleDouble{k * (k - 1.0), 0.0};
    }
    return f;
}

std::array<DoubleDouble, 22> exponential_terms() noexcept {
    std::array<DoubleDouble, 22> f;
    f[0] = {0.5, 0.0};
    for (std::size_t i = 1; i < f.size(); ++i) f[i] = f[i - 1] / DoubleDouble{static_cast<double>(i) + 2.0, 0.0};
    return f;
}

// y l - x; its derivative in x is l.
Ball entropy_of(const Ball& x, const Ball& y, const Ball& l) noexcept {
    static const auto terms = entropy_terms();
    if (size(x) >= kSmallX) return y * l - x;
    const DoubleDouble value = x.value * x.value * series(terms, -x.value);
    return {value, kSlack * (0x1p-95 * value.hi + 1.1 * size(x) * x.error + x.error * x.error)};
}

// e^t - 1 - t; its derivative is e^t - 1.
Ball phi_of(const Ball& t) noexcept {
    static const auto terms = exponential_terms();
    if (size(t) >= kSmallT) return expm1_of(t) - t;
    const DoubleDouble value = t.value * t.value * series(terms, t.value);
    return {value, kSlack * (0x1p-95 * value.hi + 1.2 * size(t) * t.error + t.error * t.error)};
}

Ball exact(double a) noexcept { return {{a, 0.0}, 0.0}; }
Ball exact_difference(double a, double b) noexcept { return {two_sum(a, -b), 0.0}; }

// Returns log A, at alpha = 1 the divergence; with an infinite error outside the domain of this algorithm.
Ball log_a_or_divergence(double q, double sigma, double alpha) noexcept {
    const Ball none{{0.0, 0.0}, kInfinity};
    if (!(q >= 1e-12 && q < 1.0 && sigma >= 0.05 && sigma <= 1e6 && alpha >= 1.0 && alpha <= 1e6)) return none;
    const SampledGaussianLaw law(q, sigma);
    const bool divergence = alpha == 1.0;
    const double beta = alpha - 1.0, least_beta = std::fmax(beta, kSmallestBeta);
    const double log_excess = log_excess_remove(law, alpha);
    const Certified near = divergence ? Certified{0.0, 0.0} : log_a(q, sigma, alpha);
    const bool large = near.value > 0.7;  // A > 2
    const double top = large ? std::nearbyint(near.value) : 0.0;
    const double h = step_remove(law, alpha, log_excess, divergence ? Summand::derivatives : Summand::excess, kNats);
    // The nodes left out are compared with A, or with a lower bound of A - 1.
    const double floor = (large ? near.value - 0.1 : log_excess) - kLeftOut;
    const double log_left = large ? 0.0 : lane_log(least_beta * q * q * std::fmax(1.0, 0.5 * alpha));
    const double middle = std::fmax(alpha, 2.0) * law.c;
    double first = -std::sqrt(2.0 * std::fmax(log_left - floor, 8.0)), last = middle + 2.0;
    for (;; last += 1.0) {
        const double away = last - 2.0 * law.c, ratio = law.log_ratio(last);
        const double height = large ? alpha * ratio - 0.5 * last * last
                                    : lane_log(0.5 * alpha * least_beta * q * q) + law.c * law.c - 0.5 * away * away +
                                          std::fmax(alpha - 2.0, 0.0) * ratio;
        if (height + 1.0 + 1.0 / ((last - middle) * h) < floor) break;
        if (!(last < middle + 100.0)) return none;
    }
    const double from = std::floor(first / h), to = std::ceil(last / h);
    if (!(to < kMostNodes && -from < kMostNodes)) return none;
    const double negligible = floor - std::log(to - from);
    const Ball c{DoubleDouble{1.0, 0.0} / DoubleDouble{sigma, 0.0}, 2.0 * kUlp * law.c};
    const Ball half_square = c * c * exact(0.5), order = exact_difference(alpha, 1.0);
    const Ball rate = exact(q), rest = exact_difference(1.0, q);
    const DoubleDouble log_q = log_dd(rate.value);
    const Ball log_rate{log_q, 0x1p-79 * (1.0 + std::fabs(log_q.hi) * 0x1p-20)};
    Ball sum = exact(0.0);
    for (double j = from; j <= to; j += 1.0) {
        const double u = j * h, ratio = law.log_ratio(u);
        const double height = std::fmax(log_left, alpha * ratio) - 0.5 * u * u;
        if (height + 1.0 < negligible) continue;
        const bool direct = large || (!divergence && beta * ratio > kDirect);
        const double limit = direct ? 0x1p45 : kLargest;
        if (!(alpha * std::fabs(ratio) < limit && law.w(u) > -kLargest && (direct || u * u < 2.0 * kLargest)))
            return none;
        const Ball w = c * exact(u) - half_square;
        const bool grown = direct && w.value.hi > kGrown;
        const Ball bounded = grown ? exact(0.0) : w;
        const Ball x = rate * expm1_of(bounded), y = rest + rate * exp_of(bounded);
        const Ball l = grown ? log_rate + w : log1p_of(x, y);
        if (direct) {  // e^(alpha l - u^2/2 - top), u^2/2 + top exact, which equals n F to alpha e^(-beta l)
            Ball power = exp_of(exact(alpha) * l - Ball{two_sum(0.5 * u * u, top), 0.0});
            power.error += large ? 0.0 : 0x1p-94 * power.value.hi;
            sum = sum + power;
            continue;
        }
        const Ball n{exp_fine(-0.5 * u * u), 0x1p-96 * lane_exp(-0.5 * u * u)};
        const Ball entropy = entropy_of(x, y, l);
        sum = sum + n * (divergence ? entropy : order * entropy + y * phi_of(order * l));
    }
    Ball total = sum * exact(h) * Ball{kInverseRoot2PiInTwo, 0x1p-106};
    // Aliasing, and the three kinds of truncation.
    total.error += total.value.hi * (0x1p-85 + 0x1p-93);
    if (divergence) return total;
    const Ball one = exact(1.0);
    const Ball found = large ? log1p_of(total - one, total) + exact(top) : log1p_of(total, one + total);
    return found;
}

// Returns the double nearest to every number of a ball, or NaN.
double rounded(const Ball& a) noexcept {
    const double error = kSlack * a.error + 0x1p-104 * size(a);
    const double low = a.value.hi + (a.value.lo - error), high = a.value.hi + (a.value.lo + error);
    return low == high ? low : kNaN;
}

}  // namespace

double log_a_nearest(double q, double sigma, double alpha) noexcept {
    return alpha > 1.0 ? rounded(log_a_or_divergence(q, sigma, alpha)) : kNaN;
}

double rdp_sampled_gaussian_nearest(double q, double sigma, double alpha) noexcept {
    const Ball found = log_a_or_divergence(q, sigma, alpha);
    if (!(alpha > 1.0)) return rounded(found);
    const DoubleDouble value = found.value / two_sum(alpha, -1.0);
    const double beta = alpha - 1.0;
    return rounded({value, kSlack * (found.error / beta + 2.0 * kUlp * std::fabs(value.hi))});
}

}  // namespace renyi
