#include "renyi/transform/lattice/frequency_bound.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>

#include "renyi/transform/lattice/lattice_kernels.hpp"

namespace renyi::lattice {

namespace {

constexpr double kStep = 1.1;   // of the fine grid, geometric
constexpr double kRoom = 1e-9;  // covers the rounding of sums and transforms, relative to the sum of the weights
constexpr double kTurn = 2.0 * std::numbers::pi;

}  // namespace

FrequencyBound::FrequencyBound(const std::vector<TiltedPart>& parts, FourierTransform& fourier) : fourier_(fourier) {
    for (const TiltedPart& part : parts) {
        const std::size_t n = part.weights.size();
        const double total = sum_of(part.weights.data(), n);
        double mean = 0.0;
        for (std::size_t i = 0; i < n; ++i) mean += part.weights[i] * static_cast<double>(i);
        const double centre = std::round(mean / total);
        std::vector<double> moved(n);
        double first = 0.0, second = 0.0;
        for (std::size_t i = 0; i < n; ++i) {
            const double place = static_cast<double>(i) - centre;
            moved[i] = part.weights[i] * place;
            first += std::fabs(moved[i]);
            second += moved[i] * place;
        }
        const double count = static_cast<double>(part.count);
        parts_.push_back({&part,
                          count,
                          total * (1.0 + kRoom),
                          first * (1.0 + kRoom),
                          second * (1.0 + kRoom),
                          PartialTransform(part.weights),
                          PartialTransform(moved),
                          {}});
        variance_ += count * second / total;
        log_total_ += count * std::log(total);
        uses_ += count;
    }
}

void FrequencyBound::transform_all(FourierTransform& fourier) {
    std::size_t longest = 1;
    for (const PartBound& p : parts_) longest = std::max(longest, p.part->weights.size());
    const std::size_t size = std::bit_ceil(8 * longest);
    width_ = kTurn / static_cast<double>(size);
    std::vector<double> padded(size);
    std::vector<std::complex<double>> values(size / 2 + 1);
    for (PartBound& p : parts_) {
        std::ranges::fill(padded, 0.0);
        std::ranges::copy(p.part->weights, padded.begin());
        fourier.forward(padded.data(), size, values.data());
        p.moduli.resize(values.size());
        std::ranges::transform(values, p.moduli.begin(), [](std::complex<double> z) {
            return std::sqrt(z.real() * z.real() + z.imag() * z.imag());
        });
    }
}

double FrequencyBound::PartBound::log_near(double middle, double half) const {
    const double slope = derivative.modulus(middle) + kRoom * first;
    const double bound = transform.modulus(middle) + kRoom * total + slope * half + 0.5 * second * half * half;
    return count * std::log(std::min(bound, total));
}

// Over the frequencies between two neighbours of the transform of all.
double FrequencyBound::log_coarse(std::size_t cell) const {
    double bound = 0.0;
    for (const PartBound& p : parts_) {
        const double modulus = std::max(p.moduli[cell], p.moduli[cell + 1]) + 0.5 * width_ * p.first + kRoom * p.total;
        bound += p.count * std::log(std::min(modulus, p.total));
    }
    return bound;
}

double FrequencyBound::largest_beyond(double start) {
    if (width_ == 0.0) transform_all(fourier_);
    const double spread = std::sqrt(variance_ / uses_);
    const double far = std::max({8.0 * width_, 1.5 / spread, start * kStep});
    const double cells = std::ceil(std::log(far / start) / std::log(kStep));
    const double ratio = std::pow(far / start, 1.0 / cells);
    double found = -kInfinity, edge = start;
    for (int i = 0; i < static_cast<int>(cells); ++i) {
        const double next = edge * ratio, half = 0.5 * (next - edge) * (1.0 + kRoom);
        double bound = 0.0;
        for (const PartBound& p : parts_) bound += p.log_near(0.5 * (edge + next), half);
        found = std::max(found, bound);
        edge = next;
    }
    // From the last edge, or a little below it, to pi.
    const std::size_t last = parts_.front().moduli.size() - 1;
    const auto first = static_cast<std::size_t>(std::min(edge * (1.0 - kRoom) / width_, static_cast<double>(last)));
    for (std::size_t cell = first; cell < last; ++cell) found = std::max(found, log_coarse(cell));
    return found + kRoom * uses_;
}

}  // namespace renyi::lattice
