// The privacy loss of one step of a pair of sampled Gaussians, as a function of a standard normal output x that is
// analytic beside the real line:
//     L+(x) = log(1 - q + q e^{c x - c^2/2}),   L-(x) = L+(-x),   c = 1/sigma,
//     pair           density of x           V(x)
//     remove         phi(x) e^{L+(x)}       L+             loss  V
//     add            phi(x)                 L+             loss -V
//     replace_one    phi(x) e^{L+(x)}       L+ - L-        loss  V
//
// What is summed over the batches of a random allocation, the likelihood ratio of one batch less 1, in its place:
//     V(x) = e^w - 1,  w = c x - c^2/2,     of mean 0 under phi
//     ratio             phi(x)              loss  V
//     reversed_ratio    phi(x)              loss -V
//     weighted_ratio    phi(x) e^w          loss  V
//
// V rises with x. On the line Im x = a, theta = c a in [0, pi/2], |e^{L+}|, Re V and arg e^{L+} >= 0 rise with Re x,
// and arg e^{L-} falls, so that a cell of the line is bounded by its ends; Im V is the sum of both arguments' sizes.
// For ratios 1 + V takes the factor e^{i theta}, so that Re V and Im V >= 0 rise as well.
//
// Errors: V to (6 + 2 |w|) u of itself where it is L+; see the kernels of the tilted law. A ratio to
// 8 |V| u + 4 (c |x| + c^2/2) (1 + V) u: of the exponential, and of w.
#pragma once

#include <span>

namespace renyi {

enum class SampledPair { remove, add, replace_one, ratio, reversed_ratio, weighted_ratio };

constexpr double kLogLargestRatio = 300.0;  // of 1 + V, which is cut there

struct SampledLoss {
    double q, one_minus_q, c;
    SampledPair pair;

    SampledLoss(double rate, double noise, SampledPair kind) noexcept
        : q(rate), one_minus_q(1.0 - rate), c(1.0 / noise), pair(kind) {}

    double sign() const noexcept {  // loss = sign V
        return pair == SampledPair::add || pair == SampledPair::reversed_ratio ? -1.0 : 1.0;
    }
    bool weighted() const noexcept {  // the density has the factor e^{L+} or e^w
        return pair != SampledPair::add && pair != SampledPair::ratio && pair != SampledPair::reversed_ratio;
    }
    bool two_sided() const noexcept { return pair == SampledPair::replace_one; }
    bool is_ratio() const noexcept { return pair >= SampledPair::ratio; }
    double least() const noexcept;  // of V, where it is one-sided: log(1-q), or -1 of a ratio
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
