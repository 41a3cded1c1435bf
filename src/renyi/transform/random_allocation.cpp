// The Rényi curve of one epoch of random allocation of Gaussian noise.
//
// The two directions of random allocation: moments of r = (1/t) sum_i exp(c z_i - c^2/2), z_i standard normal.
//
// Remove, E[r^n]: the mean of exp(c^2/2 sum_i k_i (k_i-1)) over n balls thrown into t bins, k_i in bin i. To avoid
// cancellation, let d_s(n) be this mean for s bins, less 1. Then d_1(n) = expm1(c^2 n (n-1)/2) and
//     d_{s+s'}(n) = sum_k Bin(k; n, s/(s+s')) (d_s(k) + d_s'(n-k) + d_s(k) d_s'(n-k)),
// every term >= 0; t is reached by doubling and adding one.
//
// Add, E[r^-b]: with phi(x) = E exp(-x X) of one summand X, E[e^{-sr}] = phi(s/t)^t and
//     E[r^-b] - 1 = 1/Gamma(b) int_0^inf s^{b-1} (phi(s/t)^t - e^{-s}) ds,
// where phi(s/t)^t >= e^{-s} as E[r] = 1. The trapezoidal rule is used in log s, and another one for phi.
#include "renyi/transform/renyi_curves.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>

#include "renyi/special/binomial.hpp"
#include "renyi/special/elementary.hpp"
#include "renyi/special/elementary_dd.hpp"

namespace renyi {

// d_s(n) = E[exp(c^2/2 sum_i k_i (k_i - 1))] - 1 for n balls in s bins, by d_{s+s'} (above).
//
// Errors in u: d_1(n) has e (n-1), e = 8 + 2 c^2 n, and each of the L combinations adds n + 16: a sum of n+1 terms >= 0
// whose weights and products have 16. Where both k and n-k are 2 or more their errors add to e (n-2), otherwise only
// one has an error. By induction the whole is below (e + L (n+16)) n.

namespace {

struct Wide {  // mantissa 2^exponent, mantissa in [1/2, 1) or 0
    double mantissa = 0.0;
    int exponent = -(1 << 28);
};

Wide wide(double x, double exponent = 0.0) noexcept {
    int shift;
    const double m = std::frexp(x, &shift);
    return m == 0.0 ? Wide{} : Wide{m, shift + static_cast<int>(exponent)};
}

double shifted(double x, int exponent) noexcept {
    return exponent < -1000 ? 0.0 : x * std::bit_cast<double>(static_cast<std::uint64_t>(exponent + 1023) << 52);
}

using Table = std::vector<Wide>;

// The sum over k of C(n, k) (a_k b_{n-k} + c_k d_{n-k}). It finds the largest exponent first, and then sums doubles.
Wide convolved(const Wide* binomials, const Table& a, const Table& b, const Table& c, const Table& d, int n) noexcept {
    int top = -(1 << 28);
    for (int k = 0; k <= n; ++k) {
        const int e = std::max(a[k].exponent + b[n - k].exponent, c[k].exponent + d[n - k].exponent);
        top = std::max(top, binomials[k].exponent + e);
    }
    double sum = 0.0;
    for (int k = 0; k <= n; ++k) {
        const int shift = binomials[k].exponent - top;
        const double first = shifted(a[k].mantissa * b[n - k].mantissa, a[k].exponent + b[n - k].exponent + shift);
        const double second = shifted(c[k].mantissa * d[n - k].mantissa, c[k].exponent + d[n - k].exponent + shift);
        sum += binomials[k].mantissa * (first + second);
    }
    return wide(sum, top);
}

// C(n, k) for all n and k, row by row.
std::vector<Wide> binomial_table(int last) {
    std::vector<DoubleDouble> factorials;
    for (int n = 0; n <= last; ++n) factorials.push_back(log_factorial(n));
    std::vector<Wide> table;
    for (int n = 0; n <= last; ++n) {
        for (int k = 0; k <= n; ++k) {
            const Scaled c = exp_dd(factorials[n] - factorials[k] - factorials[n - k]);
            table.push_back(wide(c.mantissa.hi, c.exponent));
        }
    }
    return table;
}

// p^k and p^k d(k), given log p.
struct Weighted {
    Table powers, values, sums;

    Weighted(const Table& d, DoubleDouble log_p) {
        for (std::size_t k = 0; k < d.size(); ++k) {
            const Scaled power = exp_dd(log_p * static_cast<double>(k));
            const Scaled value = power * Scaled{{d[k].mantissa, 0.0}, static_cast<double>(d[k].exponent)};
            const Scaled sum = power + value;
            powers.push_back(wide(power.mantissa.hi, power.exponent));
            values.push_back(wide(value.mantissa.hi, value.exponent));
            sums.push_back(wide(sum.mantissa.hi, sum.exponent));
        }
    }
};

// d(0 .. n) of the bins of a and b together, from the terms p^k q^j (d_a (1 + d_b) + d_b).
Table combined(const std::vector<Wide>& binomials, const Weighted& a, const Weighted& b) {
    Table d(a.values.size());
    for (int n = 2, row = 3; n < static_cast<int>(d.size()); row += ++n)
        d[n] = convolved(&binomials[row], a.values, b.sums, a.powers, b.values, n);
    return d;
}

// log E[r^n] for n = 0 .. last; 0 < c <= 16.
std::vector<Certified> allocation_remove(double c, std::int64_t steps, int last) {
    const std::vector<Wide> binomials = binomial_table(last);
    Table one;
    for (int n = 0; n <= last; ++n) {
        const Scaled d = scaled_expm1({0.5 * c * c * n * (n - 1.0), 0.0});
        one.push_back(wide(d.mantissa.hi, d.exponent));
    }
    Table d = one;
    int combinations = 0;
    double bins = 1.0;
    for (int bit = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(steps))) - 2; bit >= 0; --bit) {
        const Weighted half(d, -kLog2DD);
        d = combined(binomials, half, half);
        bins *= 2.0, ++combinations;
        if ((steps >> bit & 1) == 0) continue;
        const DoubleDouble total = log_dd({bins + 1.0, 0.0});
        d = combined(binomials, {d, log_dd({bins, 0.0}) - total}, {one, -total});
        bins += 1.0, ++combinations;
    }
    std::vector<Certified> k;
    for (int n = 0; n <= last; ++n) {
        Excess excess;
        const double error = (8.0 + 2.0 * c * c * n + combinations * (n + 16.0)) * n * kUnitRoundoff;
        if (d[n].mantissa > 0.0) excess.add({{d[n].mantissa, 0.0}, static_cast<double>(d[n].exponent)}, error);
        k.push_back(excess.log_moment(0.0));
    }
    return k;
}

// Upper bounds of E[r^-b]. There are two, and the smaller is used:
//
// Geometric mean. r >= G = exp(mean of c z_i - c^2/2), so log E[r^-b] <= b c^2/2 + b^2 c^2/(2t). This is good where all
// bins must be small together. Where it is below the remove direction already, nothing else is done.
//
// Quadrature of I = int e^{bu} (phi(s/t)^t - e^{-s}) du, s = e^u, by the trapezoidal rule of step h. E[r^-b] = 1 +
// I/Gamma(b).
//   Aliases: phi is analytic and |phi(x e^{iy})| <= phi(x cos y) for |y| < pi/2. On the lines Im u = +-y the modulus
//     then has an integral of at most cos(y)^-b (I + 2 Gamma(b)), and the error of the rule is at most
//     2 cos(y)^-b (I + 2 Gamma(b))/(e^{2 pi y/h} - 1).
//   Left of s_0: the integrand is at most e^{bu} s^2 Var(r)/2.
//   Right of S: phi^t <= E e^{-sG}, so that the rest is at most 2 E[G^-b; G < y/S] + 2 P(gamma_b > y) E[G^-b] for any
//     y < S, and the tails of G and of a gamma variable are below e^{-L} of E[G^-b] for y = b + sqrt(2 b L) + L and
//     log(S/y) = c^2/2 + b c^2/t + c sqrt(2 L/t).
//
// At a node, with x = s/t and w = -x (X - 1), phi(x)^t - e^{-s} = e^{-s} expm1(t log1p E[e^w - 1 - w]), all terms >= 0,
// while e^x does not overflow. Beyond, t log phi(x) is used, without subtracting e^{-s}. Both expectations are taken by
// the trapezoidal rule in z. Their aliases, with lines at Im z = +-a, c a <= pi/2:
//   of E[e^w - 1 - w]: |e^w - 1 - w| <= |w|^2/2 e^x and |w| <= x (X + 1) give
//     e^{a^2/2 - 2 pi a/h} x^2 e^x (e^{c^2} + 3);
//   of phi(x): 2 e^{a^2/2 - 2 pi a/h} phi(x cos(ca)), and phi(x cos(ca)) is, by a shift of z by d = -log(cos(ca))/c, at
//     most e^{d Z} phi(x) + P(z < d - Z) for any Z.

constexpr double kDigits = 45.0;  // nats from the value down to its errors

// The largest x for the positive form. Beyond, e^{-s} is far below phi^t, or below what is summed.
double largest_positive(double c) noexcept { return c < 0.5 ? 400.0 : 60.0; }

struct Estimate {
    double value, error;  // the error is relative for a value, absolute for a logarithm
};

// E[e^w - 1 - w] over y = z - c/2, where X = e^{cy}: w is relatively exact near its zero. e^w - 1 - w is at most x^2
// e^x/2 on the left of the nodes and at most x^2 X^2/2 on the right.
Estimate excess_of_exponential(double x, double c) noexcept {
    const double variance = lane_expm1(std::min(c * c, 700.0));
    const double digits = kDigits + x + c * c + lane_log1p(3.0 / variance) + 2.0 * lane_log1p(x);
    const double a = std::min(std::sqrt(2.0 * digits), 1.5 / c),
                 h = 2.0 * std::numbers::pi * a / (digits + 0.5 * a * a);
    const double reach = std::sqrt(2.0 * digits) + 1.0;
    double sum = 0.0, rounding = 0.0;
    for (double y = -reach - 0.5 * c; y <= reach + 1.5 * c; y += h) {
        const double growth = lane_expm1(c * y), w = -x * growth;
        const double value = w < -700.0 ? -w - 1.0 : phi_of(reduce_exp(w));
        const double half = y + 0.5 * c, term = lane_exp(-0.5 * half * half) * value;
        sum += term;
        rounding += term * (64.0 + 10.0 * std::fabs(w) + half * half + c * std::fabs(y));
    }
    const double value = sum * h * kInverseRoot2Pi;
    const double aliases_and_tails = 5.0 * x * x / value * lane_exp(x + c * c - digits);
    return {value, aliases_and_tails + (rounding / sum + 4.0) * kUnitRoundoff};
}

// log phi(x). Terms are summed relative to the largest exponent.
Estimate log_laplace(double x, double c) noexcept {
    const double log_x = lane_log(x);
    // phi(x) >= P(X < 1/x)/e
    const double q = std::max(log_x / c - 0.5 * c, 0.0), depth = 0.5 * q * q + lane_log1p(q) + 2.5;
    const double reach = std::sqrt(2.0 * (kDigits + depth)), digits = kDigits + 20.0;
    const double a = std::min(std::sqrt(2.0 * digits / (1.0 + c * reach)), 1.0 / c);
    const double d = -lane_log(std::cos(c * a)) / c,
                 h = 2.0 * std::numbers::pi * a / (digits + 0.5 * a * a + d * (reach + d));
    const auto exponent = [&](double z) { return -0.5 * z * z - x * lane_exp(std::min(c * z - 0.5 * c * c, 700.0)); };
    double largest = -kInfinity, sum = 0.0, size = 0.0;
    for (double z = -reach - d; z <= reach; z += h) largest = std::max(largest, exponent(z));
    for (double z = -reach - d; z <= reach; z += h) {
        const double e = exponent(z), term = lane_exp(e - largest);
        sum += term;
        size += term * (8.0 + 8.0 * std::fabs(e) * (1.0 + c * std::fabs(z)));
    }
    const double value = largest + lane_log(sum * h * kInverseRoot2Pi);
    return {value, 8.0 * lane_exp(-kDigits) + (size / sum + 8.0 + 2.0 * std::fabs(value)) * kUnitRoundoff};
}

struct Node {
    double u, log_value, error;  // log of phi(s/t)^t - e^{-s}
};

Node node_at(double u, double c, double t) noexcept {
    const double s = lane_exp(u), x = s / t;
    if (x <= largest_positive(c)) {
        const Estimate e = excess_of_exponential(x, c);
        const double growth = t * lane_log1p(e.value);
        // d log expm1(g) <= (1 + g) dg/g, and g is at most proportional to the expectation
        if (!(e.error < 1e-3)) return {u, kInfinity, 0.0};
        const double error = 1.01 * (1.0 + growth) * (e.error + 8.0 * kUnitRoundoff) + 8.0 * s * kUnitRoundoff;
        const double log_growth = growth < 700.0 ? lane_log(lane_expm1(growth)) : growth;
        return {u, log_growth - s, error + 4.0 * std::fabs(log_growth) * kUnitRoundoff};
    }
    const Estimate e = log_laplace(x, c);
    return {u, t * e.value, t * (e.error + 4.0 * std::fabs(e.value) * kUnitRoundoff)};
}

struct Request {
    double b, geometric;  // log E[G^-b]
};

struct Rule {
    std::vector<Node> nodes;
    double h, y, left, variance;  // variance of X over t
};

// log E[r^-b] from above.
double from_nodes(const Rule& rule, Request request) noexcept {
    const double b = request.b, log_gamma = log_factorial(b - 1.0).hi, u = rule.nodes.front().u;
    double sum = 0.0;
    for (const Node& n : rule.nodes) {
        const double size = std::fabs(b * n.u) + std::fabs(n.log_value) + log_gamma;
        const double e = b * n.u + n.log_value - log_gamma + n.error + 4.0 * kUnitRoundoff * size;
        if (!(e < 600.0)) return kInfinity;
        sum += lane_exp(e);
    }
    const double value = sum * rule.h * (1.0 + (rule.nodes.size() + 16.0) * kUnitRoundoff);
    const double aliases =
        lane_exp(-b * lane_log(std::cos(rule.y)) - 2.0 * std::numbers::pi * rule.y / rule.h) * (2.1 * value + 5.0);
    const double left = rule.variance * lane_exp((b + 2.0) * u - log_gamma);
    const double right = 4.0 * lane_exp(request.geometric - rule.left);
    return lane_log1p(value + aliases + left + right) * (1.0 + 16.0 * kUnitRoundoff);
}

// Upper bounds of log E[r^-b] for b = 1 .. last-1, at index b+1. A bound that is at most `enough` is not refined.
std::vector<double> allocation_add(double c, std::int64_t steps, const std::vector<Certified>& enough) {
    const double t = static_cast<double>(steps), variance = lane_expm1(c * c);
    std::vector<double> bounds(enough.size(), 0.0);
    std::vector<Request> requests;
    double most = 0.0, largest_b = 0.0;
    for (std::size_t n = 2; n < enough.size(); ++n) {
        const double b = static_cast<double>(n) - 1.0;
        bounds[n] = (0.5 * b * c * c + 0.5 * b * b * c * c / t) * (1.0 + 8.0 * kUnitRoundoff);
        if (bounds[n] <= enough[n].value) continue;
        requests.push_back({b, bounds[n]});
        most = std::max(most, bounds[n]);
        largest_b = b;
    }
    if (requests.empty()) return bounds;

    // Errors must be e^-left of the variance of r, the size of E[r^-b] - 1 for b = 1.
    const double small = lane_log1p(t / variance), left = kDigits + small + most;
    const double y = 0.8, h = 2.0 * std::numbers::pi * y / (left - largest_b * lane_log(std::cos(y)));
    const double tail = largest_b + std::sqrt(2.0 * largest_b * left) + left;
    const double last = lane_log(tail) + 0.5 * c * c + largest_b * c * c / t + c * std::sqrt(2.0 * left / t);
    const double first = -(kDigits + 3.0) / 3.0;
    Rule rule{{}, h, y, left, variance / t};
    for (double u = first; u <= last + h; u += h) rule.nodes.push_back(node_at(u, c, t));
    for (const Request& request : requests) {
        const auto n = static_cast<std::size_t>(request.b) + 1;
        bounds[n] = std::min(bounds[n], from_nodes(rule, request));
    }
    return bounds;
}

constexpr int kLastOrderComputed = 256;
constexpr double kSmallestSigma = 1.0 / 16;

class RandomAllocationCurve final : public RenyiCurve {
public:
    RandomAllocationCurve(double sigma, std::int64_t steps) : rho_(0.5 / (sigma * sigma)), largest_order_(kInfinity) {
        if (steps == 1 || !(sigma >= kSmallestSigma) || rho_ < 0x1p-500) return;
        const double c = 1.0 / sigma;
        k_ = allocation_remove(c, steps, kLastOrderComputed);
        const std::vector<double> add = allocation_add(c, steps, k_);
        for (std::size_t n = 2; n < k_.size(); ++n) {
            const double order = static_cast<double>(n), k = k_[n].value;
            // 1/sigma has an error of 1u; d log(E - 1)/d log c <= 2 + c^2 n (n-1), twice the largest exponent.
            k_[n].relative_error += (2.0 + c * c * order * (order - 1.0)) * kUnitRoundoff * std::min(1.0, 1.0 / k);
            if (add[n] > upper(k_[n])) k_[n] = {add[n], 4.0 * kUnitRoundoff};
        }
        largest_order_ = kLastOrderComputed;
    }

    LogMoment log_moment(double alpha) const noexcept override {
        if (k_.empty()) return LinearCurve(rho_).log_moment(alpha);
        return polygon_segment(alpha, largest_order_, [this](double n) { return k_[static_cast<std::size_t>(n)]; });
    }
    Certified divergence(double alpha) const noexcept override {
        if (k_.empty()) return LinearCurve(rho_).divergence(alpha);
        return RenyiCurve::divergence(alpha == 1.0 ? 2.0 : alpha);
    }
    double largest_order() const noexcept override { return largest_order_; }

private:
    double rho_;                // of the Gaussian mechanism, t = 1
    std::vector<Certified> k_;  // at whole orders; empty for t = 1
    double largest_order_;
};

}  // namespace

CurvePointer random_allocation_curve(double sigma, std::int64_t steps) {
    return std::make_shared<const RandomAllocationCurve>(sigma, steps);
}

}  // namespace renyi
