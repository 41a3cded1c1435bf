// Pairs of distributions and their moments, by short names.
#pragma once

#include <cstdint>
#include <memory>

#include "renyi/pair/atoms.hpp"
#include "renyi/pair/noise/noises.hpp"

namespace pairs {

using renyi::bounded_range;
inline renyi::PairPointer laplace(double scale) { return renyi::laplace_noise(scale); }
inline renyi::PairPointer pure_dp(double epsilon) { return renyi::approximate_privacy(epsilon, 0.0); }

// The curve of (P, Q), and with P sampled.
inline renyi::CurvePointer moment(const renyi::PairPointer& pair) { return pair->moment(renyi::Direction::remove); }
inline renyi::CurvePointer sampled_moment(const renyi::PairPointer& pair, double rate) {
    return moment(pair->sampled(rate));
}
// In the worse order.
inline renyi::CurvePointer gumbel(double shift) {
    const double scale = shift > 0.0 ? 1.0 / shift : renyi::kInfinity;
    return renyi::gumbel_noise(scale)->moment(renyi::Direction::add);
}

}  // namespace pairs
