// The tilted law of a composition on a window of nodes, and sums of its tail.
//
// Tilting multiplies the mass at node i by e^(theta i - c), which makes its sum about 1 and moves the mean of the
// composition to the losses that decide delta(epsilon): rounding errors are then relative to them, and delta may be as
// small as a double can hold. theta and c are short dyadic fractions, so that theta i and theta i - c are exact in
// double precision, and c count and its differences from theta i are exact in integers of 128 bits.
#pragma once

#include <cmath>
#include <cstdint>
#include <memory>
#include <vector>

#include "renyi/fp/certified.hpp"
#include "renyi/transform/lattice/spectrum.hpp"

namespace renyi::lattice {

using Int128 = __int128;

// theta = numerator / 2^bits per node.
struct Tilt {
    std::int64_t numerator;
    int bits;

    double theta() const noexcept { return std::ldexp(static_cast<double>(numerator), -bits); }
};

// Nodes first ... first + size - 1 of the composition; size is a power of two.
struct Window {
    std::int64_t first;
    std::int64_t size;

    std::int64_t end() const noexcept { return first + size; }
};

// Tilted masses of one part from its first node on; the first `bulk` of them are never above epsilon together.
struct TiltedPart {
    std::vector<double> weights;
    std::int64_t count;
    std::size_t bulk;
};

struct WeightedSum {
    double value, error;
};

// The tilted masses at the nodes of a window.
class TailSums {
public:
    virtual ~TailSums() = default;

    // The sum over k of the mass at node start + k, inside the window, times (1 - e^-(distance + step k)) e^(-theta k),
    // and a bound on its error; start is in the window and distance > 0.
    virtual WeightedSum sum_from(std::int64_t start, double distance) const = 0;

    // The number of nodes that had to be transformed.
    virtual std::int64_t nodes() const noexcept = 0;
};

// The largest value of (1 - e^-x) e^(-slope x) over x > 0.
inline double largest_weight(double slope) noexcept {
    return slope == 0.0 ? 1.0 : std::exp(-slope * std::log1p(1.0 / slope)) / (1.0 + slope) * (1.0 + 0x1p-40);
}

// Bounds the sum of the weights (1 - e^-x) e^(-theta k), x = distance + step k > 0. They are (1 - e^-x) e^(-t x), t =
// theta/step, times e^(t distance), so the sum is at most the integral 1/(t (t+1)) over the step, plus the maximum. The
// sum is also at most a geometric series.
inline double sum_of_weights(double theta, double step, double distance) noexcept {
    const double slope = theta / step, lift = slope * distance;
    const double series = -1.0 / std::expm1(-theta);
    const double integral = std::exp(std::fmin(lift, 700.0)) * (1.0 / (theta * (slope + 1.0)) + largest_weight(slope));
    return (lift < 700.0 ? std::fmin(series, integral) : series) * (1.0 + 0x1p-38);
}

// The composition of tilted parts, each of sum about 1, on a window; mass outside is folded into it. `base` is the
// node at which all parts are at their first one. Outcomes whose losses are all in the bulk are left out.
std::unique_ptr<const TailSums> compose(const std::vector<TiltedPart>& parts, Window window, std::int64_t base,
                                        double step, double theta, FourierTransform& fourier);

// Long compositions by their low frequencies alone.
//
// The tilted law of many uses has a transform that is nothing but a peak at zero: of a million frequencies a few dozen
// count. Their values are sums over one use's nodes; all others are bounded together, once and for all; and what delta
// needs of a frequency is a geometric series. No array of the window's length is made.
//
// Bound of the rest. |z(f)| of one part, with weights w and centre c, is at most
//     |z(g)| + |z_c'(g)| |f - g| + s (f - g)^2 / 2,    s = sum of w (i - c)^2,
// z_c the transform about the centre, whose modulus is the same (Taylor's theorem); far from zero the same without the
// middle term and with sum of w |i - c| for the derivative. The bounds are evaluated on grids that leave no gap between
// the first frequency left out and pi.
//
// Returns the law of a composition where few frequencies are enough, null elsewhere.
std::unique_ptr<const TailSums> low_frequencies(const std::vector<TiltedPart>& parts, Window window, std::int64_t base,
                                                double step, double theta, FourierTransform& fourier);

}  // namespace renyi::lattice
