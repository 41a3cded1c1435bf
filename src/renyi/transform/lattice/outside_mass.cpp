#include "renyi/transform/lattice/outside_mass.hpp"

#include <algorithm>
#include <cmath>

#include "renyi/transform/lattice/lattice_kernels.hpp"

namespace renyi::lattice {

namespace {

// What exponents cut at -708 hide is less than this for each node, and so is what tilted weights have lost.
constexpr double kHidden = 1e-300, kLost = 0x1p-950;

// Bounds the log of the sum of a[i] e^(slope (first + step i)) from above; -inf without mass.
double log_sum(const double* a, std::size_t n, double slope, double first, double step) {
    while (n > 0 && a[n - 1] == 0.0) --n;
    std::size_t begin = 0;
    while (begin < n && a[begin] == 0.0) ++begin;
    if (begin == n) return -kInfinity;
    const double low = first + step * static_cast<double>(begin), high = first + step * static_cast<double>(n - 1);
    const double top = std::max(slope * low, slope * high);
    const double sum = exponential_sum(a + begin, n - begin, slope, low, step, top) + kHidden * static_cast<double>(n);
    const double value = std::log(sum), farthest = std::max(std::fabs(low), std::fabs(high));
    // Losses to 3 u each, their exponents and the top to u, exponentials to 3 u, the sum to 24 u, logarithms to u.
    return value + top + 64.0 * kUnitRoundoff * (2.0 + std::fabs(slope) * farthest + std::fabs(value));
}

}  // namespace

double mass_beyond(const std::vector<TiltedPart>& parts, std::int64_t lowest, std::int64_t node, double s) {
    double log_whole = 0.0, log_bulk = 0.0, excess = 0.0, size = 0.0;
    for (const TiltedPart& part : parts) {
        const double* weights = part.weights.data();
        const double count = static_cast<double>(part.count);
        const double bulk = log_sum(weights, part.bulk, s, 0.0, 1.0);
        const double rest =
            log_sum(weights + part.bulk, part.weights.size() - part.bulk, s, static_cast<double>(part.bulk), 1.0);
        const double top = std::max(bulk, rest), sum = top + std::log1p(std::exp(std::min(bulk, rest) - top));
        if (top == -kInfinity) return kLost;
        log_whole += count * sum;
        log_bulk += count * bulk;
        excess += count * std::log1p(std::exp(std::min(rest - bulk, 700.0)));
        size += count * (std::fabs(sum) + std::fabs(top));
    }
    const double distance = s * static_cast<double>(node - lowest);
    // Without outcomes all in the bulk, where there are any: prod (b + r)^count - prod b^count grows with b and r.
    double exponent = log_whole - distance;
    if (excess < 1.0) exponent = log_bulk - distance + excess + std::log(-std::expm1(-excess));
    exponent += 16.0 * kUnitRoundoff * (std::fabs(distance) + size);
    return std::exp(std::min(exponent, 1.0)) * (1.0 + 1e-9) + kLost;
}

LeftOut bound_left_out(const LossLayout& layout, const std::vector<std::size_t>& bulks, double slope) {
    double value = std::log(largest_weight(slope)) + 8.0 * kUnitRoundoff * (1.0 + slope);
    for (std::size_t i = 0; i < bulks.size(); ++i) {
        const LatticePair& pair = layout.pairs()[i];
        // Losses of nodes are rounded, seen from their offset.
        const double room = 8.0 * kUnitRoundoff * slope * std::fabs(pair.lattice.offset);
        value += static_cast<double>(layout.count(i)) *
                 (log_sum(pair.upper.data(), bulks[i], slope, pair.lattice.loss(0), pair.lattice.step) + room);
    }
    return {std::isfinite(value) ? value + 8.0 * kUnitRoundoff * std::fabs(value) : value, slope};
}

}  // namespace renyi::lattice
