#include "renyi/transform/lattice/node_masses.hpp"

#include <algorithm>

#include "renyi/transform/lattice/lattice_kernels.hpp"

namespace renyi::lattice {

namespace {

constexpr std::size_t kBlock = 256;

}  // namespace

NodeMasses::NodeMasses(Window window, std::vector<double> masses, double point_error, double step, double theta)
    : window_(window), masses_(std::move(masses)), point_error_(point_error), step_(step), theta_(theta) {
    for (double& mass : masses_) mass = std::max(mass, 0.0);
    const std::size_t block = std::min(kBlock, masses_.size());
    for (std::size_t k = 0; k < block; ++k) {
        w_.push_back(std::exp(-theta * static_cast<double>(k)));
        v_.push_back(w_.back() * -std::expm1(-step * static_cast<double>(k)));
    }
    const std::size_t blocks = (masses_.size() + kBlock - 1) / kBlock;
    tails_.assign(blocks + 1, Tail{0.0, 0.0, 0.0});
    for (std::size_t b = blocks; b-- > 0;) tails_[b] = tail_from(b * kBlock);
}

// Relative errors: products of terms to 6 u each, summed by lanes, 30 u; the tail beyond to 8 u more than its own, that
// of e^(-h b) being relative to a term that is small where h b is large.
NodeMasses::Tail NodeMasses::tail_from(std::size_t index) const noexcept {
    const std::size_t next = index / kBlock + 1, end = std::min(next * kBlock, masses_.size());
    const TwoSums near = two_products(masses_.data() + index, w_.data(), v_.data(), end - index);
    if (next >= tails_.size() || tails_[next].a == 0.0) return {near.first, near.second, 32.0 * kUnitRoundoff};
    const double length = static_cast<double>(end - index);
    const double decay = std::exp(-theta_ * length), far = std::exp(-step_ * length);
    const Tail& beyond = tails_[next];
    const double a = decay * beyond.a;
    const double c = decay * (-std::expm1(-step_ * length) * beyond.a + far * beyond.c);
    const double share = std::max(near.first + a > 0.0 ? a / (near.first + a) : 0.0,
                                  near.second + c > 0.0 ? c / (near.second + c) : 0.0);
    return {near.first + a, near.second + c, 40.0 * kUnitRoundoff + share * beyond.error * (1.0 + 0x1p-40)};
}

WeightedSum NodeMasses::sum_from(std::int64_t start, double distance) const {
    const Tail tail = tail_from(static_cast<std::size_t>(start - window_.first));
    const double value = -std::expm1(-distance) * tail.a + std::exp(-distance) * tail.c;
    // Weights below 2^-1000 may have been lost.
    return {value, point_error_ * sum_of_weights(theta_, step_, distance) + value * (tail.error + 8.0 * kUnitRoundoff) +
                       0x1p-960};
}

}  // namespace renyi::lattice
