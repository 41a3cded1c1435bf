// The dispatcher. Its rules, in order:
//   1. outside the domain                                        NaN
//   2. alpha = 0 or 1, q = 0, sigma = inf                        log A = 0, exact
//   3. q = 1                                                     the Gaussian mechanism, alpha (alpha-1)/(2 sigma^2)
//   4. sigma > 1e40                                              that times q^2: the next terms are below 1e-33
//   5. alpha < 0 and the sampled component beyond |u| = 12       alpha log(1-q), as mu/mu0 = 1-q to e^-40/|alpha|
//   6. alpha > 1, far beyond the noise                           alpha (log q + E), E = (alpha-1)/(2 sigma^2): with
//      X = e^{cu - c^2/2}, c = 1/sigma, q^alpha E[X^alpha] <= A <= (1-q + q |X|_alpha)^alpha (Minkowski), and ends of
//      log A differ by alpha (1-q)/q e^-E at most
//   7. 1 < alpha <= 72, q <= 1/4, an expansion converges         expansion about either component, in double
//   8. integer alpha <= 4, sigma >= 1e-3                         binomial expansion: two or three terms
//   9. everything else                                           quadrature
// The series is never picked: it is slower than the quadrature and independent of it, and serves as a check.
#include "renyi/loss/sampled_gaussian.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <utility>

#include "renyi/loss/sampled_gaussian_expansion.hpp"
#include "renyi/loss/sampled_gaussian_quadrature.hpp"
#include "renyi/special/elementary.hpp"
#include "renyi/special/gauss_legendre.hpp"
#include "renyi/special/normal.hpp"

namespace renyi {

namespace {

constexpr double kLargestOrder = 1e6;
constexpr double kHugeSigma = 1e40;
constexpr double kSmallestBinomialSigma = 1e-3;  // smallest sigma of log_a_binomial
constexpr double kFar = 800.0;                   // E - 2 |log q| from which e^-E/q < e^-800 log A
constexpr double kTiny = 1e-100;                 // least q and sigma: smaller squares leave the range of double

bool in_domain(double q, double sigma, double alpha) noexcept {
    return (q == 0.0 || q >= kTiny) && q <= 1.0 && sigma >= kTiny &&
           ((alpha >= 1.0 && alpha <= kLargestOrder) || (alpha <= 0.0 && alpha >= -kLargestOrder));
}

bool is_beyond_density(double q, double c, double alpha) noexcept {
    if (!(alpha <= 0.0 && c > 20.0)) return false;
    const double split = 0.5 * c + (lane_log(1.0 - q) - lane_log(q)) / c;
    return split > 12.0 + (40.0 + lane_log(1.0 - alpha)) / c;
}

// Applies rules 1 to 6; returns whether one of them gave the answer.
bool at_limit(double q, double sigma, double alpha, LogADerivatives& answer) noexcept {
    const double c = 1.0 / sigma;
    if (!in_domain(q, sigma, alpha)) {
        answer = {kOutsideDomain, kNaN, kNaN};
        return true;
    }
    if (q == 0.0 || std::isinf(sigma)) {
        answer = {{0.0, 0.0}, 0.0, 0.0};
    } else if (q == 1.0 || sigma > kHugeSigma) {
        const double scale = q * c * (q * c);
        answer = {{0.5 * alpha * (alpha - 1.0) * scale, 8.0 * kUnitRoundoff}, (alpha - 0.5) * scale, scale};
    } else if (is_beyond_density(q, c, alpha)) {
        const double l = lane_log1p(-q);
        answer = {{alpha * l, 4.0 * kUnitRoundoff}, l, 0.0};
    } else if (const double l = lane_log(q), half = 0.5 * c * c; alpha > 1.0 && (alpha - 1.0) * half > kFar - 2.0 * l) {
        // |l| <= E/2: the sum has an error of at most 2 (2 |l| + 4 E) u/E <= 10 u, relatively.
        answer = {
            {alpha * (l + (alpha - 1.0) * half), 16.0 * kUnitRoundoff}, l + (2.0 * alpha - 1.0) * half, 2.0 * half};
    } else {
        return false;
    }
    if (alpha == 0.0 || alpha == 1.0) answer.value = {0.0, 0.0};
    return true;
}

Certified quadrature(double q, double sigma, double alpha, NodeTable* table) noexcept {
    LogADerivatives answer;
    if (at_limit(q, sigma, alpha, answer)) return answer.value;
    if (alpha == 0.0 || alpha == 1.0) return {0.0, 0.0};
    return log_a_by_quadrature(q, sigma, alpha, false, table).value;
}

// log_a without the expansions.
Certified unexpanded(double q, double sigma, double alpha, NodeTable* table) noexcept {
    const bool few_terms = alpha > 1.0 && alpha <= 4.0 && alpha == std::floor(alpha) && sigma >= kSmallestBinomialSigma;
    return few_terms ? log_a_binomial(q, sigma, alpha) : quadrature(q, sigma, alpha, table);
}

}  // namespace

Certified log_a_quadrature(double q, double sigma, double alpha) noexcept {
    return quadrature(q, sigma, alpha, nullptr);
}

Certified log_a(double q, double sigma, double alpha) noexcept {
    const Expansion expansion = expansion_of(q, sigma, alpha);
    if (expansion != Expansion::none) {
        const Certified c = log_a_expanded(expansion, q, sigma, alpha);
        if (!std::isnan(c.value)) return c;
    }
    return unexpanded(q, sigma, alpha, nullptr);
}

LogADerivatives log_a_derivatives_kept(double q, double sigma, double alpha, NodeTable* table) noexcept {
    LogADerivatives answer;
    if (at_limit(q, sigma, alpha, answer)) return answer;
    // At alpha = 0 the derivative is minus the divergence of the add direction, the limit from below.
    answer = log_a_by_quadrature(q, sigma, alpha == 0.0 ? -1e-30 : alpha, true, table);
    if (alpha == 0.0 || alpha == 1.0) answer.value = {0.0, 0.0};
    return answer;
}

LogADerivatives log_a_derivatives(double q, double sigma, double alpha) noexcept {
    return log_a_derivatives_kept(q, sigma, alpha, nullptr);
}

namespace {

Certified divergence_of(Certified log_a, double alpha) noexcept {  // alpha > 1
    const double error = log_a.relative_error;
    return {log_a.value / (alpha - 1.0), error == 0.0 ? 0.0 : error + 3.0 * kUnitRoundoff};
}

}  // namespace

void rdp_sampled_gaussian(const double* q, const double* sigma, const double* alpha, std::size_t size,
                          Certified* out) noexcept {
    log_a(q, sigma, alpha, size, out);
    for (std::size_t i = 0; i < size; ++i)
        out[i] = alpha[i] > 1.0 ? divergence_of(out[i], alpha[i]) : rdp_sampled_gaussian(q[i], sigma[i], alpha[i]);
}

Certified rdp_sampled_gaussian(double q, double sigma, double alpha) noexcept {
    if (!(alpha >= 1.0)) return kOutsideDomain;
    if (alpha == 1.0) {
        LogADerivatives answer;
        if (!at_limit(q, sigma, alpha, answer)) return kullback_leibler_by_quadrature(q, sigma);
        return std::isnan(answer.value.value)
                   ? kOutsideDomain
                   : Certified{answer.first, answer.first == 0.0 ? 0.0 : 8.0 * kUnitRoundoff};
    }
    return divergence_of(log_a(q, sigma, alpha), alpha);
}

// Arrays. Points with an expansion are sorted by expansion and expected number of terms, and evaluated in vector lanes.
// The others are evaluated one by one, in the order of alpha, so that neighbours share nodes. The results have the same
// bits as those of one point at a time. Tuning: these constants affect time, not validity.

namespace {

constexpr std::size_t kChunk = 512;  // points sorted at a time, a multiple of kLanes
constexpr std::size_t kKeys = 256;   // expansions times numbers of terms
constexpr std::size_t kFew = 4;      // up to this number of points are evaluated one by one

struct Points {
    const double *q, *sigma, *alpha;
};

struct Chunk {
    std::array<Expansion, kChunk> expansion;
    std::array<int, kChunk> terms;
    std::array<std::uint16_t, kChunk> order;  // indices of the points with an expansion, sorted by key
};

// The number of points with the left expansion, and with either.
struct Grouped {
    std::size_t left, all;
};

// kLanes points, gathered from the indices index_of(lane).
struct Gathered {
    alignas(64) double q[kLanes], sigma[kLanes], alpha[kLanes];

    template <class IndexOf>
    Gathered(const Points& p, IndexOf index_of) noexcept {
        for (std::size_t i = 0; i < kLanes; ++i) {
            const std::size_t from = index_of(i);
            q[i] = p.q[from], sigma[i] = p.sigma[from], alpha[i] = p.alpha[from];
        }
    }
};

void find_routes(const Points& p, std::size_t count, Chunk& c) noexcept {
    for (std::size_t i = 0; i < count; i += kLanes) {
        const Gathered g(p, [&](std::size_t lane) { return std::min(i + lane, count - 1); });
        expansions_of(g.q, g.sigma, g.alpha, &c.expansion[i], &c.terms[i]);
    }
}

std::size_t key_of(const Chunk& c, std::size_t i) noexcept {
    return (c.expansion[i] == Expansion::left ? 0 : kKeys / 2) + static_cast<std::size_t>(c.terms[i]);
}

Grouped group(Chunk& c, std::size_t count) noexcept {
    std::array<std::uint16_t, kKeys + 1> start{};
    for (std::size_t i = 0; i < count; ++i) {
        if (c.expansion[i] != Expansion::none) ++start[key_of(c, i) + 1];
    }
    for (std::size_t k = 0; k < kKeys; ++k) start[k + 1] = static_cast<std::uint16_t>(start[k + 1] + start[k]);
    const Grouped sizes{start[kKeys / 2], start[kKeys]};
    for (std::size_t i = 0; i < count; ++i) {
        if (c.expansion[i] != Expansion::none) c.order[start[key_of(c, i)]++] = static_cast<std::uint16_t>(i);
    }
    return sizes;
}

// Evaluates the points at order[first ... last-1] by one expansion; marks those that do not converge as without one.
void expand(const Points& p, Expansion expansion, std::size_t first, std::size_t last, Chunk& c,
            Certified* out) noexcept {
    std::array<Certified, kLanes> found;
    for (; first < last; first += kLanes) {
        const std::size_t count = std::min<std::size_t>(kLanes, last - first);
        const Gathered g(p, [&](std::size_t lane) { return c.order[first + std::min(lane, count - 1)]; });
        log_a_expanded(expansion, g.q, g.sigma, g.alpha, found.data());
        for (std::size_t i = 0; i < count; ++i) {
            const std::size_t to = c.order[first + i];
            out[to] = found[i];
            if (std::isnan(found[i].value)) c.expansion[to] = Expansion::none;
        }
    }
}

}  // namespace

void log_a(const double* q, const double* sigma, const double* alpha, std::size_t size, Certified* out) noexcept {
    if (size <= kFew) {
        for (std::size_t i = 0; i < size; ++i) out[i] = log_a(q[i], sigma[i], alpha[i]);
        return;
    }
    Chunk c;
    NodeTable table;
    for (std::size_t done = 0; done < size; done += kChunk) {
        const Points p{q + done, sigma + done, alpha + done};
        const std::size_t count = std::min(kChunk, size - done);
        find_routes(p, count, c);
        const Grouped sizes = group(c, count);
        expand(p, Expansion::left, 0, sizes.left, c, out + done);
        expand(p, Expansion::right, sizes.left, sizes.all, c, out + done);
        std::size_t left = 0;
        for (std::size_t i = 0; i < count; ++i) {
            if (c.expansion[i] == Expansion::none) c.order[left++] = static_cast<std::uint16_t>(i);
        }
        std::sort(c.order.begin(), c.order.begin() + left, [&](auto i, auto k) { return p.alpha[i] < p.alpha[k]; });
        for (std::size_t k = 0; k < left; ++k) {
            const std::size_t i = c.order[k];
            out[done + i] = unexpanded(p.q[i], p.sigma[i], p.alpha[i], &table);
        }
    }
}

// log A of the part of mu0 below a limit, by panels of Gauss-Legendre nodes that end there.
//
//     A_limit - 1 = integral_{u <= limit} n(u) ((1+x)^alpha - 1 - alpha x) du - integral_{u > limit} n(u) (1 + alpha x)
//     du,
// with the first integrand split as in the quadrature of the whole, into beta h(x) + (1+x) phi(beta l) >= 0, and the
// second integral (1 - alpha q) Q(limit) + alpha q Q(limit - 1/sigma). A panel of half-width r has
// the Bernstein ellipse of parameter 4, 1.875 r high and 1.125 r beyond its ends. With r <= 1.4 sigma the ellipse keeps
// away from the branch points, pi sigma off the axis; with r <= 0.4 the density grows by e^0.28 at most there, and
// |(1+x)^alpha - 1 - alpha x| <= alpha beta/2 X^2 (1+X)^(alpha-2)+ up to a factor 2, X = |x| + 2q. The growth of this
// bound from the middle of the last panel to the end of its ellipse, where l rises most steeply, is taken for all
// panels, against 4^-32 = 2^-64; a factor e^3 covers those near the origin.
//
// Rounding, in units of u = 2^-53. The integrals may cancel, so that absolute errors are added. A node u has an error
// of 2|u|, with it w one of (3|u| c + 2 c^2), n one of 3 u^2 of itself; other steps as in sampled_gaussian_kernels.cpp.
// With d/dw ((1+x)^alpha - 1 - alpha x) = alpha ((1+x)^beta - 1) q e^w a node's part has an error of
//     n alpha |expm1(beta l)| q e^w (3|u| c + 2 c^2) + (66 + 12 max(beta l, 0) + 3 u^2) of itself,
// and where e^{alpha l - u^2/2} replaces it, of (16 + alpha (12 l + 3|u| c + 2 c^2 + 2^-19) + 3 u^2) of itself.

namespace {

constexpr double kHalfWidth = 0.4, kHalfWidthOfSigma = 1.4, kEllipse = 2.125;  // half-axes, in half-widths
constexpr double kLargestExponent = 690.0;                                     // beyond, A leaves the range of doubles
// The beta l from which (1+x)^alpha replaces the integrand: 1 + alpha x <= alpha e^-50 (1+x)^alpha < 2^-72 alpha
// (1+x)^alpha.
constexpr double kGrown = 50.0;

struct Sums {
    double value = 0.0, first = 0.0;  // sums of (1+x)^alpha - 1 - alpha x and of its derivative in alpha
    double mass = 0.0, second = 0.0;  // sums of (1+x)^alpha and of (l - centre)^2 (1+x)^alpha
    double centred = 0.0;             // sum of (l - centre) (1+x)^alpha
    double largest = 0.0;             // largest exponent
    double rounding = 0.0;            // absolute rounding error of value, in units of u
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
    const double move = std::fabs(u) * 3.0 * law.c + 2.0 * law.c * law.c;  // the error of w, in units of u
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

// An order between 0 and 1. With v = w + log(q/(1-q)) the logarithm of the odds,
//     log A = alpha log(1-q) + log1p(C),   C = E f(e^v),   f(x) = (1+x)^alpha - 1 <= min(alpha x, x^alpha),
// by the trapezoidal rule. On Im u = a with a c <= pi/2 and X the complex e^v, |1 + s X| >= (1 + s |X|)/2 for s >= 0,
// so that |f(X)| <= 2 f(|X|): the rule is off by 4 e^{a^2/2}/(e^{2 pi a/h} - 1) of C (Trefethen, Weideman 2014, Theorem
// 5.1), which is kAliasing. Nodes left out: on the left no more than of alpha x, on the right than of x^alpha, both
// Gaussian; kLeftOut of alpha q.
//
// Rounding, in units of u: v to 6 (|log(q/(1-q))| + c |u| + c^2), which moves f by no more relatively, since f is
// concave; the density to u^2 + 4, and f to 8 alpha log(1+x) + 8. Beyond kOnlyPower the 1 in f is nothing, and its
// product with the density is one exponential: the one may overflow and the other underflow.
LogADerivatives log_a_between(double q, double sigma, double alpha) noexcept {
    constexpr double kStrip = 9.0, kNats = 41.0, kAliasing = 0x1p-57, kNodesLeftOut = 44.0, kLeftOut = 16.0 * 0x1p-63;
    constexpr double kMostNodes = 1e5, kOnlyPower = 40.0;
    const double c = 1.0 / sigma;
    if (q == 1.0)
        return {{0.5 * alpha * (alpha - 1.0) * c * c, 8.0 * kUnitRoundoff}, (alpha - 0.5) * c * c, c * c};
    const double log_rest = std::log1p(-q), log_odds = std::log(q) - log_rest;
    const double a = std::min(0.5 * std::numbers::pi / c * lowered(6), kStrip);
    const double h = round_step(2.0 * std::numbers::pi * a / (kNats + 0.5 * a * a));
    const double power = alpha * log_odds - 0.5 * alpha * (1.0 - alpha) * c * c;
    const double left = c - std::sqrt(2.0 * (kNodesLeftOut - log_rest));
    const double right =
        alpha * c + std::sqrt(2.0 * std::max(kNodesLeftOut + power - std::log(alpha) - std::log(q), 0.0));
    if (!((right - left) / h < kMostNodes)) return {kOutsideDomain, kNaN, kNaN};
    double sum = 0.0, first = 0.0, second = 0.0, rounding = 0.0;
    for (double j = std::floor(left / h); j * h < right; j += 1.0) {
        const double u = j * h, v = log_odds + (c * u - 0.5 * c * c);
        const double l = std::max(v, 0.0) + std::log1p(std::exp(-std::fabs(v))), exponent = alpha * l;
        const double density = std::exp(-0.5 * u * u);
        const double term = exponent > kOnlyPower ? std::exp(exponent - 0.5 * u * u) : density * std::expm1(exponent);
        const double grown = density + term;
        sum += term;
        first += l * grown;
        second += l * l * grown;
        rounding += term * (6.0 * (std::fabs(log_odds) + c * std::fabs(u) + c * c) + u * u + 8.0 * exponent + 12.0);
    }
    const double scale = h * kInverseRoot2Pi, overlap = scale * sum, all = 1.0 + overlap;
    const double error = scale * kUnitRoundoff * rounding +
                         overlap * (kAliasing + kUnitRoundoff * (4.0 + (right - left) / h)) + kLeftOut * alpha * q;
    const double value = alpha * log_rest + std::log1p(overlap), mean = scale * first / all;
    const double rounded = 4.0 * kUnitRoundoff * (std::log1p(overlap) - alpha * log_rest);
    return {{value, (error + rounded) / std::fabs(value)}, log_rest + mean, scale * second / all - mean * mean};
}

}  // namespace renyi
