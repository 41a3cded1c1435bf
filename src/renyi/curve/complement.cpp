// E_P[e^{-s L}] = integral of P^{1-s} Q^s, 0 < s < 1, of one step by the trapezoidal rule. On the line Im u = y < pi
// sigma, short of the branch points, the modulus of (mu/mu0)^a is at most its value at Re u, a > 0, so that the error
// is at most 2 e^{y^2/2}/(e^{2 pi y/h} - 1) of the value (Trefethen, Weideman 2014, Theorem 5.1). As P^{1-s} Q^s <= P +
// Q, what lies beyond the nodes is less than 4 Q(12) < 1e-31.
#include "renyi/curve/complement.hpp"

#include <algorithm>
#include <cmath>

#include "renyi/fp/certified.hpp"
#include "renyi/fp/golden_section.hpp"
#include "renyi/fp/lanes.hpp"
#include "renyi/transform/sampled_loss.hpp"

namespace renyi {

namespace {

constexpr double kPi = 0x1.921fb54442d18p1;
constexpr double kInverseSqrt2Pi = 0x1.9884533d43651p-2;
constexpr double kAliasing = 31.0;  // e^-31 < 4e-14
constexpr double kTail = 12.0, kBeyond = 1e-31;
constexpr double kLeastOrder = -21.0, kOrderError = 1e-4;  // of its logarithm
constexpr double kMostBlocks = 3000.0;

}  // namespace

Complement::Complement(const SortedSteps& c, SampledPair pair) : gaussian_(c.gaussian) {
    for (const SampledStep& s : c.steps) {
        if (s.q == 1.0) continue;
        const SampledLoss loss{s.q, s.sigma, pair};
        const double y = std::min(0.99 * kPi * s.sigma, std::sqrt(2.0 * kAliasing));
        Law law{s.count, 2.0 * kPi * y / (kAliasing + 0.7 + 0.5 * y * y), {}, {}, {}};
        const double first = -kTail - (loss.two_sided() ? loss.c : 0.0), last = kTail + loss.c;
        const double blocks = std::ceil((last - first) / (law.spacing * kLanes)) + 1.0;
        if (!(blocks < kMostBlocks)) continue;  // E_P[e^{-s L}] <= 1 will do
        const std::size_t size = static_cast<std::size_t>(blocks) * kLanes;
        std::vector<double> u(size);
        for (std::size_t j = 0; j < size; ++j) u[j] = first + static_cast<double>(j) * law.spacing;
        law.loss.resize(size);
        law.log_density.resize(size);
        evaluate(loss, u, law.loss.data(), law.log_density.data());
        for (std::size_t j = 0; j < size; ++j) {  // of the exponent, in units of u: losses, order, node and sums
            const double node = std::fabs(u[j]), w = loss.c * (node + 0.5 * loss.c);
            const double losses = std::fabs(law.loss[j]) + std::fabs(law.log_density[j]) + 0.5 * node * node;
            law.error.push_back(losses * (10.0 + 2.0 * w) + node * (2.0 * node + loss.c) + 8.0);
            law.loss[j] *= loss.sign();
        }
        laws_.push_back(std::move(law));
    }
}

double Complement::log_moment(double s) const noexcept {
    double sum = -0.5 * gaussian_ * s * (1.0 - s) * (1.0 - 0x1p-45);
    for (const Law& law : laws_) {
        double value = 0.0, error = 0.0;
        for (std::size_t j = 0; j < law.loss.size(); ++j) {
            const double term = std::exp(law.log_density[j] - s * law.loss[j]);
            value += term;
            error += term * law.error[j];
        }
        const double rounding = kUnitRoundoff * (error / value + static_cast<double>(law.loss.size()));
        const double above = law.spacing * kInverseSqrt2Pi * value * (1.0 + rounding + 1e-13) + kBeyond;
        sum += law.count * std::min(std::log(above) + 2.0 * kUnitRoundoff, 0.0);
    }
    return sum * (1.0 - 0x1p-45);
}

// 1 - delta(eps) >= 1 - delta(0) >= BC^2/2 with BC = E_P[e^{-S/2}] (Le Cam).
bool Complement::may_be_small() const noexcept { return log_moment(0.5) < -4.0; }

double Complement::at(double epsilon) const noexcept {
    const Least exponent = golden_section(kLeastOrder, 0.0, kOrderError, [&](double x) {
        const double s = std::exp(x);
        const double moment = log_moment(s), gained = s * epsilon;
        return moment + gained + 8.0 * kUnitRoundoff * (std::fabs(moment) + std::fabs(gained));
    });
    return std::min(std::exp(exponent.value) * (1.0 + 0x1p-50), 1.0);
}

double Complement::epsilon_below(double delta) const noexcept {
    const double goal = std::log1p(-delta);
    const Least least = golden_section(kLeastOrder, 0.0, kOrderError, [&](double x) {
        const double s = std::exp(x);
        const double excess = log_moment(s) - goal;
        return (excess + 8.0 * kUnitRoundoff * (std::fabs(goal) + std::fabs(excess))) / s;
    });
    return -least.value;
}

}  // namespace renyi
