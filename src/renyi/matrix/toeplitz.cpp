#include "renyi/matrix/toeplitz.hpp"

#include <algorithm>
#include <vector>

#include "renyi/fp/multiversion.hpp"

namespace renyi {

namespace {

constexpr std::size_t kLanes = 16;

// In a fixed order of lanes, so that every instruction set gives the same bits.
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
    std::reverse(x, x + n);  // C^T is C with rows and columns in the other order
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

}  // namespace renyi
