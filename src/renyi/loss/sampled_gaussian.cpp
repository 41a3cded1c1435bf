// The dispatcher. Its rules, in order:
//   1. outside the domain                                        NaN
//   2. alpha = 0 or 1, q = 0, sigma = inf                        log A = 0, exact
//   3. q = 1                                                     log A = alpha (alpha-1) / (2 sigma^2), the Gaussian
//   mechanism
//   4. sigma > 1e40                                              log A = alpha (alpha-1) q^2 / (2 sigma^2): the next
//   terms are below 1e-33
//   5. alpha < 0 and the sampled component out of reach          log A = alpha log(1-q): mu/mu0 = 1-q on |u| < 12 to
//   e^-40 / |alpha|
//   6. 1 < alpha <= 72, q <= 1/4, and it converges               expansion about either component, in double
//   7. integer alpha <= 4, sigma >= 1e-3                         binomial expansion: two or three terms
//   8. everything else                                           quadrature
// The series route is never picked: it is the slower of two independent ways and exists to check the other.
#include "renyi/loss/sampled_gaussian.hpp"

#include <cmath>

#include "renyi/loss/sampled_gaussian_expansion.hpp"
#include "renyi/loss/sampled_gaussian_quadrature.hpp"
#include "renyi/special/elementary.hpp"

namespace renyi {

namespace {

constexpr double kLargestOrder = 1e6;
constexpr double kHugeSigma = 1e40;
constexpr double kSmallestBinomialSigma = 1e-3;
constexpr double kTiny = 1e-100;  // of q and sigma: below, squares leave the range of double

bool in_domain(double q, double sigma, double alpha) noexcept {
    return (q == 0.0 || q >= kTiny) && q <= 1.0 && sigma >= kTiny &&
           ((alpha >= 1.0 && alpha <= kLargestOrder) || (alpha <= 0.0 && alpha >= -kLargestOrder));
}

bool out_of_reach(double q, double c, double alpha) noexcept {
    if (!(alpha <= 0.0 && c > 20.0)) return false;
    const double split = 0.5 * c + (lane_log(1.0 - q) - lane_log(q)) / c;
    return split > 12.0 + (40.0 + lane_log(1.0 - alpha)) / c;
}

// Rules 1 to 5; true if one of them answered.
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
    } else if (out_of_reach(q, c, alpha)) {
        const double l = lane_log1p(-q);
        answer = {{alpha * l, 4.0 * kUnitRoundoff}, l, 0.0};
    } else {
        return false;
    }
    if (alpha == 0.0 || alpha == 1.0) answer.value = {0.0, 0.0};
    return true;
}

}  // namespace

Certified log_a_quadrature(double q, double sigma, double alpha) noexcept {
    LogADerivatives answer;
    if (at_limit(q, sigma, alpha, answer)) return answer.value;
    if (alpha == 0.0 || alpha == 1.0) return {0.0, 0.0};
    return log_a_by_quadrature(q, sigma, alpha, false).value;
}

Certified log_a(double q, double sigma, double alpha) noexcept {
    const Expansion expansion = expansion_of(q, sigma, alpha);
    if (expansion != Expansion::none) {
        const Certified c = log_a_expanded(expansion, q, sigma, alpha);
        if (!std::isnan(c.value)) return c;
    }
    return log_a_unexpanded(q, sigma, alpha);
}

Certified log_a_unexpanded(double q, double sigma, double alpha) noexcept {
    const bool few_terms = alpha > 1.0 && alpha <= 4.0 && alpha == std::floor(alpha) && sigma >= kSmallestBinomialSigma;
    return few_terms ? log_a_binomial(q, sigma, alpha) : log_a_quadrature(q, sigma, alpha);
}

LogADerivatives log_a_derivatives(double q, double sigma, double alpha) noexcept {
    LogADerivatives answer;
    if (at_limit(q, sigma, alpha, answer)) return answer;
    // At alpha = 0 the derivative is minus the divergence of the add direction, reached from below.
    answer = log_a_by_quadrature(q, sigma, alpha == 0.0 ? -1e-30 : alpha, true);
    if (alpha == 0.0 || alpha == 1.0) answer.value = {0.0, 0.0};
    return answer;
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

}  // namespace renyi
