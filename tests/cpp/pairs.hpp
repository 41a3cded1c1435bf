// Pairs of distributions and their moments, by short names.
#pragma once

#include <cstdint>
#include <memory>

#include "renyi/pair/atoms.hpp"
#include "renyi/pair/noise/exponential_loss.hpp"
#include "renyi/pair/noise/integer_noise.hpp"
#include "renyi/pair/noise/normal_mixtures.hpp"

namespace pairs {

inline renyi::PairPointer laplace(double scale) {
    return std::make_shared<const renyi::ExponentialLoss>(renyi::ExponentialLoss::laplace(scale));
}
inline renyi::PairPointer bounded_range(double epsilon) {
    return std::make_shared<const renyi::ExponentialLoss>(renyi::ExponentialLoss::bounded_range(epsilon));
}
inline renyi::PairPointer pure_dp(double epsilon) { return renyi::approximate_privacy(epsilon, 0.0); }

// The curve of (P, Q), and with P sampled.
inline renyi::CurvePointer moment(const renyi::PairPointer& pair) { return pair->moment(renyi::Direction::remove); }
inline renyi::CurvePointer sampled_moment(const renyi::PairPointer& pair, double rate) {
    return moment(pair->sampled(rate));
}
// In the worse order.
inline renyi::CurvePointer gumbel(double shift) {
    const double scale = shift > 0.0 ? 1.0 / shift : renyi::kInfinity;
    return std::make_shared<const renyi::GumbelPair>(scale)->moment(renyi::Direction::add);
}

}  // namespace pairs
