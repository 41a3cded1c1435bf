#include "renyi/matrix/toeplitz.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "renyi/fp/multiversion.hpp"

namespace renyi {

namespace {

constexpr std::size_t kLanes = 16;

// The inner product in a fixed order of lanes, so that every instruction set gives the same bits.
RENYI_INLINE double dot(const double* __restrict a, const double* __restrict b, std::size_t n) noexcept {
    double lanes[kLanes] = {};
    std::size_t i = 0;
    for (; i + kLanes <= n; i += kLanes)
        for (std::size_t l = 0; l < kLanes; ++l) lanes[l] += a[i + l] * b[i + l];
    for (; i + 4 <= n; i += 4)
        for (std::size_t l = 0; l < 4; ++l) lanes[l] += a[i + l] * b[i + l];
    double rest = 0.0;
    for (; i < n; ++i) rest += a[i] * b[i];
    for (std::size_t half = kLanes / 2; half > 0; half /= 2)
        for (std::size_t l = 0; l < half; ++l) lanes[l] += lanes[l + half];
    return lanes[0] + rest;
}

// x_t <- (x_t - sum_j c_j x_(t-j)) / c_0; backwards[k] = c_(count-1-k).
RENYI_MULTIVERSION void solve(const double* backwards, std::size_t count, double* x, std::size_t n) noexcept {
    const double first = backwards[count - 1];
    for (std::size_t t = 0; t < n; ++t) {
        const std::size_t past = std::min(t, count - 1);
        x[t] = (x[t] - dot(backwards + (count - 1 - past), x + (t - past), past)) / first;
    }
}

constexpr std::size_t kTile = 2048;

// out[j] = sum_t y_t b_(t-j), tile by tile of t.
RENYI_MULTIVERSION void correlate(const double* y, const double* b, std::size_t n, double* out,
                                  std::size_t count) noexcept {
    std::fill_n(out, count, 0.0);
    for (std::size_t begin = 0; begin < n; begin += kTile) {
        const std::size_t end = std::min(begin + kTile, n);
        for (std::size_t j = 0; j < std::min(count, end); ++j) {
            const std::size_t from = std::max(begin, j);
            out[j] += dot(y + from, b + (from - j), end - from);
        }
    }
}

}  // namespace

void solve_toeplitz(const Bands& bands, double* x, std::size_t n) {
    std::vector<double> backwards(bands.c, bands.c + bands.count);
    std::reverse(backwards.begin(), backwards.end());
    solve(backwards.data(), bands.count, x, n);
}

void solve_toeplitz_transposed(const Bands& bands, double* x, std::size_t n) {
    std::reverse(x, x + n);  // C^T is C with rows and columns in reverse order
    solve_toeplitz(bands, x, n);
    std::reverse(x, x + n);
}

double toeplitz_error(const Bands& bands, const double* a, const double* w, std::size_t n, double* work,
                      double* gradient) {
    double* const b = work;
    double* const y = work + n;
    std::copy_n(a, n, b);
    solve_toeplitz(bands, b, n);
    double error = 0.0;
    for (std::size_t t = 0; t < n; ++t) {
        y[t] = w[t] * b[t];
        error += y[t] * b[t];
    }
    solve_toeplitz_transposed(bands, y, n);
    correlate(y, b, n, gradient, bands.count);
    for (std::size_t j = 0; j < bands.count; ++j) gradient[j] *= -2.0;
    return error;
}

void solve_buffered(const double* weights, const double* decays, std::size_t count, double* buffers, double* x,
                    std::size_t n) noexcept {
    std::fill_n(buffers, count, 0.0);
    for (std::size_t t = 0; t < n; ++t) {
        for (std::size_t i = 0; i < count; ++i) x[t] -= weights[i] * buffers[i];
        for (std::size_t i = 0; i < count; ++i) buffers[i] = decays[i] * buffers[i] + x[t];
    }
}

namespace {

// A number and its derivatives in the 2 m parameters.
constexpr std::size_t kMost = 2 * kMostBuffers;

struct Dual {
    double value = 0.0;
    std::array<double, kMost> slope{};

    Dual() = default;
    Dual(double number) noexcept : value(number) {}  // NOLINT: constants enter formulas as they are
};

// f(a) from its derivative, and f(a, b) from both partial derivatives.
Dual chain(const Dual& a, double value, double by_a) noexcept {
    Dual r(value);
    for (std::size_t i = 0; i < kMost; ++i) r.slope[i] = by_a * a.slope[i];
    return r;
}
Dual chain(const Dual& a, const Dual& b, double value, double by_a, double by_b) noexcept {
    Dual r(value);
    for (std::size_t i = 0; i < kMost; ++i) r.slope[i] = by_a * a.slope[i] + by_b * b.slope[i];
    return r;
}
Dual operator+(const Dual& a, const Dual& b) noexcept { return chain(a, b, a.value + b.value, 1.0, 1.0); }
Dual operator-(const Dual& a, const Dual& b) noexcept { return chain(a, b, a.value - b.value, 1.0, -1.0); }
Dual operator*(const Dual& a, const Dual& b) noexcept { return chain(a, b, a.value * b.value, b.value, a.value); }
Dual operator/(const Dual& a, const Dual& b) noexcept {
    return chain(a, b, a.value / b.value, 1.0 / b.value, -a.value / (b.value * b.value));
}
Dual log(const Dual& a) noexcept { return chain(a, std::log(a.value), 1.0 / a.value); }

// log u from the gap g of a node u = 1 - g; and u^k and 1 - u^k from log u.
Dual log_node(const Dual& gap) noexcept { return chain(gap, std::log1p(-gap.value), -1.0 / (1.0 - gap.value)); }
Dual power(const Dual& log_u, double k) noexcept {
    const double value = std::exp(k * log_u.value);
    return chain(log_u, value, k * value);
}
Dual below_one(const Dual& log_u, double k) noexcept {
    return chain(log_u, -std::expm1(k * log_u.value), -k * std::exp(k * log_u.value));
}

// sum_(t<n) u^t and sum_(t<n) (n - t) u^t / n, from log u < 0. The second is (1 - u S(n)/n) / (1 - u), which cancels
// where n (1 - u) is small: there three terms of its series in log u are used.
Dual geometric(const Dual& log_u, double n) noexcept { return below_one(log_u, n) / below_one(log_u, 1.0); }
Dual weighted_geometric(const Dual& log_u, double n) noexcept {
    if (-n * log_u.value < 1e-4) {
        // sum (n-t)/n (1 + t l + t^2 l^2/2) = (n+1)/2 + l (n^2-1)/6 + l^2 (n^2-1) n / 24 up to 1e-12 relative
        const double l = log_u.value, square = n * n - 1.0;
        return chain(log_u, 0.5 * (n + 1.0) + l * square / 6.0 + l * l * square * n / 24.0,
                     square / 6.0 + l * square * n / 12.0);
    }
    return (Dual(1.0) - power(log_u, 1.0) * geometric(log_u, n) / Dual(n)) / below_one(log_u, 1.0);
}

struct Nodes {
    std::size_t m;
    std::array<Dual, kMostBuffers> theta_gap, hat_gap, log_theta, log_hat, omega, omega_hat;  // omega_hat < 0: its -
};

// omega_i = prod_j (theta_i - hat_j) / prod_(j != i) (theta_i - theta_j), with differences of gaps.
Dual residue(const std::array<Dual, kMostBuffers>& own, const std::array<Dual, kMostBuffers>& other, std::size_t m,
             std::size_t i) noexcept {
    Dual product(other[i] - own[i]);
    for (std::size_t j = 0; j < m; ++j)
        if (j != i) product = product * ((other[j] - own[i]) / (own[j] - own[i]));
    return product;
}

Nodes nodes_of(std::size_t m, const double* p) noexcept {
    Nodes nodes{};
    nodes.m = m;
    Dual gap(1.0);
    for (std::size_t j = 2 * m; j-- > 0;) {
        Dual number(p[j]);
        number.slope[j] = 1.0;
        const double sigmoid = 1.0 / (1.0 + std::exp(-p[j]));
        gap = gap * chain(number, sigmoid, sigmoid * (1.0 - sigmoid));
        (j % 2 == 0 ? nodes.theta_gap : nodes.hat_gap)[j / 2] = gap;
    }
    for (std::size_t i = 0; i < m; ++i) {
        nodes.log_theta[i] = log_node(nodes.theta_gap[i]);
        nodes.log_hat[i] = log_node(nodes.hat_gap[i]);
        nodes.omega[i] = residue(nodes.theta_gap, nodes.hat_gap, m, i);
        nodes.omega_hat[i] = Dual(0.0) - residue(nodes.hat_gap, nodes.theta_gap, m, i);
    }
    return nodes;
}

// sum_t w_t b_t^2, b_t = beta + sum gamma_i hat_i^t.
Dual squared_error(const Nodes& nodes, double n, bool mean) noexcept {
    const auto sum = [&](const Dual& log_u) { return mean ? weighted_geometric(log_u, n) : geometric(log_u, n); };
    std::array<Dual, kMostBuffers> gamma;
    Dual beta(1.0);
    for (std::size_t i = 0; i < nodes.m; ++i) {
        beta = beta * (nodes.theta_gap[i] / nodes.hat_gap[i]);
        gamma[i] = nodes.omega_hat[i] / nodes.hat_gap[i];
    }
    Dual error = beta * beta * Dual(mean ? 0.5 * (n + 1.0) : n);
    for (std::size_t i = 0; i < nodes.m; ++i) {
        error = error + Dual(2.0) * beta * gamma[i] * sum(nodes.log_hat[i]);
        for (std::size_t j = 0; j < nodes.m; ++j)
            error = error + gamma[i] * gamma[j] * sum(nodes.log_hat[i] + nodes.log_hat[j]);
    }
    return error;
}

// || sum_q shift(c, q b) ||^2, block by block of b rows. In block q, row r > 0 is sum_i w_iq theta_i^(r-1) with w_iq =
// omega_i sum_(s<=q) theta_i^(s b); row 0 is 1 + sum_i theta_i^(b-1) w_i(q-1), where a participation begins.
Dual squared_sensitivity(const Nodes& nodes, const BufferedSetting& setting) noexcept {
    const std::size_t m = nodes.m;
    const double n = setting.steps, b = setting.separation;
    std::array<Dual, kMostBuffers> weight;
    Dual total(0.0);
    for (std::size_t q = 0; static_cast<double>(q) * b < n; ++q) {
        const bool begins = q < setting.participations;
        Dual first(begins ? 1.0 : 0.0);
        for (std::size_t i = 0; i < m && q > 0; ++i) first = first + weight[i] * power(nodes.log_theta[i], b - 1.0);
        total = total + first * first;
        for (std::size_t i = 0; i < m; ++i) {
            weight[i] = weight[i] * power(nodes.log_theta[i], b);
            if (begins) weight[i] = weight[i] + nodes.omega[i];
        }
        const double rows = std::min(b, n - static_cast<double>(q) * b) - 1.0;
        if (rows <= 0.0) continue;
        for (std::size_t i = 0; i < m; ++i)
            for (std::size_t j = 0; j < m; ++j)
                total = total + weight[i] * weight[j] * geometric(nodes.log_theta[i] + nodes.log_theta[j], rows);
    }
    return total;
}

}  // namespace

double buffered_loss(const BufferedSetting& setting, const double* p, double* gradient) noexcept {
    const Nodes nodes = nodes_of(setting.buffers, p);
    const Dual loss = log(squared_error(nodes, setting.steps, setting.mean)) + log(squared_sensitivity(nodes, setting));
    std::copy_n(loss.slope.begin(), 2 * setting.buffers, gradient);
    return loss.value;
}

void buffered_nodes(std::size_t buffers, const double* p, double* theta, double* omega) noexcept {
    const Nodes nodes = nodes_of(buffers, p);
    for (std::size_t i = 0; i < buffers; ++i) {
        theta[i] = 1.0 - nodes.theta_gap[i].value;
        omega[i] = nodes.omega[i].value;
    }
}

}  // namespace renyi
