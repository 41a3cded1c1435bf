#include "renyi/transform/lattice/low_frequencies.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>
#include <optional>

#include "renyi/transform/lattice/lattice.hpp"

namespace renyi::lattice {

namespace {

constexpr double kStep = 1.1;       // of the fine grid, geometric
constexpr double kRounding = 1e-9;  // covers the rounding of sums and transforms, relative to the sum of the weights
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
                          total * (1.0 + kRounding),
                          first * (1.0 + kRounding),
                          second * (1.0 + kRounding),
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
    const double slope = derivative.modulus(middle) + kRounding * first;
    const double bound = transform.modulus(middle) + kRounding * total + slope * half + 0.5 * second * half * half;
    return count * std::log(std::min(bound, total));
}

// Over the frequencies between two neighbours of the transform of all.
double FrequencyBound::log_coarse(std::size_t cell) const {
    double bound = 0.0;
    for (const PartBound& p : parts_) {
        const double modulus =
            std::max(p.moduli[cell], p.moduli[cell + 1]) + 0.5 * width_ * p.first + kRounding * p.total;
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
        const double next = edge * ratio, half = 0.5 * (next - edge) * (1.0 + kRounding);
        double bound = 0.0;
        for (const PartBound& p : parts_) bound += p.log_near(0.5 * (edge + next), half);
        found = std::max(found, bound);
        edge = next;
    }
    // From the last edge, or a little below it, to pi.
    const std::size_t last = parts_.front().moduli.size() - 1;
    const auto first = static_cast<std::size_t>(std::min(edge * (1.0 - kRounding) / width_, static_cast<double>(last)));
    for (std::size_t cell = first; cell < last; ++cell) found = std::max(found, log_coarse(cell));
    return found + kRounding * uses_;
}

namespace {

using Complex = std::complex<double>;

constexpr double kNeglected = 60.0;  // -log of the transform, relative to its peak, that is aimed at beyond the cut
constexpr double kEnough = 45.0;
constexpr double kMost = 4096.0;           // frequencies
constexpr double kWork = 0x1p24;           // frequencies times nodes
constexpr std::size_t kLongest = 1 << 19;  // nodes of one use

// Without the tests for infinities of the library's product.
Complex times(Complex a, Complex b) noexcept {
    return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}

double modulus(Complex z) noexcept { return std::sqrt(z.real() * z.real() + z.imag() * z.imag()); }

// 1 - e^(x + i y), x < 0, from terms of one sign.
Complex one_minus_exp(double x, double y) noexcept {
    const double scale = std::exp(x), half = std::sin(0.5 * y);
    return {-std::expm1(x) + 2.0 * scale * half * half, -scale * std::sin(y)};
}

// e^-d - e^-h
double difference(double d, double h) noexcept {
    return d <= h ? std::exp(-d) * -std::expm1(d - h) : std::exp(-d) - std::exp(-h);
}

}  // namespace

WeightedSum LowFrequencies::sum_from(std::int64_t start, double distance) const {
    const std::int64_t length = window_.end() - start;
    const double far = distance + step_ * static_cast<double>(length);
    const double fading = std::exp(-theta_ * static_cast<double>(length));
    const double near_lead = -std::expm1(-distance), near_follow = difference(distance, step_);
    const double far_lead = -std::expm1(-far), far_follow = difference(far, step_);
    const double size = near_lead + std::fabs(near_follow) + fading * (far_lead + std::fabs(far_follow));
    const double decay = std::exp(-theta_);
    double sum = 0.0, error = 0.0;
    for (std::size_t j = 0; j < transform_.size(); ++j) {
        const auto turn = static_cast<std::int64_t>(j);
        const double frequency = kTurn / static_cast<double>(window_.size) * static_cast<double>(j);
        const Complex lower = times(one_minus_exp(-theta_, frequency), one_minus_exp(-theta_ - step_, frequency));
        const Complex ratio = decay * phase(turn, window_.size);
        const Complex cut = fading * phase(turn * (length & (window_.size - 1)), window_.size);
        const Complex upper = near_lead + ratio * near_follow - times(cut, far_lead + ratio * far_follow);
        const double squared = lower.real() * lower.real() + lower.imag() * lower.imag(), below = std::sqrt(squared);
        const Complex weight = times(upper, std::conj(lower)) / squared;
        const double rounding = 48.0 * kUnitRoundoff * size / below, reach = modulus(weight);
        const Complex here = phase(turn * ((start - base_) & (window_.size - 1)), window_.size);
        const double counted = j == 0 ? 1.0 : 2.0;
        sum += counted * times(times(transform_.value[j], here), weight).real();
        error += counted * (transform_.error[j] * (reach + rounding) +
                            modulus(transform_.value[j]) * (rounding + 64.0 * kUnitRoundoff * reach));
    }
    const double scale = 1.0 / static_cast<double>(window_.size);
    return {sum * scale, (error * scale * (1.0 + kUnitRoundoff * static_cast<double>(transform_.size())) +
                          rest_ * sum_of_weights(theta_, step_, distance)) *
                             (1.0 + 1e-9)};
}

std::unique_ptr<LowFrequencies> low_frequencies(const std::vector<TiltedPart>& parts, Window window, std::int64_t base,
                                                double step, double theta, FourierTransform& fourier) {
    std::size_t nodes = 0;
    for (const TiltedPart& part : parts) {
        if (part.bulk > 0) return nullptr;
        nodes += part.weights.size();
    }
    if (nodes > kLongest) return nullptr;
    const double size = static_cast<double>(window.size);
    const double most = std::min({kMost, std::floor(size / 4.0), std::floor(kWork / static_cast<double>(nodes))});
    FrequencyBound bound(parts, fourier);
    if (!(bound.variance() > 0.0)) return nullptr;
    double cut = std::sqrt(2.0 * kNeglected / bound.variance()), last = 0.0, rest = 0.0;
    for (int turn = 0;; ++turn, cut *= 1.4) {
        last = std::ceil(cut * size / kTurn);
        if (turn == 3 || last > most) return nullptr;
        rest = bound.largest_beyond((last + 1.0) * kTurn / size);
        if (rest <= bound.log_total() - kEnough) break;
    }
    std::optional<Spectrum> kept;
    for (const TiltedPart& part : parts) {
        Spectrum power =
            power_of(PartialTransform(part.weights).low(static_cast<std::int64_t>(last), window.size), part.count);
        if (kept) {
            kept->multiply(power);
        } else {
            kept = std::move(power);
        }
    }
    return std::make_unique<LowFrequencies>(window, base, std::move(*kept), std::exp(rest), step, theta);
}

}  // namespace renyi::lattice
