#include "renyi/sgd/rounded_noise.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <limits>

#include "renyi/fp/multiversion.hpp"
#include "renyi/sgd/ieee_mode.hpp"
#include "renyi/sgd/parallel.hpp"
#include "renyi/sgd/variates.hpp"

namespace renyi {

namespace {

constexpr std::size_t kGroups = 2, kChunk = kGroups * kGroupWords, kPairs = kChunk / 2;
constexpr std::size_t kLeastPerThread = 1 << 15;  // below it a thread costs more than it saves

// Variables X of unit scale in single precision. With u = 2^-24 and v = min(U, 1 - U) >= 2^-12,
//     |x - X| <= 7.5u reach + 2^-26.4                                                                    (1)
// and reach is infinite where v is smaller.
struct Variates {
    alignas(64) float x[kChunk];
    alignas(64) float reach[kChunk];
};

constexpr float kLeastV = 0x1p-12f, kInfinity = std::numeric_limits<float>::infinity();

// Gaussian, reach = R: of (1) 3u by the radius, 2u by the point, 1u by their product; half the cell of U moves R by
// 2^-33 / (v R) < 0.5u R where U < 1/2, otherwise by 2^-33 / ((1 - v) R) <= 2^-26.5 as R >= 2^-5.5; that of the angle
// by 2^-30.3 R.
RENYI_MULTIVERSION void gaussian_variates(const std::uint32_t* __restrict words, Variates& variates) noexcept {
    float* __restrict x = variates.x;
    float* __restrict reach = variates.reach;
    for (std::size_t i = 0; i < kPairs; ++i) {
        const Exponential e = exponential_of(words[i]);
        const CirclePoint point = point_of(words[kPairs + i]);
        const float radius = radius_of(e);
        x[i] = radius * point.x;
        x[kPairs + i] = radius * point.y;
        reach[i] = reach[kPairs + i] = e.v >= kLeastV ? radius : kInfinity;
    }
}

// Laplace, reach = E: 4.4u, and of a cell of two units the middle is computed half a unit off, so that E moves by
// 1.5 2^-32 / v < 3u E where W < 1/2, otherwise by 1.5 2^-31 at most.
RENYI_MULTIVERSION void laplace_variates(const std::uint32_t* __restrict words, Variates& variates) noexcept {
    float* __restrict x = variates.x;
    float* __restrict reach = variates.reach;
    for (std::size_t i = 0; i < kChunk; ++i) {
        const Exponential e = exponential_of(words[i] << 1);
        x[i] = blend(leading_bit(words[i]), -e.value, e.value);
        reach[i] = e.v >= kLeastV ? e.value : kInfinity;
    }
}

// What the kernels know of a lattice: they compute y = fraction + ratio x in single precision, with n + fraction the
// number in spacings. Rounding of ratio, product and sum adds 3u (ratio reach + 1) to (1), that of the fraction 2^-26,
// that of the comparison 2^-25 and 4u of its right side. All this is below ratio (11u reach + 2^-26), as ratio >= 2^9.
template <class Real>
struct Step {
    explicit Step(const NoiseLattice& lattice) noexcept
        : inverse(static_cast<Real>(std::ldexp(1.0, -lattice.log_spacing))),
          spacing(static_cast<Real>(lattice.spacing)),
          ratio(static_cast<float>(lattice.ratio)),
          relative(ratio * 11 * 0x1p-24f),
          absolute(ratio * 0x1p-26f) {}

    Real inverse, spacing;
    float ratio, relative, absolute;
};

// Rounds what is decided and leaves the rest; open[i] is then 1.
template <class Real>
RENYI_INLINE void round_some(const Step<Real>& step, const Variates& variates, Real* __restrict numbers,
                             std::uint8_t* __restrict open, std::size_t count) noexcept {
    constexpr float kShift = 0x1.8p23f;  // adding it rounds to an integer
    const float* __restrict x = variates.x;
    const float* __restrict reach = variates.reach;
    for (std::size_t i = 0; i < count; ++i) {
        const Real number = numbers[i], scaled = number * step.inverse, n = std::rint(scaled);
        const float y = static_cast<float>(scaled - n) + step.ratio * x[i];  // below 2^13 at kResolution
        const float k = (y + kShift) - kShift;
        const float margin = step.relative * reach[i] + step.absolute;
        const bool decided = __builtin_fabsf(y - k) + margin < 0.5f;  // not where the number is not finite
        const Real rounded = (n + static_cast<Real>(k)) * step.spacing;
        numbers[i] = decided ? rounded : number;
        open[i] = decided ? 0 : 1;
    }
}

RENYI_MULTIVERSION void round_chunk(const Step<float>& step, const Variates& variates, float* numbers,
                                    std::uint8_t* open, std::size_t count) noexcept {
    round_some(step, variates, numbers, open, count);
}

RENYI_MULTIVERSION void round_chunk(const Step<double>& step, const Variates& variates, double* numbers,
                                    std::uint8_t* open, std::size_t count) noexcept {
    round_some(step, variates, numbers, open, count);
}

template <class Real>
class NoiseAdder {
public:
    NoiseAdder(NoiseLaw law, const ChaChaStream& stream, const NoiseLattice& lattice) noexcept
        : law_(law), stream_(stream), lattice_(lattice), step_(lattice) {}

    // Up to kChunk numbers by the words of the groups from `first` on.
    Undecided add(std::uint64_t first, Real* numbers, std::size_t count) const {
        alignas(64) std::uint32_t words[kChunk];
        alignas(64) std::uint8_t open[kChunk];
        Variates variates;
        chacha20_groups(stream_, first, kGroups, words);
        law_ == NoiseLaw::gaussian ? gaussian_variates(words, variates) : laplace_variates(words, variates);
        round_chunk(step_, variates, numbers, open, count);
        Undecided undecided;
        for (std::size_t i = 0; const void* at = std::memchr(open + i, 1, count - i); ++i) {
            i = static_cast<std::size_t>(static_cast<const std::uint8_t*>(at) - open);
            round_one(first, words, i, numbers[i], undecided);
        }
        return undecided;
    }

private:
    void round_one(std::uint64_t first, const std::uint32_t* words, std::size_t i, Real& number,
                   Undecided& undecided) const {
        if (!std::isfinite(number)) return;
        const Real scaled = number * step_.inverse, n = std::rint(scaled);
        const bool overflows = !std::isfinite(scaled);  // then the number is a multiple of the spacing
        LatticeSum sum{0.0, 0, lattice_.ratio};
        if (n == 0) {  // where `scaled` may have underflowed
            sum.fraction = static_cast<double>(number), sum.exponent = -lattice_.log_spacing;
        } else if (!overflows) {
            sum.fraction = static_cast<double>(scaled - n);
        }
        const bool gaussian = law_ == NoiseLaw::gaussian;
        const std::size_t place = gaussian ? i % kPairs : i;
        const FirstBits bits{law_, words[place], gaussian ? words[kPairs + place] : 0, gaussian && i >= kPairs};
        // No two pairs of a stream have the same first word. The stream's own nonce is never met.
        FewWords more({stream_.key, stream_.nonce ^ (first * kGroupWords + place + 1)});
        const Rounded rounded = round_exactly(bits, sum, more);
        ++undecided.by_first_words, undecided.by_double_precision += rounded.by_fixed_point;
        const auto k = static_cast<Real>(rounded.nearest);
        number = overflows ? number + k * step_.spacing : (n + k) * step_.spacing;
    }

    NoiseLaw law_;
    ChaChaStream stream_;
    NoiseLattice lattice_;
    Step<Real> step_;
};

template <class Real>
Undecided add(NoiseLaw law, const ChaChaStream& stream, std::uint64_t first, const NoiseLattice& lattice, Real* numbers,
              std::size_t count, int threads) {
    const NoiseAdder<Real> adder(law, stream, lattice);
    const auto useful = static_cast<int>(std::min<std::size_t>(count / kLeastPerThread + 1, 1 << 16));
    std::atomic<std::uint64_t> by_first_words{0}, by_double_precision{0};
    parallel_for((count + kChunk - 1) / kChunk, std::min(threads, useful), [&](std::size_t begin, std::size_t end) {
        const IeeeMode mode;
        for (std::size_t c = begin; c < end; ++c) {
            const std::size_t at = c * kChunk;
            const Undecided undecided = adder.add(first + c * kGroups, numbers + at, std::min(kChunk, count - at));
            by_first_words += undecided.by_first_words, by_double_precision += undecided.by_double_precision;
        }
    });
    return {by_first_words, by_double_precision};
}

}  // namespace

NoiseLattice::NoiseLattice(double scale, int resolution) noexcept
    : log_spacing(std::ilogb(scale) - resolution),
      spacing(std::ldexp(1.0, log_spacing)),
      ratio(std::ldexp(scale, -log_spacing)) {}

std::uint64_t noise_groups(std::size_t count) noexcept { return (count + kChunk - 1) / kChunk * kGroups; }

Undecided add_noise(NoiseLaw law, const ChaChaStream& stream, std::uint64_t first, const NoiseLattice& lattice,
                    float* numbers, std::size_t count, int threads) {
    return add(law, stream, first, lattice, numbers, count, threads);
}

Undecided add_noise(NoiseLaw law, const ChaChaStream& stream, std::uint64_t first, const NoiseLattice& lattice,
                    double* numbers, std::size_t count, int threads) {
    return add(law, stream, first, lattice, numbers, count, threads);
}

}  // namespace renyi
