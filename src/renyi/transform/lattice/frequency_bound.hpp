// Bounds of the transform of a composed tilted law at all high frequencies, see low_frequencies.hpp.
#pragma once

#include <vector>

#include "renyi/transform/lattice/fourier_transform.hpp"
#include "renyi/transform/lattice/partial_transform.hpp"
#include "renyi/transform/lattice/tilted_law.hpp"

namespace renyi::lattice {

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

}  // namespace renyi::lattice
