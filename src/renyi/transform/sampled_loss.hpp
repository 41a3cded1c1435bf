// The privacy loss of one step of a pair of sampled Gaussians, as a function of a standard normal output x that is
// analytic beside the real line:
//     L+(x) = log(1 - q + q e^{c x - c^2/2}),   L-(x) = L+(-x),   c = 1/sigma,
//     pair           density of x           V(x)
//     remove         phi(x) e^{L+(x)}       L+             loss  V
//     add            phi(x)                 L+             loss -V
//     replace_one    phi(x) e^{L+(x)}       L+ - L-        loss  V
// V rises with x. On the line Im x = a, theta = c a in [0, pi/2], |e^{L+}|, Re V and arg e^{L+} >= 0 rise with Re x,
// and arg e^{L-} falls, so that a cell of the line is bounded by its ends; Im V is the sum of both arguments' sizes.
//
// Errors: V to (6 + 2 |w|) u of itself where it is L+, w = c x - c^2/2; see the kernels of the tilted law.
#pragma once

#include <span>

namespace renyi {

enum class SampledPair { remove, add, replace_one };

struct SampledLoss {
    double q, one_minus_q, c;
    SampledPair pair;

    SampledLoss(double rate, double noise, SampledPair kind) noexcept
        : q(rate), one_minus_q(1.0 - rate), c(1.0 / noise), pair(kind) {}

    double sign() const noexcept { return pair == SampledPair::add ? -1.0 : 1.0; }  // loss = sign V
    bool weighted() const noexcept { return pair != SampledPair::add; }             // the density has the factor e^{L+}
    bool two_sided() const noexcept { return pair == SampledPair::replace_one; }
    double least() const noexcept;  // of V: log(1-q), or -inf
};

// V and the logarithm of the density (without 1/sqrt(2 pi)) at the nodes; spans of one length, a multiple of kLanes.
void evaluate(const SampledLoss& law, std::span<const double> x, double* v, double* log_density) noexcept;

// The line Im x = a: sine, versine (1 - cos) and tangent of c a.
struct Rotation {
    double a, sine, versine, tangent;
};
Rotation rotation(const SampledLoss& law, double angle) noexcept;

// x with L+(x) = loss, near enough to place windows; -inf below the least loss.
double output_at(const SampledLoss& law, double loss) noexcept;

}  // namespace renyi
