#include "renyi/transform/outside_mass.hpp"

#include <algorithm>
#include <cmath>

#include "renyi/transform/lattice_kernels.hpp"

namespace renyi {

namespace {

// What exponents cut at -708 hide is less than this for each node.
constexpr double kHidden = 1e-300;

}  // namespace

double mass_beyond(const std::vector<TiltedPart>& parts, std::int64_t lowest, std::int64_t node, double s) {
    double log_bulk = 0.0, excess = 0.0, room = 0.0;
    const bool whole = std::ranges::any_of(parts, [](const TiltedPart& part) { return part.bulk == 0; });
    for (const TiltedPart& part : parts) {
        const auto n = part.weights.size(), split = whole ? n : part.bulk;
        const double top = std::max(s * static_cast<double>(n - 1), 0.0), hidden = kHidden * static_cast<double>(n);
        const double bulk = exponential_sum(part.weights.data(), split, s, 0.0, 1.0, top) + hidden;
        const double rest = exponential_sum(part.weights.data() + split, n - split, s, static_cast<double>(split), 1.0,
                                            top) + hidden;
        const double count = static_cast<double>(part.count);
        log_bulk += count * (std::log(bulk) + top);
        excess += count * std::log1p(rest / bulk);
        // Exponents to u each, their exponentials to 3 u, the sums to 24 u, the logarithm to u of itself.
        room += count * 64.0 * kUnitRoundoff * (2.0 + top + std::fabs(std::log(bulk)) + std::fabs(s));
    }
    double exponent = log_bulk - s * static_cast<double>(node - lowest) + room;
    if (!whole) exponent += excess + std::log(-std::expm1(-excess));
    room = 64.0 * kUnitRoundoff * (std::fabs(s * static_cast<double>(node - lowest)) + std::fabs(log_bulk) + excess);
    return std::exp(std::min(exponent + room, 1.0)) * (1.0 + 1e-9);
}

LeftOut bound_left_out(const LossLayout& layout, const std::vector<std::size_t>& bulks, double slope) {
    double value = std::log(largest_weight(slope)) + 8.0 * kUnitRoundoff * (1.0 + slope);
    for (std::size_t i = 0; i < bulks.size(); ++i) {
        const LatticePair& pair = layout.pairs()[i];
        const std::size_t n = bulks[i];
        const double first = pair.lattice.loss(0), last = pair.lattice.loss(n - 1);
        const double top = std::max(slope * first, slope * last);
        const double total = exponential_sum(pair.upper.data(), n, slope, first, pair.lattice.step, top) +
                             kHidden * static_cast<double>(n);
        const double farthest = std::max(std::fabs(first), std::fabs(last)) + std::fabs(pair.lattice.offset);
        const double room = 32.0 * kUnitRoundoff * (4.0 + slope * farthest + std::fabs(std::log(total)));
        value += static_cast<double>(layout.count(i)) * (std::log(total) + top + room);
    }
    return {value + 8.0 * kUnitRoundoff * std::fabs(value), slope};
}

}  // namespace renyi
