// The tilted law of a composition on a window of nodes, and sums of its tail.
//
// Tilting multiplies the mass at node i by e^(theta i - c), which makes its sum about 1 and moves the mean of the
// composition to the losses that decide delta(epsilon): rounding errors are then relative to them, and delta may be as
// small as a double can hold. theta and c are short dyadic fractions, so that theta i and theta i - c are exact in
// double precision, and c count and its differences from theta i in integers of 128 bits.
#pragma once

#include <cmath>
#include <cstdint>
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

    // Nodes that had to be transformed.
    virtual std::int64_t nodes() const noexcept = 0;
};

// The largest value of (1 - e^-x) e^(-slope x) over x > 0.
inline double largest_weight(double slope) noexcept {
    return slope == 0.0 ? 1.0 : std::exp(-slope * std::log1p(1.0 / slope)) / (1.0 + slope) * (1.0 + 0x1p-40);
}

// Bounds the sum of the weights (1 - e^-x) e^(-theta k), x = distance + step k > 0. As (1 - e^-x) e^(-t x), t =
// theta/step, times e^(t distance): at most its integral 1/(t (t+1)) over the step, plus its maximum. And it is at most
// a geometric series.
inline double sum_of_weights(double theta, double step, double distance) noexcept {
    const double slope = theta / step, lift = slope * distance;
    const double series = -1.0 / std::expm1(-theta);
    const double integral = std::exp(std::fmin(lift, 700.0)) * (1.0 / (theta * (slope + 1.0)) + largest_weight(slope));
    return (lift < 700.0 ? std::fmin(series, integral) : series) * (1.0 + 0x1p-38);
}

// A tilted law given by its masses at all nodes of a window.
//
// With w_k = e^(-theta k) and v_k = e^(-theta k)(1 - e^(-h k)) the weights of a tail at a distance d are
// (1 - e^-d) w_k + e^-d v_k, all of one sign. The sums A of masses times w and C of masses times v over the whole tail
// are kept for every 256th node, from the end:
//     A_s = sum over the block + e^(-theta b) A_{s+b},
//     C_s = sum over the block + e^(-theta b) ((1 - e^(-h b)) A_{s+b} + e^(-h b) C_{s+b}),
// so that a tail takes two short products, wherever it starts.
class NodeMasses final : public TailSums {
public:
    // Masses in the window, each in error by point_error at most; negative ones are errors and count as 0.
    NodeMasses(Window window, std::vector<double> masses, double point_error, double step, double theta);

    WeightedSum sum_from(std::int64_t start, double distance) const override;
    std::int64_t nodes() const noexcept override { return window_.size; }

private:
    struct Tail {
        double a, c, error;  // error: relative, of both
    };

    Tail tail_from(std::size_t index) const noexcept;

    Window window_;
    std::vector<double> masses_, w_, v_;
    std::vector<Tail> tails_;  // from every block's first node
    double point_error_, step_, theta_;
};

// The composition of tilted parts, of sum about 1 each, on a window; what lies outside is folded into it. `base` is the
// node at which all parts are at their first one. Outcomes whose losses are all in the bulk are left out.
NodeMasses compose(const std::vector<TiltedPart>& parts, Window window, std::int64_t base, double step, double theta,
                   FourierTransform& fourier);

}  // namespace renyi::lattice
