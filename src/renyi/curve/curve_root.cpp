// delta = phi(a) (R(a) - R(b)), 1 - delta = phi(a) (R(-a) + R(b)), mass = phi(a) R(b), with R the Mills ratio: Balle,
// Wang 2018, Theorem 8, and e^eps phi(b) = phi(a).
//
// Errors. Moving a and b together by d changes log delta by at most d mu mass/delta + d^2/2, and log (1 - delta)
// likewise: both are logarithms of averages of normal tails, whose second derivatives lie in [-1, 0].
#include "renyi/curve/curve_root.hpp"

#include <algorithm>
#include <cmath>

#include "renyi/curve/closed_curve.hpp"
#include "renyi/curve/direct_bounds.hpp"
#include "renyi/curve/saddle.hpp"
#include "renyi/fp/search.hpp"
#include "renyi/special/elementary_dd.hpp"
#include "renyi/special/normal.hpp"
#include "renyi/transform/split_sum.hpp"

namespace renyi {

namespace {

constexpr double kFar = 0x1p22;
constexpr Enclosed kUnder{kScaledZero, 1.0};
constexpr Enclosed kAlmostOne{kScaledOne, 0x1p-100};

double mills_double(double x) noexcept {
    return x > 1e8 ? 1.0 / x : 0.5 * kRoot2Pi * erfcx(x * kRootHalf);
}

// |exp(t) - 1| <= this for |t| <= x.
double moved(double x) noexcept { return x < 0.1 ? x * (1.0 + x) : lane_expm1(std::min(x, 700.0)); }

// 1 minus a probability, and its error.
Enclosed one_minus(const Enclosed& e) noexcept {
    const Scaled rest = kScaledOne + Scaled{-e.value.mantissa, e.value.exponent};
    const double share = ratio(e.value, rest);
    return {rest, e.error * share * (1.0 + 0x1p-20) + 0x1p-100};
}

}  // namespace

CurvePoint gaussian_point(const GaussianArguments& at) noexcept {
    const double a = at.a.hi, b = at.b.hi;
    if (std::isnan(a)) return kNoPoint;
    if (a > kFar) return {kUnder, kAlmostOne, kScaledZero};
    if (a < -kFar) return {kAlmostOne, kUnder, kScaledZero};
    const Scaled density = normal_density(at.a);
    const double far_mills = mills_double(b);
    const double density_error = 0x1p-78 + 0x1p-97 * a * a;
    const double mu = at.mu.mantissa.hi * power_of_two(at.mu.exponent);
    const double mu_mills = std::min(mu * far_mills, 1.0);
    const Scaled mass = density * DoubleDouble{far_mills, 0.0};
    const double shift = at.slack + 0x1p-98 * std::fabs(b);
    if (a < 0.0 && mu >= 0x1p-12) {
        const DoubleDouble sum = mills(-at.a) + mills(at.b);
        const double moves = moved(shift * (mu_mills / sum.hi + shift));
        const Enclosed complement{density * sum, density_error + 0x1p-76 + moves};
        return {one_minus(complement), complement, mass};
    }
    const Scaled difference = mills_difference(at.a, at.b, at.mu);
    const double inverse = ratio(kScaledOne, difference);
    const double moves = moved(shift * (mu_mills * inverse + shift));
    const Enclosed delta{density * difference.mantissa, density_error + (a > 64.0 ? 0x1p-44 : 0x1p-61) + moves};
    const Enclosed scaled{{delta.value.mantissa, delta.value.exponent + difference.exponent}, delta.error};
    return {scaled, one_minus(scaled), mass};
}

CurvePoint mirrored(const CurvePoint& p, double eps) noexcept {
    const Scaled e = exp_dd({-eps, 0.0});
    const double e_error = 0x1p-79 + 0x1p-98 * eps;
    const Scaled gone{-expm1_dd(-eps), 0.0};
    const Scaled kept = p.delta.value * e.mantissa;
    const Scaled rest{kept.mantissa, kept.exponent + e.exponent};
    const Scaled delta = gone + rest;
    const Scaled complement = p.complement.value * e.mantissa;
    const Scaled minus_mass{-p.mass.mantissa, p.mass.exponent};
    const Scaled mass = (p.complement.value + minus_mass) * e.mantissa;
    const bool vanished = complement.mantissa.hi == 0.0;
    return {{delta, 0x1p-73 + (p.delta.error + e_error) * ratio(rest, delta)},
            {{complement.mantissa, complement.exponent + e.exponent}, vanished ? 1.0 : p.complement.error + e_error},
            {mass.mantissa, mass.exponent + e.exponent}};
}

namespace {

// Tuning: these affect time, not validity.
constexpr double kBounded = 0.9;     // the largest guess of epsilon, as a share of the largest loss
constexpr double kLeastGuess = 0.1;  // the least guess of epsilon, in deviations of the sum
constexpr double kBulk = 0.5;        // for delta above this, saddle points are next to 0

// The variance of the untilted loss.
double variance_of(const SortedSteps& c, Direction direction) noexcept {
    return tilted_moment({c.steps, direction, kInfinity}, 0.0).second;
}

// For a group: the probability of outputs beyond x.
double tail_of(const SampledLoss& law, double x) {
    if (!law.weighted()) return upper_tail(x).value;
    double sum = 0.0;
    const std::span<const double> log_weights = law.group->log_weights();
    for (std::size_t k = 0; k < log_weights.size(); ++k)
        sum += std::exp(log_weights[k]) * upper_tail(x - static_cast<double>(k) * law.c).value;
    return sum;
}

double group_guess_log_delta(const SortedSteps& c, SampledPair pair, double epsilon) {
    double large = 0.0;
    for (const SampledStep& s : c.steps) {
        const SampledLoss law(s, pair);
        if (law.group && law.weighted()) large += s.count * tail_of(law, output_at(law, epsilon));
    }
    const double spread = SplitSum(c.steps, pair).spread();
    const double normal = -0.5 * epsilon * epsilon / (spread * spread) - 5.0;
    return std::max({std::log(std::max(large, kSmallestNormal)), normal, -700.0});
}

double group_guess_epsilon(const SortedSteps& c, SampledPair pair, double delta) {
    const double spread = SplitSum(c.steps, pair).spread();
    const double normal = std::max(gaussian_epsilon_guess(spread, delta), kLeastGuess * spread);
    if (pair == SampledPair::add) return c.gaussian == 0.0 ? std::min(normal, kBounded * c.largest_loss) : normal;
    double large = 0.0;
    for (const SampledStep& s : c.steps) {
        const SampledLoss law(s, pair);
        if (!law.group) continue;
        const auto is_beyond = [&](double at) { return !(tail_of(law, at) * s.count > delta); };
        double x[kLanes] = {bisect(0.0, 40.0 + law.records() * law.c, 0.01, is_beyond).low}, v[kLanes], density[kLanes];
        evaluate(law, x, v, density);
        large = std::max(large, v[0]);
    }
    return std::max(large, normal);
}

// Mean and variance of the sum of losses where records are replaced.
struct Moments {
    double mean, variance;

    bool has_many_records() const noexcept { return mean * mean > variance; }
};

Moments replaced_moments(const SortedSteps& c) {
    Moments sum{0.5 * c.gaussian, c.gaussian};
    for (const SampledStep& s : c.steps) {
        if (s.q == 1.0) continue;
        constexpr int kPoints = 256;
        const SampledLoss law(s, SampledPair::replace_one);
        const double h = (law.c + 16.0) / kPoints;
        double x[kPoints], v[kPoints], density[kPoints], first = 0.0, second = 0.0;
        for (int i = 0; i < kPoints; ++i) x[i] = -8.0 + (i + 0.5) * h;
        evaluate(law, x, v, density);
        for (int i = 0; i < kPoints; ++i) {
            const double mass = std::exp(density[i]) * h * kInverseRoot2Pi;
            first += mass * v[i];
            second += mass * v[i] * v[i];
        }
        sum.mean += s.count * first;
        sum.variance += s.count * (second - first * first);
    }
    return sum;
}

}  // namespace

double guess_log_delta(const SortedSteps& c, SampledPair pair, double epsilon) noexcept {
    if (c.has_groups) return group_guess_log_delta(c, pair, epsilon);
    if (const Moments of = pair == SampledPair::replace_one ? replaced_moments(c) : Moments{}; of.has_many_records()) {
        const double above = std::max(epsilon - of.mean, 0.0);
        return std::max(-0.5 * above * above / of.variance - 5.0, -700.0);
    }
    const Direction direction = direction_of(pair);
    const double normal = -0.5 * epsilon * epsilon / variance_of(c, direction) - 5.0;
    const double large = std::log(std::max(plain_lower(c, direction, epsilon), kSmallestNormal));
    return std::max(large, std::isfinite(normal) ? normal : -700.0);
}

double guess_epsilon(const SortedSteps& c, SampledPair pair, double delta) noexcept {
    if (c.has_groups) return group_guess_epsilon(c, pair, delta);
    const Direction direction = direction_of(pair);
    if (direction == Direction::add && c.gaussian == 0.0) {
        const Bracket bounds = quick_epsilon(c, direction, delta);
        if (delta > kBulk) {  // the guess of the normal law of the same mean and variance
            const TiltedMoment at = tilted_moment({c.steps, direction, kInfinity}, 0.0);
            const double guess = at.first - 0.5 * at.second + gaussian_epsilon_guess(std::sqrt(at.second), delta);
            return std::clamp(guess, bounds.lower, bounds.upper);
        }
        const Saddle saddle = saddle_at_delta({c.steps, direction, kInfinity}, std::log(delta));
        return saddle.tilt > 0.0 ? std::clamp(saddle.epsilon(), bounds.lower, bounds.upper) : bounds.upper;
    }
    if (const Moments of = pair == SampledPair::replace_one ? replaced_moments(c) : Moments{}; of.has_many_records())
        return std::max(of.mean - 0.5 * of.variance + gaussian_epsilon_guess(std::sqrt(of.variance), delta),
                        kLeastGuess * of.mean);
    const double one_way = gaussian_epsilon_guess(1.0, delta) * std::sqrt(variance_of(c, direction));
    const double normal = pair == SampledPair::replace_one ? 2.0 * one_way : one_way;
    double large = 0.0;
    for (const SampledStep& s : c.steps) {
        if (s.q == 1.0) continue;
        const double share = std::min(delta / s.count, 0.5);
        large = std::max(large, single_step_epsilon({s.q, s.sigma, direction}, share).upper);
    }
    const double guess = std::isfinite(normal) ? std::max(large, 0.8 * normal) : large;
    return guess;
}

}  // namespace renyi
