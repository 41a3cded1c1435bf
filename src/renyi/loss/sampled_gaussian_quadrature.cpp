// log A by the trapezoidal rule on the convex form
//     A - 1 = E_mu0[ (1+x)^alpha - 1 - alpha x ],   x = mu/mu0 - 1,
// whose integrand is >= 0 (Bernoulli) and is computed as a sum of non-negative pieces: nothing cancels, and the
// relative error of the sum S = A - 1 is the largest relative error of a term. The error is the sum of
//   aliasing    2^-54 for alpha >= 1, what step_add proves for alpha < 0   (the header)
//   rounding    of the terms and of the summation                          (sampled_gaussian_grid.cpp)
//   truncation  of the nodes left out                                      (same)
// log A = log1p(S) keeps it: |d log log1p(S) / d log S| = S / ((1+S) log1p(S)) <= 1.
#include "renyi/loss/sampled_gaussian_quadrature.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "renyi/loss/sampled_gaussian.hpp"
#include "renyi/special/elementary.hpp"
#include "renyi/special/gauss_legendre.hpp"
#include "renyi/special/normal.hpp"

namespace renyi {

namespace {

constexpr double kShoulder = 24.0;    // u of a second rise behind a single peak; affects the choice of sums alone
constexpr double kFarFrom = 9.0;      // u up to which the sum near the origin is off by 12 * 81/2 u at most
constexpr double kNegligible = 45.0;  // nats: e^-45 < 2^-64
constexpr double kVanishingBeta = 0x1p-500;  // alpha - 1 at alpha = 1: (A - 1)/beta = KL (1 + O(beta))

// S = A - 1 and the derivatives of A, all to be multiplied by e^scale; `first`, `second` are moments of l - center
// under the tilted law.
struct Excess {
    double scale, value, slope, first, second;
    double relative_error;
    double scale_error = 0.0;  // absolute
};

LogADerivatives logarithm(const Excess& e) noexcept {
    if (!(e.relative_error < 0x1p-20)) return {kOutsideDomain, kNaN, kNaN};
    const double unit = e.scale == 0.0 ? 1.0 : lane_exp(-e.scale);  // 1 in the scale of the sums
    const double a = unit + e.value;
    double value, sensitivity;
    if (e.scale == 0.0) {
        value = lane_log1p(e.value);
        sensitivity = e.value / (a * value);
    } else {
        value = e.scale + lane_log(a);
        sensitivity = e.value / (a * value);
    }
    const double mean = e.first / a;
    return {{value, e.relative_error * sensitivity + e.scale_error / value + 4.0 * kUnitRoundoff},
            e.slope / a,
            std::max(e.second / a - mean * mean, 0.0)};
}

Excess excess_of(const BulkSums& bulk, const Grid& grid) noexcept {
    const double f = grid.h * kInverseRoot2Pi;
    const double error = bulk.overflow ? kInfinity : bulk.rounding / bulk.value + bulk.truncation;
    return {0.0, f * bulk.value, f * bulk.slope, f * bulk.first, f * bulk.second, error + 4.0 * kUnitRoundoff};
}

// e^exponent is multiplied in while it stays within range.
Excess excess_of(const FarResult& far, const Grid& grid) noexcept {
    const bool large = far.exponent.hi > 600.0;
    // 8u: 3u of lane_exp, u of each other factor and product. |lo| <= 600 u: e^lo is 1 + lo to 2^-87.
    const double f = grid.h * kInverseRoot2Pi * ((1.0 + far.exponent.lo) * (large ? 1.0 : lane_exp(far.exponent.hi)));
    const FarSums& s = far.sums;
    return {large ? far.exponent.hi : 0.0,
            f * s.value,
            f * s.slope,
            f * s.first,
            f * s.second,
            far.rounding + far.truncation + (large ? 0.0 : far.exponent_error) + 10.0 * kUnitRoundoff,
            large ? far.exponent_error : 0.0};
}

Excess operator+(const Excess& a, const Excess& b) noexcept {
    if (b.scale > a.scale) return b + a;
    const double w = lane_exp(b.scale - a.scale);
    const double value = a.value + w * b.value;
    return {a.scale,
            value,
            a.slope + w * b.slope,
            a.first + w * b.first,
            a.second + w * b.second,
            (a.relative_error * a.value + b.relative_error * (w * b.value)) / value,
            a.scale_error + b.scale_error};
}

// Where the peaks of the integrand of A lie for alpha > 1 and alpha c > 9, and which of them are not negligible.
struct Peaks {
    double low = 0.0, high = 0.0;  // modes; equal if there is one
    bool low_far = false;          // low is beyond the bulk
    bool high_counts = false;      // high is beyond the bulk and not negligible
    double ends_at = kInfinity;    // beyond this u the integrand is negligible, and no far part is needed
    double boundary_posterior;     // at u = 9
};

Peaks find_peaks(const SampledGaussianLaw& law, double alpha, double log_excess) noexcept {
    Peaks peaks;
    // Right of the split point l <= log q + w + log 2, so the integrand stays below e^{E + alpha log 2}, E its height
    // at alpha c if p were 1. The margin covers the number of nodes and the factor alpha (alpha-1)/2 by which the
    // bulk's tail bound exceeds the integrand.
    const double margin =
        kNegligible + 2.0 * std::max(std::ilogb(alpha) * kLog2, 0.0) + (std::ilogb(20.0 + alpha * law.c) + 1) * kLog2;
    const double top = alpha * law.log_q + 0.5 * alpha * (alpha - 1.0) * law.c * law.c;
    peaks.boundary_posterior = law.posterior(kFarFrom);
    const bool falls_at_boundary = alpha * peaks.boundary_posterior * law.c < kFarFrom;  // then a mode lies below it
    if (alpha >= 2.0 && falls_at_boundary && top + alpha * kLog2 + margin < log_excess && law.split() > kFarFrom) {
        peaks.ends_at = law.split();
        return peaks;
    }
    peaks.high = far_mode(law, alpha, alpha * law.c);
    peaks.low = falls_at_boundary && peaks.high > kFarFrom ? 0.0 : far_mode(law, alpha, 0.0);
    const bool two = peaks.high - peaks.low > 1.0;
    if (!two) peaks.low = peaks.high;
    peaks.low_far = two && peaks.low > kFarFrom;
    const double floor = peaks.low_far ? std::max(log_excess, far_height(law, alpha, peaks.low) - 2.0) : log_excess;
    // l >= log q + w: the height of the high peak is at least `top`.
    peaks.high_counts = peaks.high > kFarFrom && (alpha < 2.0 || !two || top + margin > floor ||
                                                  far_height(law, alpha, peaks.high) + margin > floor);
    // A single peak may have a shoulder that reaches beyond the bulk.
    if (peaks.high <= kFarFrom) peaks.high_counts = far_height(law, alpha, kShoulder) + margin > log_excess;
    if (two && !peaks.high_counts && peaks.high > kFarFrom)
        peaks.ends_at = far_valley(law, alpha, peaks.low, peaks.high);
    return peaks;
}

// Up to two far parts and the bulk below them; sampled_gaussian_grid.cpp says why the gaps between them
// are negligible.
Excess excess_remove(double q, double sigma, double alpha, double beta, bool derivatives, NodeTable* table) noexcept {
    const SampledGaussianLaw law(q, sigma);
    const double log_excess = log_excess_remove(law, alpha);
    const Grid grid = make_grid(
        q, sigma,
        step_remove(law, alpha, log_excess, derivatives || alpha == 1.0 ? Summand::derivatives : Summand::excess));
    const double c = grid.c;
    if (alpha * c <= kFarFrom) {
        const double center = derivatives ? law.log_ratio(far_mode(law, alpha, 0.0)) : 0.0;
        return excess_of(integrate_bulk_remove({law, grid, alpha, beta, log_excess, derivatives, center, table},
                                               {kInfinity, std::max(alpha, 2.0) * c, alpha * c}),
                         grid);
    }
    const Peaks peaks = find_peaks(law, alpha, log_excess);
    double center = 0.0;
    if (derivatives) {  // at the mode with most of the mass of the tilted law
        const double low = far_mode(law, alpha, 0.0);
        const bool prefer_low = !peaks.high_counts || far_height(law, alpha, low) > far_height(law, alpha, peaks.high);
        center = law.log_ratio(prefer_low ? low : peaks.high);
    }
    // The form near the origin is more accurate while alpha l < 2; beyond u = 27 its terms are below 2^-500. e^l =
    // (1-q)/(1-p) at u = 9 decides most cases, since e^t <= 1 + t + t^2 for t <= 1.
    const double t = 2.0 / alpha;
    const bool grown = alpha >= 2.0 && law.one_minus_q >= (1.0 + t + t * t) * (1.0 - peaks.boundary_posterior);
    const double crossing = grown ? kFarFrom : (lane_log1p(lane_expm1(t) / q) + 0.5 * c * c) * sigma;
    FarRange range{std::floor(std::clamp(crossing, kFarFrom, 27.0) / grid.h), kInfinity, true};
    Excess sum{};
    bool any = false, joined = true;
    if (peaks.high_counts) {
        FarRange high_range = range;
        if (peaks.low_far)
            high_range.left = std::max(range.left, std::floor(far_valley(law, alpha, peaks.low, peaks.high) / grid.h));
        const FarResult far =
            integrate_far(law, grid, Direction::remove, alpha, beta, peaks.high, center, high_range, derivatives);
        sum = excess_of(far, grid);
        any = true;
        joined = far.joined;
        range = {range.left, far.leftmost, false};
    }
    const bool low_counts =
        !any || joined || far_height(law, alpha, peaks.low) > far_height(law, alpha, peaks.high) - kNegligible - 20.0;
    if (peaks.low_far && low_counts && (joined || peaks.low < (range.right - 1.0) * grid.h)) {
        range.last = false;
        if (!any) range.right = std::ceil(peaks.ends_at / grid.h);
        const FarResult far =
            integrate_far(law, grid, Direction::remove, alpha, beta, peaks.low, center, range, derivatives);
        sum = any ? sum + excess_of(far, grid) : excess_of(far, grid);
        any = true;
        joined = far.joined;
        range.right = far.leftmost;
    }
    const double known = any ? std::max(log_excess, sum.scale + lane_log(sum.value)) : log_excess;
    if (any && !joined && known >= 100.0) return sum;  // the bulk is below e^41
    const bool two = peaks.high - peaks.low > 1.0;
    BulkEnd end{range.right, kInfinity, kInfinity};
    if (any) {
        if (alpha >= 2.0) end.single_after = 0.0;
        if (!joined && two && !peaks.low_far) end.falls_after = kFarFrom;
    } else if (peaks.ends_at < kInfinity) {
        end = {std::ceil(peaks.ends_at / grid.h), 0.0, kFarFrom};
    } else {
        end = {kInfinity, std::max(alpha, 2.0) * c, peaks.high};
    }
    const BulkSums bulk = integrate_bulk_remove({law, grid, alpha, beta, known, derivatives, center, table}, end);
    return any ? sum + excess_of(bulk, grid) : excess_of(bulk, grid);
}

Excess excess_add(double q, double sigma, double alpha, bool derivatives) noexcept {
    const SampledGaussianLaw law(q, sigma);
    const double c = law.c, z = -alpha;
    const double mode = z * q * c < 0.01 ? 0.0 : far_mode(law, alpha, 0.0);
    const double center = law.log_ratio(mode);
    const double log_a = std::max(far_height(law, alpha, mode), 0.0);
    const double small = std::min(lane_log(z * (z + 1.0) * q * q * std::min(c * c, 1.0) * 0.125), 0.0);
    const double log_excess = log_a > 1.0 ? std::max(log_a - 20.0, small) : small;
    const AddStep step = step_add(law, z, mode, log_excess, log_a);
    const Grid grid = make_grid(q, sigma, step.h);
    if (mode >= -kFarFrom && log_a < 45.0) {
        Excess e =
            excess_of(integrate_bulk_add({law, grid, alpha, alpha, log_excess, derivatives, center}, mode), grid);
        e.relative_error += lane_exp(std::min(step.log_aliasing - lane_log(e.value), 0.0));
        return e;
    }
    // The weights alone are summed here: this is A, not A - 1.
    Excess e = excess_of(integrate_far(law, grid, Direction::add, alpha, alpha - 1.0, mode, center,
                                       {-kInfinity, kInfinity, true}, derivatives),
                         grid);
    e.relative_error += lane_exp(std::min(step.log_aliasing - e.scale - lane_log(e.value), 0.0));
    if (e.scale == 0.0) e.value -= 1.0;
    return e;
}

}  // namespace

LogADerivatives log_a_by_quadrature(double q, double sigma, double alpha, bool derivatives, NodeTable* table) noexcept {
    if (alpha < 0.0) return logarithm(excess_add(q, sigma, alpha, derivatives));
    Excess e = excess_remove(q, sigma, alpha, alpha > 1.0 ? alpha - 1.0 : kVanishingBeta, derivatives, table);
    e.relative_error += 0x1p-54;  // aliasing, step_remove
    return logarithm(e);
}

Certified kullback_leibler_by_quadrature(double q, double sigma) noexcept {
    const Excess e = excess_remove(q, sigma, 1.0, kVanishingBeta, false, nullptr);
    if (!(e.relative_error < 0x1p-20)) return kOutsideDomain;
    return {e.value / kVanishingBeta, e.relative_error + 0x1p-54};
}

// log A of the part of mu0 below a limit: panels of Gauss-Legendre nodes that end there.
//
//     A_limit - 1 = integral_{u <= limit} n(u) ((1+x)^alpha - 1 - alpha x) du - integral_{u > limit} n(u) (1 + alpha x)
//     du,
// with the first integrand split as in the quadrature of the whole, into beta h(x) + (1+x) phi(beta l) >= 0, and the
// second integral (1 - alpha q) Q(limit) + alpha q Q(limit - 1/sigma). A panel of half-width r has
// the Bernstein ellipse of parameter 4, 1.875 r high and 1.125 r beyond its ends. With r <= 1.4 sigma the ellipse keeps
// away from the branch points, pi sigma off the axis; with r <= 0.4 the density grows by e^0.28 at most there, and
// |(1+x)^alpha - 1 - alpha x| <= alpha beta/2 X^2 (1+X)^(alpha-2)+ up to a factor 2, X = |x| + 2q. The growth of that
// from the middle of the last panel to the end of its ellipse, where l rises most steeply, stands for all panels
// against 4^-32 = 2^-64; e^3 is for those near the origin.
//
// Rounding, in units of u = 2^-53. The integrals may cancel, so that errors are added as absolute ones. A node u is off
// by 2|u|, w by (3|u| c + 2 c^2) with that, n by 3 u^2 of itself; the other steps as in sampled_gaussian_kernels.cpp.
// With d/dw ((1+x)^alpha - 1 - alpha x) = alpha ((1+x)^beta - 1) q e^w a node's part is right to
//     n alpha |expm1(beta l)| q e^w (3|u| c + 2 c^2) + (66 + 12 max(beta l, 0) + 3 u^2) of itself,
// and where e^{alpha l - u^2/2} stands for it, to (16 + alpha (12 l + 3|u| c + 2 c^2 + 2^-19) + 3 u^2) of
// itself.

namespace {

constexpr double kHalfWidth = 0.4, kHalfWidthOfSigma = 1.4, kEllipse = 2.125;  // half-axes, in half-widths
constexpr double kLargestExponent = 690.0;                                     // beyond, A leaves the range of doubles
// Of beta l, from which (1+x)^alpha stands for the integrand: 1 + alpha x <= alpha e^-50 (1+x)^alpha < 2^-72 alpha
// times.
constexpr double kGrown = 50.0;

struct Sums {
    double value = 0.0, first = 0.0;  // of (1+x)^alpha - 1 - alpha x and its derivative in alpha
    double mass = 0.0, second = 0.0;  // of (1+x)^alpha and (l - centre)^2 (1+x)^alpha
    double centred = 0.0;             // of (l - centre) (1+x)^alpha
    double largest = 0.0;             // exponent
    double rounding = 0.0;            // of value, absolute, in units of u
};

void add_node(const SampledGaussianLaw& law, double alpha, double centre, double u, double weight,
              Sums& sums) noexcept {
    const double beta = alpha - 1.0, w = law.w(u);
    const double x = law.q * lane_expm1(std::min(w, 700.0)), y = 1.0 + x;
    const LogReduction log = reduce_log(y, x);
    const double l = w < 700.0 ? log_of(log) : law.log_ratio(u);
    const double t = beta * l;
    const double exponent = alpha * l - 0.5 * u * u;
    sums.largest = std::max(sums.largest, exponent);
    const double grown = weight * lane_exp(std::min(exponent, kLargestExponent));
    sums.mass += grown;
    sums.centred += (l - centre) * grown;
    sums.second += (l - centre) * (l - centre) * grown;
    const double move = std::fabs(u) * 3.0 * law.c + 2.0 * law.c * law.c;  // of w
    if (t > kGrown) {
        sums.rounding += grown * (16.0 + alpha * (12.0 * l + move + 0x1p-19) + 3.0 * u * u);
        sums.value += grown;
        sums.first += l * grown;
        return;
    }
    const double n = weight * lane_exp(-0.5 * u * u);
    const ExpReduction e = reduce_exp(std::max(t, -700.0));
    const double h = x * l + log1pmx_of(log, x);
    const double part = n * (beta * h + y * phi_of(e));
    sums.rounding +=
        n * alpha * std::fabs(expm1_of(e)) * (x + law.q) * move + part * (66.0 + 12.0 * std::max(t, 0.0) + 3.0 * u * u);
    sums.value += part;
    sums.first += n * (l * y * expm1_of(e) + h);
}

}  // namespace

LogADerivatives log_a_below(double q, double sigma, double alpha, double limit) noexcept {
    const SampledGaussianLaw law(q, sigma);
    const double c = law.c, centre = law.log_ratio(std::min(limit, std::max(alpha * q * c, 0.0)));
    const double start = -12.0 - std::sqrt(std::max(2.0 * std::log(alpha), 0.0));
    const double panels = std::ceil((limit - start) / (2.0 * std::min(kHalfWidth, kHalfWidthOfSigma * sigma)));
    const double half_width = (limit - start) / (2.0 * panels);
    if (!(panels < 1e3)) return {kOutsideDomain, kNaN, kNaN};
    Sums sums;
    for (double j = 0.0; j < panels; ++j) {
        const double middle = start + (2.0 * j + 1.0) * half_width;
        const double before = std::exchange(sums.value, 0.0);  // 16 additions, then one for each panel
        for (int i = 0; i < kLegendreHalf; ++i) {
            const double away = half_width * kLegendreNode[i], weight = half_width * kLegendreWeight[i];
            add_node(law, alpha, centre, middle - away, weight, sums);
            add_node(law, alpha, centre, middle + away, weight, sums);
        }
        sums.value += before;
    }
    if (!(sums.largest < kLargestExponent)) return {kOutsideDomain, kNaN, kNaN};
    const Certified moved = upper_tail(limit - c), beyond = upper_tail(limit);
    const double inner = kInverseRoot2Pi * sums.value, mean_ratio = alpha * q;
    const double value = inner - ((1.0 - mean_ratio) * beyond.value + mean_ratio * moved.value);
    const double first = kInverseRoot2Pi * sums.first - q * (moved.value - beyond.value);
    const double a = 1.0 + value, mean = sums.centred / sums.mass;
    const auto log_majorant = [&](double u) {
        const double odds = law.q * (lane_exp(std::min(law.w(u), 700.0)) + 1.0);
        return 2.0 * lane_log(odds) + std::max(alpha - 2.0, 0.0) * law.log_ratio(u) - 0.5 * u * u;
    };
    const double middle = limit - half_width, end = middle + kEllipse * half_width;
    const double growth = std::max(log_majorant(end) - log_majorant(middle), 0.0);
    // 64/15 r M 4^-32/(1 - 4^-2) <= 2^-62 times 2 r M, with a factor 1.7 for the roundings of the growth.
    const double relative = (24.0 + panels) * kUnitRoundoff + 0x1p-62 * lane_exp(std::min(3.0 + growth, 700.0));
    const double error = relative * inner + kInverseRoot2Pi * kUnitRoundoff * sums.rounding * (1.0 + 0x1p-30) +
                         (beyond.relative_error + 4.0 * kUnitRoundoff) * (1.0 + mean_ratio) * beyond.value +
                         (moved.relative_error + 4.0 * kUnitRoundoff) * mean_ratio * moved.value;
    const double log_a = value > -0.5 ? lane_log1p(value) : kNaN;
    return {
        {log_a, error / std::fabs(a * log_a) + 4.0 * kUnitRoundoff}, first / a, sums.second / sums.mass - mean * mean};
}

}  // namespace renyi
