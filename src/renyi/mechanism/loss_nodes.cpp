// Rounding. phi is right to 16u, and an error of 5u in t = beta l moves it by 5u (2 + max(t, 0)) of itself; with 20u
// for the masses every term of A - 1 is right to (48 + 6 max(t, 0)) u - a closed form may need twice that -, and a sum
// of n terms in 16 lanes adds (n/16 + 16) u. Where the scale is taken out, e^{beta (l - L)} matters only for beta (L -
// l) < 60 or so, and what beta L loses is an absolute error of log A.
#include "renyi/mechanism/loss_nodes.hpp"

#include <algorithm>
#include <cmath>

#include "renyi/fp/lanes.hpp"
#include "renyi/fp/multiversion.hpp"
#include "renyi/loss/sampled_gaussian_kernels.hpp"
#include "renyi/special/elementary.hpp"

namespace renyi {

static_assert(kLossBlock == kLanes);

namespace {

constexpr double kLargestExponent = 600.0;
constexpr double kTermError = 96.0, kExponentError = 6.0,
                 kFarExponent = 64.0;  // in units of u: twice 48, and 6 max(t, 0)

// Sums of e^{beta (l - L)}, times 1, l, l - L and (l - L)^2.
RENYI_MULTIVERSION
TiltedSums sum_powers(const double* l, const double* m, std::size_t blocks, double beta, double largest) noexcept {
    double value[kLanes] = {}, slope[kLanes] = {}, first[kLanes] = {}, second[kLanes] = {};
    for (std::size_t b = 0; b < blocks; ++b, l += kLanes, m += kLanes) {
        for (int i = 0; i < kLanes; ++i) {
            const double d = l[i] - largest;
            const double weight = m[i] * lane_exp(beta * d);
            value[i] += weight;
            slope[i] += weight * l[i];
            first[i] += weight * d;
            second[i] += weight * d * d;
        }
    }
    return {total(value), total(slope), total(first), total(second)};
}

double sum_error(std::size_t terms) noexcept { return kTermError + 16.0 + static_cast<double>(terms) / kLanes; }

}  // namespace

Tilt::Tilt(double alpha, double largest_loss) noexcept
    : alpha(alpha), beta(alpha - 1.0), largest_loss(largest_loss), scale(beta * largest_loss), center(0.0) {
    if (scale > 1.0) center = largest_loss;
    if (!(scale > kLargestExponent)) scale = 0.0;
}

// p phi(-l) = q (1 - e^l (1 - l)): each form where it neither cancels nor overflows.
double divergence_term(const LossAtom& a) noexcept {
    if (a.loss == -kInfinity) return a.q;
    if (a.loss < -1.0) return a.q * (1.0 - lane_exp(a.loss) * (1.0 - a.loss));
    return a.loss > 700.0 ? a.p * (a.loss - 1.0) : a.p * phi_of(reduce_exp(-a.loss));
}

TiltedSums sums_of(const LossAtom& atom, const Tilt& tilt) noexcept {
    const double l = atom.p > 0.0 ? atom.loss : 0.0, away = l - tilt.center;
    if (tilt.scale > 0.0) {
        const double weight = atom.p * lane_exp(tilt.beta * (l - tilt.largest_loss));
        return {weight, weight * l, weight * away, weight * away * away};
    }
    const double t = tilt.beta * l, clamped = std::max(t, -700.0), kl = divergence_term(atom);
    const ExpReduction e = reduce_exp(clamped);
    const double weight = atom.p * exp_of(e);
    return {atom.p * (phi_of(e) + (clamped - t)) + tilt.beta * kl, atom.p * l * expm1_of(e) + kl, weight * away,
            weight * away * away};
}

void LossNodes::add(const LossAtom& atom) {
    if (count_ % kLossBlock == 0) {
        loss_.resize(count_ + kLossBlock, 0.0);
        mass_.resize(count_ + kLossBlock, 0.0);
        divergence_.push_back(divergence_.empty() ? 0.0 : divergence_.back());
    }
    loss_[count_] = atom.p > 0.0 ? atom.loss : 0.0;
    mass_[count_] = atom.p;
    divergence_.back() += divergence_term(atom);
    largest_loss_ = std::max(largest_loss_, atom.loss);
    ++count_;
}

TiltedSums LossNodes::sums(const Tilt& tilt, std::size_t first, std::size_t blocks) const noexcept {
    if (blocks == 0) return {};
    const double *l = loss_.data() + first * kLossBlock, *m = mass_.data() + first * kLossBlock;
    if (tilt.scale > 0.0) return sum_powers(l, m, blocks, tilt.beta, tilt.largest_loss);
    const NodeSums s = sum_phi_derivatives(l, m, blocks, tilt.beta, tilt.center);
    const double kl = divergence(first + blocks) - divergence(first);
    return {s.value + tilt.beta * kl, s.slope + kl, s.first, s.second};
}

LogMoment logarithm_of(const TiltedSums& sums, const Tilt& tilt, double error, std::size_t terms) noexcept {
    const bool scaled = tilt.scale > 0.0;
    const double a = scaled ? sums.excess : 1.0 + sums.excess;
    const double log_a = scaled ? lane_log(a) : lane_log1p(sums.excess);
    const double value = tilt.scale + log_a;
    const double exponent = scaled ? kFarExponent : std::max(tilt.beta * tilt.largest_loss, 0.0);
    const double excess_error = error + (sum_error(terms) + kExponentError * exponent) * kUnitRoundoff;
    // |d log log A| = (A - 1)/(A log A) |d log (A - 1)|
    const double absolute = excess_error * (sums.excess / a) +
                            kUnitRoundoff * (12.0 * tilt.scale + (scaled ? 2.0 * std::fabs(log_a) : 0.0));
    const double mean = sums.first / a;
    Certified certified{value, absolute / value + 4.0 * kUnitRoundoff};
    if (value < kSmallestMoment)
        certified = tilt.beta > 0.0 && tilt.largest_loss > 0.0 ? kBelowSmallest : Certified{0.0, 0.0};
    return {certified, sums.slope / a, std::max(sums.second / a - mean * mean, 0.0)};
}

Certified divergence_of(double sum, double largest_loss, double error, std::size_t terms) noexcept {
    if (sum < kSmallestMoment) return largest_loss > 0.0 ? kBelowSmallest : Certified{0.0, 0.0};
    return {sum, error + sum_error(terms) * kUnitRoundoff};
}

}  // namespace renyi
