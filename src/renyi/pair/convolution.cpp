#include "renyi/pair/convolution.hpp"

#include <algorithm>
#include <cstddef>

#include "renyi/fp/multiversion.hpp"

namespace renyi {

namespace {

constexpr std::size_t kTile = 32;
constexpr double kUp = 0x1p500;

// out[t] = sum_i a[i] b[t - i], 0 <= t < kTile; b has what it reads on both sides.
RENYI_MULTIVERSION void tile(const double* __restrict a, std::ptrdiff_t size, const double* __restrict b,
                             double* __restrict out) noexcept {
    double sums[kTile] = {};
    for (std::ptrdiff_t i = 0; i < size; ++i) {
        const double factor = a[i];
        const double* row = b - i;
        for (std::size_t t = 0; t < kTile; ++t) sums[t] += factor * row[t];
    }
    for (std::size_t t = 0; t < kTile; ++t) out[t] = sums[t];
}

}  // namespace

std::vector<double> convolved(const std::vector<double>& a, const std::vector<double>& b) {
    if (a.size() > b.size()) return convolved(b, a);
    const std::size_t size = a.size() + b.size() - 1, tiles = (size + kTile - 1) / kTile;
    std::vector<double> factors(a), padded(a.size() + tiles * kTile + kTile), out(tiles * kTile);
    for (double& x : factors) x *= kUp;
    double* start = padded.data() + a.size();
    for (std::size_t i = 0; i < b.size(); ++i) start[i] = b[i] * kUp;
    const auto last_b = static_cast<std::ptrdiff_t>(b.size()) - 1, count = static_cast<std::ptrdiff_t>(a.size());
    for (std::size_t k = 0; k < out.size(); k += kTile) {
        // Of the tile's outputs k <= j < k + 32 only a[j - last_b], ..., a[j] meet a value of b.
        const auto at = static_cast<std::ptrdiff_t>(k);
        const std::ptrdiff_t from = std::max<std::ptrdiff_t>(at - last_b, 0);
        const std::ptrdiff_t to = std::min<std::ptrdiff_t>(at + static_cast<std::ptrdiff_t>(kTile), count);
        if (from < to) tile(factors.data() + from, to - from, start + (at - from), out.data() + k);
    }
    out.resize(size);
    for (double& x : out) x = x / kUp / kUp;
    return out;
}

}  // namespace renyi
