// The density in closed form. With n = 2 alpha - 1, T = top, z = beta T
//     A - 1    (2 peak/n) (2 (sinh z - z) + (1 - e^-T) phi(-z)) + beta d/n      all >= 0
//     A        W = (2 peak/n) e^z (1 - e^{-nT})
//     A'       W m, m = T (coth x - 1/x), x = nT/2: the mean of l under e^{alpha l} Q; at alpha = 1 it is
//     d        = 8 peak e^{-T/2} (y cosh y - sinh y), y = T/2: the part of the Kullback-Leibler divergence
// by  sinh(ny) - n sinh y = sinh y (cosh z - 1) + cosh y (sinh z - z) + 2 beta (y cosh y - sinh y).
#include "renyi/mechanism/loss_pair.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "renyi/fp/double_double.hpp"
#include "renyi/special/elementary.hpp"

namespace renyi {

namespace {

double phi(double t) noexcept { return t > -700.0 ? phi_of(reduce_exp(t)) : -1.0 - t; }  // t <= 700

// sinh z - z, 0 <= z <= 700. The series' terms fall below 2^-53 of the first for z < 1 after z^17.
double sinh_excess(double z) noexcept {
    if (z >= 1.0) return 0.5 * (phi(z) - phi(-z));
    const double w = z * z;
    double sum = 1.0;
    for (int k = 17; k >= 5; k -= 2) sum = 1.0 + sum * w / (k * (k - 1.0));
    return z * w / 6.0 * sum;
}

// e^-y (y cosh y - sinh y), y >= 0: the series is sum of y^(2k+1) 2k/(2k+1)!.
double bend(double y) noexcept {
    if (y >= 1.0) return 0.5 * (y * (1.0 + lane_exp(-2.0 * y)) + lane_expm1(-2.0 * y));
    const double w = y * y;
    double sum = 1.0;
    for (int k = 9; k >= 2; --k) sum = 1.0 + sum * w / ((k - 1.0) * 2.0 * (2.0 * k + 1.0));
    return lane_exp(-y) * y * w / 3.0 * sum;
}

// Mean of l on [-T, T] under e^{sl}, x = sT: T (coth x - 1/x), without cancellation.
double tilted_mean(double top, double x) noexcept {
    return x == 0.0 ? 0.0 : top * (bend(x) / (x * 0.5 * -lane_expm1(-2.0 * x)));
}

// The variance, T^2 (1/x^2 - 1/sinh^2 x).
double tilted_variance(double top, double x) noexcept {
    const double w = x * x;
    if (x < 0.3) return top * top * (1.0 / 3 - w * (1.0 / 15 - w * (2.0 / 189 - w / 675)));
    const double e = lane_exp(-2.0 * x), decay = 1.0 - e;
    return top * top * (1.0 / w - 4.0 * e / (decay * decay));
}

}  // namespace

LossPair::LossPair(std::vector<LossAtom> atoms, LossDensity density)
    : atoms_(std::move(atoms)), density_(density), largest_(density.peak > 0.0 ? density.top : 0.0) {
    for (const LossAtom& a : atoms_) nodes_.add(a);
    largest_ = std::max(largest_, nodes_.largest_loss());
    density_divergence_ = 8.0 * density_.peak * bend(0.5 * density_.top);
}

LossPair LossPair::laplace(double scale) {
    const double top = 1.0 / scale, rest = 0.5 * lane_exp(-top);
    return LossPair({{top, 0.5, rest}, {-top, rest, 0.5}}, {top, 0.25});
}

LossPair LossPair::discrete_laplace(double scale, int sensitivity) {
    const double mass = 1.0 / (1.0 + lane_exp(-1.0 / scale)), inner = -lane_expm1(-1.0 / scale) * mass;
    const auto decayed = [&](int steps) { return lane_exp(-steps / scale); };
    std::vector<LossAtom> atoms;
    for (int j = 0; j <= sensitivity; ++j) {  // at x = j, all beyond gathered at the ends
        const bool inside = j > 0 && j < sensitivity;
        atoms.push_back({(2.0 * j - sensitivity) / scale, decayed(sensitivity - j) * (inside ? inner : mass),
                         decayed(j) * (inside ? inner : mass)});
    }
    return LossPair(std::move(atoms));
}

LossPair LossPair::randomized_response(double p, double choices) {
    const double others = choices - 1.0, wrong = (1.0 - p) / others;
    // log (p/wrong), p/wrong - 1 = (p choices - 1)/(1 - p); its numerator is exact to the last rounding.
    const DoubleDouble product = two_prod(p, choices);
    const double excess = ((product.hi - 1.0) + product.lo) / (1.0 - p);
    const double loss = excess > -0.5 ? lane_log1p(excess) : lane_log(p / wrong);
    std::vector<LossAtom> atoms{{loss, p, wrong}, {-loss, wrong, p}};
    if (choices > 2.0) atoms.push_back({0.0, wrong * (others - 1.0), wrong * (others - 1.0)});
    return LossPair(std::move(atoms));
}

LossPair LossPair::pure_dp(double epsilon) {
    const double rest = lane_exp(-epsilon) / (1.0 + lane_exp(-epsilon)), most = 1.0 / (1.0 + lane_exp(-epsilon));
    return LossPair({{epsilon, most, rest}, {-epsilon, rest, most}});
}

LossPair LossPair::exponential(double epsilon) {
    return epsilon > 0.0 ? LossPair({}, {epsilon, -0.5 / lane_expm1(-epsilon)}) : LossPair({{0.0, 1.0, 1.0}});
}

TiltedSums LossPair::density_sums(const Tilt& tilt) const noexcept {
    const double top = density_.top, n = tilt.alpha + tilt.beta, z = tilt.beta * top, x = 0.5 * n * top;
    const double part = 2.0 * density_.peak / n;
    const double grown = tilt.scale > 0.0 ? lane_exp(tilt.beta * (top - tilt.largest_loss)) : lane_exp(z);
    const double weight = part * grown * -lane_expm1(-n * top);
    double excess = weight;
    if (tilt.scale == 0.0)
        excess = part * (2.0 * sinh_excess(z) - lane_expm1(-top) * phi(-z)) + tilt.beta / n * density_divergence_;
    const double mean = tilted_mean(top, x);
    const double away =
        tilt.center == 0.0 ? mean : 2.0 * top / lane_expm1(std::min(2.0 * x, 700.0)) - 2.0 / n + (top - tilt.center);
    return {excess, weight * mean, weight * away, weight * (tilted_variance(top, x) + away * away)};
}

LogMoment LossPair::log_moment(double alpha) const noexcept {
    const Tilt tilt(alpha, largest_);
    TiltedSums sums = nodes_.sums(tilt, 0, nodes_.blocks());
    if (density_.peak > 0.0) sums = sums + density_sums(tilt);
    return logarithm_of(sums, tilt, 0.0, nodes_.size());
}

Certified LossPair::divergence(double alpha) const noexcept {
    if (alpha > 1.0) return RenyiCurve::divergence(alpha);
    return divergence_of(nodes_.divergence(nodes_.blocks()) + density_divergence_, largest_, 0.0, nodes_.size());
}

double LossPair::largest_loss() const noexcept { return largest_ * (1.0 + 8.0 * kUnitRoundoff); }

}  // namespace renyi
