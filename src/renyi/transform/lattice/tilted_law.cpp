#include "renyi/transform/lattice/tilted_law.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "renyi/transform/lattice/lattice.hpp"
#include "renyi/transform/lattice/spectrum.hpp"

namespace renyi::lattice {

namespace {

constexpr std::size_t kBlock = 256;

}  // namespace

NodeMasses::NodeMasses(Window window, std::vector<double> masses, double point_error, double step, double theta)
    : window_(window), masses_(std::move(masses)), point_error_(point_error), step_(step), theta_(theta) {
    for (double& mass : masses_) mass = std::max(mass, 0.0);
    const std::size_t block = std::min(kBlock, masses_.size());
    for (std::size_t k = 0; k < block; ++k) {
        w_.push_back(std::exp(-theta * static_cast<double>(k)));
        v_.push_back(w_.back() * -std::expm1(-step * static_cast<double>(k)));
    }
    const std::size_t blocks = (masses_.size() + kBlock - 1) / kBlock;
    tails_.assign(blocks + 1, Tail{0.0, 0.0, 0.0});
    for (std::size_t b = blocks; b-- > 0;) tails_[b] = tail_from(b * kBlock);
}

// Relative errors: products of terms to 6 u each, summed by lanes, 30 u; the tail beyond to 8 u more than its own, that
// of e^(-h b) being relative to a term that is small where h b is large.
NodeMasses::Tail NodeMasses::tail_from(std::size_t index) const noexcept {
    const std::size_t next = index / kBlock + 1, end = std::min(next * kBlock, masses_.size());
    const TwoSums near = two_products(masses_.data() + index, w_.data(), v_.data(), end - index);
    if (next >= tails_.size() || tails_[next].a == 0.0) return {near.first, near.second, 32.0 * kUnitRoundoff};
    const double length = static_cast<double>(end - index);
    const double decay = std::exp(-theta_ * length), far = std::exp(-step_ * length);
    const Tail& beyond = tails_[next];
    const double a = decay * beyond.a;
    const double c = decay * (-std::expm1(-step_ * length) * beyond.a + far * beyond.c);
    const double share = std::max(near.first + a > 0.0 ? a / (near.first + a) : 0.0,
                                  near.second + c > 0.0 ? c / (near.second + c) : 0.0);
    return {near.first + a, near.second + c, 40.0 * kUnitRoundoff + share * beyond.error * (1.0 + 0x1p-40)};
}

WeightedSum NodeMasses::sum_from(std::int64_t start, double distance) const {
    const Tail tail = tail_from(static_cast<std::size_t>(start - window_.first));
    const double value = -std::expm1(-distance) * tail.a + std::exp(-distance) * tail.c;
    // Weights below 2^-1000 may have been lost.
    return {value, point_error_ * sum_of_weights(theta_, step_, distance) + value * (tail.error + 8.0 * kUnitRoundoff) +
                       0x1p-960};
}

// Composition of tilted masses by FFT, with every rounding error bounded.
//
// With Z = B + S split into bulk and rest, prod Z^count - prod B^count is summed as S (Z^(count-1) + ... +
// B^(count-1)), so that errors are relative to what remains and not to the bulk.
//
// A radix-2 FFT is a product of log2 n sparse matrices whose moduli multiply to the matrix of ones, and each is applied
// with componentwise relative error; hence every computed output differs by at most ((1+eta)^log2(n) - 1) times the l1
// norm of the input (the componentwise form of Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., Theorem
// 24.2 and its proof). The inverse averages the errors over the frequencies, and adds its own error relative to the
// mean modulus.

namespace {

// Below all that matters, above all that underflows: weights of 2^-1021 at some 2^57 places.
constexpr double kUnderflow = 0x1p-950;

class Transformer {
public:
    Transformer(std::size_t size, std::size_t longest, FourierTransform& fourier)
        : size_(size), fourier_(fourier), folded_(size) {
        const double rows = std::ceil(static_cast<double>(longest) / static_cast<double>(size));
        const double levels = std::log2(static_cast<double>(size)) + 1.0;
        error_ = std::expm1(levels * std::log1p(kButterflyError)) + rows * kUnitRoundoff;
    }

    // The transform of some of the weights, where they start.
    Spectrum forward(const std::vector<double>& weights, std::size_t begin, std::size_t end) {
        std::ranges::fill(folded_, 0.0);
        for (std::size_t i = begin; i < end; ++i) folded_[i & (size_ - 1)] += weights[i];
        Spectrum found(size_ / 2 + 1);
        fourier_.forward(folded_.data(), size_, found.value.data());
        found.set_error(error_ * sum_of(weights.data() + begin, end - begin) * (1.0 + 1e-9) + kUnderflow);
        return found;
    }

    // The masses of a transform, and the error of each.
    double inverse(const Spectrum& spectrum, std::vector<double>& masses) {
        fourier_.inverse(spectrum.value.data(), size_, masses.data());
        const std::size_t last = spectrum.size() - 1;
        double error = 2.0 * sum_of(spectrum.error.data(), last + 1) - spectrum.error[0] - spectrum.error[last];
        error += error_ * (2.0 * sum_of(spectrum.reach.data(), last + 1));
        return error / static_cast<double>(size_) * (1.0 + 1e-9) + kUnderflow;
    }

private:
    std::size_t size_;
    FourierTransform& fourier_;
    std::vector<double> folded_;
    double error_;
};

Spectrum composed_whole(const std::vector<TiltedPart>& parts, Transformer& transformer) {
    std::optional<Spectrum> kept;
    for (const TiltedPart& part : parts) {
        Spectrum power = power_of(transformer.forward(part.weights, 0, part.weights.size()), part.count);
        if (kept) {
            kept->multiply(power);
        } else {
            kept = std::move(power);
        }
    }
    return std::move(*kept);
}

Spectrum composed_less_bulk(const std::vector<TiltedPart>& parts, Transformer& transformer) {
    std::optional<Spectrum> kept, left_out;  // what counts so far, and the product of the bulks
    for (const TiltedPart& part : parts) {
        Spectrum fresh = transformer.forward(part.weights, part.bulk, part.weights.size());
        const Spectrum b = transformer.forward(part.weights, 0, part.bulk);
        Spectrum z = b;
        z.add(fresh);
        fresh.multiply(geometric_sum(z, b, part.count));
        Spectrum bulk = power_of(b, part.count);
        if (kept) {
            kept->multiply(power_of(z, part.count));
            fresh.multiply(*left_out);
            kept->add(fresh);
            left_out->multiply(bulk);
        } else {
            kept = std::move(fresh);
            left_out = std::move(bulk);
        }
    }
    return std::move(*kept);
}

}  // namespace

NodeMasses compose(const std::vector<TiltedPart>& parts, Window window, std::int64_t base, double step, double theta,
                   FourierTransform& fourier) {
    std::size_t longest = 1;
    for (const TiltedPart& part : parts) longest = std::max(longest, part.weights.size());
    Transformer transformer(static_cast<std::size_t>(window.size), longest, fourier);
    const bool whole = std::ranges::any_of(parts, [](const TiltedPart& part) { return part.bulk == 0; });
    const Spectrum found = whole ? composed_whole(parts, transformer) : composed_less_bulk(parts, transformer);
    std::vector<double> masses(static_cast<std::size_t>(window.size));
    const double error = transformer.inverse(found, masses);
    // Entry 0 is the node `base`, modulo the window.
    const std::int64_t turn = (window.first - base) & (window.size - 1);
    std::rotate(masses.begin(), masses.begin() + turn, masses.end());
    return {window, std::move(masses), error, step, theta};
}

}  // namespace renyi::lattice
