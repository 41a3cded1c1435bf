#include "renyi/curve/direct_bounds.hpp"

#include <cmath>

#include "renyi/curve/closed_curve.hpp"
#include "renyi/curve/plain_bounds.hpp"
#include "renyi/curve/replaced_bounds.hpp"

namespace renyi {

namespace {

constexpr double kManySeen = 50.0;
constexpr double kLittleNoise = 0.35;  // windows of the loss part where more noise blurs what was seen

}  // namespace

Complement& DirectBounds::complement() { return complement_ ? *complement_ : complement_.emplace(c_, pair_); }

Bracket DirectBounds::delta_near_one(double epsilon) {
    return {complement().may_be_small() ? std::nextafter(1.0 - complement().at(epsilon), 0.0) : 0.0, 1.0};
}

bool DirectBounds::is_enough_at_zero(double delta) {
    if (!at_zero_) at_zero_ = delta_at_zero_above(c_, pair_);
    return *at_zero_ <= delta;
}

Bracket DirectBounds::delta(double epsilon) {
    if (pair_ == SampledPair::replace_one) return {0.0, replaced_delta_above(c_, epsilon)};
    const Direction direction = direction_of(pair_);
    return {plain_lower(c_, direction, epsilon), plain_upper(c_, direction, epsilon)};
}

Bracket DirectBounds::epsilon(double delta) {
    const double below = complement().epsilon_below(delta);
    if (pair_ == SampledPair::replace_one) return {below, replaced_epsilon_above(c_, delta)};
    const Bracket plain = plain_epsilon(c_, direction_of(pair_), delta);
    return {std::fmax(plain.lower, below), plain.upper};
}

bool DirectBounds::has_many_seen() const noexcept {
    double seen = 0.0;
    for (const SampledStep& s : c_.steps)
        if (s.sigma < kLittleNoise) seen += s.q * s.count;
    return seen > kManySeen;
}

}  // namespace renyi
