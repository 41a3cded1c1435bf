#include "renyi/transform/lattice/tilted_law.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>
#include <optional>
#include <utility>

#include "renyi/transform/lattice/lattice.hpp"
#include "renyi/transform/lattice/spectrum.hpp"

namespace renyi::lattice {

namespace {

constexpr std::size_t kBlock = 256;

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
    // Takes the masses in the window, each with an error of at most point_error. Negative masses count as 0.
    NodeMasses(Window window, std::vector<double> masses, double point_error, double step, double theta)
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

    WeightedSum sum_from(std::int64_t start, double distance) const override {
        const Tail tail = tail_from(static_cast<std::size_t>(start - window_.first));
        const double value = -std::expm1(-distance) * tail.a + std::exp(-distance) * tail.c;
        // Weights below 2^-1000 may have been lost.
        return {value, point_error_ * sum_of_weights(theta_, step_, distance) +
                           value * (tail.error + 8.0 * kUnitRoundoff) + 0x1p-960};
    }
    std::int64_t nodes() const noexcept override { return window_.size; }

private:
    struct Tail {
        double a, c, error;  // error: relative, of both
    };

    // Relative errors: products of terms to 6 u each, summed by lanes, 30 u; the tail beyond to 8 u more than its own,
    // that of e^(-h b) being relative to a term that is small where h b is large.
    Tail tail_from(std::size_t index) const noexcept {
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

    Window window_;
    std::vector<double> masses_, w_, v_;
    std::vector<Tail> tails_;  // from every block's first node
    double point_error_, step_, theta_;
};

}  // namespace

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

    // The transform of the weights from `begin` to `end`, at their places.
    Spectrum forward(const std::vector<double>& weights, std::size_t begin, std::size_t end) {
        std::ranges::fill(folded_, 0.0);
        for (std::size_t i = begin; i < end; ++i) folded_[i & (size_ - 1)] += weights[i];
        Spectrum found(size_ / 2 + 1);
        fourier_.forward(folded_.data(), size_, found.value.data());
        found.set_error(error_ * sum_of(weights.data() + begin, end - begin) * (1.0 + 1e-9) + kUnderflow);
        return found;
    }

    // Fills the masses of a transform, and returns the error of each.
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

// The product of the transforms' powers.
template <class Transform>
Spectrum composed_whole(const std::vector<TiltedPart>& parts, Transform transform) {
    std::optional<Spectrum> kept;
    for (const TiltedPart& part : parts) {
        Spectrum power = power_of(transform(part.weights), part.count);
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

std::unique_ptr<const TailSums> compose(const std::vector<TiltedPart>& parts, Window window, std::int64_t base,
                                        double step, double theta, FourierTransform& fourier) {
    std::size_t longest = 1;
    for (const TiltedPart& part : parts) longest = std::max(longest, part.weights.size());
    Transformer transformer(static_cast<std::size_t>(window.size), longest, fourier);
    const bool whole = std::ranges::any_of(parts, [](const TiltedPart& part) { return part.bulk == 0; });
    const auto forward = [&](const std::vector<double>& w) { return transformer.forward(w, 0, w.size()); };
    const Spectrum found = whole ? composed_whole(parts, forward) : composed_less_bulk(parts, transformer);
    std::vector<double> masses(static_cast<std::size_t>(window.size));
    const double error = transformer.inverse(found, masses);
    // Entry 0 is the node `base`, modulo the window.
    const std::int64_t turn = (window.first - base) & (window.size - 1);
    std::rotate(masses.begin(), masses.begin() + turn, masses.end());
    return std::make_unique<const NodeMasses>(window, std::move(masses), error, step, theta);
}

namespace {

constexpr double kStep = 1.1;       // ratio of the fine grid, which is geometric
constexpr double kRounding = 1e-9;  // covers the rounding of sums and transforms, relative to the sum of the weights
constexpr double kTurn = 2.0 * std::numbers::pi;

// Bounds of the transform of a composed tilted law at all high frequencies.
class FrequencyBound {
public:
    FrequencyBound(const std::vector<TiltedPart>& parts, FourierTransform& fourier) : fourier_(fourier) {
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

    double variance() const noexcept { return variance_; }  // of the composed law, in nodes
    double log_total() const noexcept { return log_total_; }

    // Bounds the log of the product of |z|^count at all frequencies from `start` to pi.
    double largest_beyond(double start) {
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
        const auto first =
            static_cast<std::size_t>(std::min(edge * (1.0 - kRounding) / width_, static_cast<double>(last)));
        for (std::size_t cell = first; cell < last; ++cell) found = std::max(found, log_coarse(cell));
        return found + kRounding * uses_;
    }

private:
    // One part's weights about their centre, with sums that bound the slope of the transform, rounded up.
    struct PartBound {
        const TiltedPart* part;
        double count, total, first, second;
        PartialTransform transform, derivative;
        std::vector<double> moduli;  // at multiples of width_, once computed

        double log_near(double middle, double half) const {
            const double slope = derivative.modulus(middle) + kRounding * first;
            const double bound =
                transform.modulus(middle) + kRounding * total + slope * half + 0.5 * second * half * half;
            return count * std::log(std::min(bound, total));
        }
    };

    void transform_all(FourierTransform& fourier) {
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
    // Bounds the log over the frequencies between two neighbours of the full transform.
    double log_coarse(std::size_t cell) const {
        double bound = 0.0;
        for (const PartBound& p : parts_) {
            const double modulus =
                std::max(p.moduli[cell], p.moduli[cell + 1]) + 0.5 * width_ * p.first + kRounding * p.total;
            bound += p.count * std::log(std::min(modulus, p.total));
        }
        return bound;
    }

    std::vector<PartBound> parts_;
    double variance_ = 0.0, log_total_ = 0.0, uses_ = 0.0, width_ = 0.0;
    FourierTransform& fourier_;
};

using Complex = std::complex<double>;

// Tuning: these affect width and time, not validity, since the transform beyond the cut is bounded.
constexpr double kNeglected = 60.0;  // -log of the transform, relative to its peak, that is aimed at beyond the cut
constexpr double kEnough = 45.0;
constexpr double kMost = 4096.0;           // frequencies
constexpr double kWork = 0x1p24;           // frequencies times nodes
constexpr std::size_t kLongest = 1 << 19;  // nodes of one use

// The product without the library's tests for infinities.
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

class LowFrequencies final : public TailSums {
public:
    // The transform of a composition at the frequencies 2 pi j / size, j = 0, 1, ..., its phase counted from `base`,
    // the node at which all parts are at their first one; `rest` bounds the modulus at every other frequency.
    LowFrequencies(Window window, std::int64_t base, Spectrum transform, double rest, double step, double theta)
        : window_(window), base_(base), transform_(std::move(transform)), rest_(rest), step_(step), theta_(theta) {}

    // With r = e^(-theta + i f) the sum of the weights times e^(i f k) over all k >= 0 is
    // ((1 - e^-d) + r (e^-d - e^-h)) / ((1 - r)(1 - r e^-h)). The part beyond the window is subtracted.
    WeightedSum sum_from(std::int64_t start, double distance) const override {
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
            const double squared = lower.real() * lower.real() + lower.imag() * lower.imag(),
                         below = std::sqrt(squared);
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
    std::int64_t nodes() const noexcept override { return 0; }

private:
    Window window_;
    std::int64_t base_;
    Spectrum transform_;
    double rest_, step_, theta_;
};

}  // namespace

std::unique_ptr<const TailSums> low_frequencies(const std::vector<TiltedPart>& parts, Window window, std::int64_t base,
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
    Spectrum kept = composed_whole(parts, [&](const std::vector<double>& weights) {
        return PartialTransform(weights).low(static_cast<std::int64_t>(last), window.size);
    });
    return std::make_unique<const LowFrequencies>(window, base, std::move(kept), std::exp(rest), step, theta);
}

}  // namespace renyi::lattice
