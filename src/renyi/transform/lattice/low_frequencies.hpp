// Long compositions by their low frequencies alone.
//
// The tilted law of many uses has a transform that is nothing but a peak at zero: of a million frequencies a few dozen
// count. Their values are sums over one use's nodes; all others are bounded together, once and for all; and what delta
// needs of a frequency is a geometric series. No array of the window's length is made.
//
// Bound of the rest. |z(f)| of one part, with weights w and centre c, is at most
//     |z(g)| + |z_c'(g)| |f - g| + s (f - g)^2 / 2,    s = sum of w (i - c)^2,
// z_c the transform about the centre, whose modulus is the same (Taylor's theorem); far from zero the same without the
// middle term and with sum of w |i - c| for the derivative. Evaluated on grids that leave no gap between the first
// frequency left out and pi.
#pragma once

#include <memory>
#include <vector>

#include "renyi/transform/lattice/spectrum.hpp"
#include "renyi/transform/lattice/tilted_law.hpp"

namespace renyi::lattice {

// Bounds of the transform of a composed tilted law at all high frequencies.
class FrequencyBound {
public:
    FrequencyBound(const std::vector<TiltedPart>& parts, FourierTransform& fourier);

    double variance() const noexcept { return variance_; }  // of the composed law, in nodes
    double log_total() const noexcept { return log_total_; }

    // Bounds the log of the product of |z|^count at all frequencies from `start` to pi.
    double largest_beyond(double start);

private:
    // One part's weights about their centre, with sums that bound the slope of the transform, rounded up.
    struct PartBound {
        const TiltedPart* part;
        double count, total, first, second;
        PartialTransform transform, derivative;
        std::vector<double> moduli;  // at multiples of `width`, once they are asked for

        double log_near(double middle, double half) const;
    };

    void transform_all(FourierTransform& fourier);
    double log_coarse(std::size_t cell) const;

    std::vector<PartBound> parts_;
    double variance_ = 0.0, log_total_ = 0.0, uses_ = 0.0, width_ = 0.0;
    FourierTransform& fourier_;
};

class LowFrequencies final : public TailSums {
public:
    // The transform of a composition at the frequencies 2 pi j / size, j = 0, 1, ..., its phase counted from `base`,
    // the node at which all parts are at their first one; `rest` bounds the modulus at every other frequency.
    LowFrequencies(Window window, std::int64_t base, Spectrum transform, double rest, double step, double theta)
        : window_(window), base_(base), transform_(std::move(transform)), rest_(rest), step_(step), theta_(theta) {}

    // With r = e^(-theta + i f) the sum of the weights times e^(i f k) over all k >= 0 is
    // ((1 - e^-d) + r (e^-d - e^-h)) / ((1 - r)(1 - r e^-h)); what lies beyond the window goes off.
    WeightedSum sum_from(std::int64_t start, double distance) const override;
    std::int64_t nodes() const noexcept override { return 0; }

private:
    Window window_;
    std::int64_t base_;
    Spectrum transform_;
    double rest_, step_, theta_;
};

// The law of a composition where few frequencies make it up, null elsewhere.
std::unique_ptr<LowFrequencies> low_frequencies(const std::vector<TiltedPart>& parts, Window window, std::int64_t base,
                                                double step, double theta, FourierTransform& fourier);

}  // namespace renyi::lattice
