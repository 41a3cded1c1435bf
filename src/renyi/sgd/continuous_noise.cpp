#include "renyi/sgd/continuous_noise.hpp"

#include <algorithm>

#include "renyi/fp/multiversion.hpp"
#include "renyi/sgd/parallel.hpp"
#include "renyi/sgd/variates.hpp"

namespace renyi {

namespace {

constexpr std::size_t kPairs = 256;    // in a chunk of float Gaussians
constexpr std::size_t kNumbers = 256;  // in every other chunk
constexpr std::size_t kLargestChunk = 512;
constexpr std::size_t kMostGroups = 3;
constexpr std::size_t kLeastPerThread = 1 << 15;  // below it a thread costs more than it saves

RENYI_MULTIVERSION void gaussian_chunk(const std::uint32_t* __restrict words, float* __restrict out) noexcept {
    for (std::size_t i = 0; i < kPairs; ++i) {
        const float e = exponential_of<float>(words[i], words[kPairs + i]);
        const float radius = __builtin_sqrtf(2.0f * e);
        const auto point = point_of(words[2 * kPairs + i]);
        out[i] = radius * point.x;
        out[kPairs + i] = radius * point.y;
    }
}

RENYI_MULTIVERSION void gaussian_chunk(const std::uint32_t* __restrict words, double* __restrict out) noexcept {
    constexpr std::size_t kHalf = kNumbers / 2;
    for (std::size_t i = 0; i < kHalf; ++i) {
        const double e = exponential_of<double>(words[i], words[kHalf + i]);
        const double radius = __builtin_sqrt(2.0 * e);
        const auto point = point_of(words[2 * kHalf + i], words[3 * kHalf + i]);
        out[i] = radius * point.x;
        out[kHalf + i] = radius * point.y;
    }
}

RENYI_MULTIVERSION void laplace_chunk(const std::uint32_t* __restrict words, float* __restrict out) noexcept {
    for (std::size_t i = 0; i < kNumbers; ++i) {
        const float e = exponential_of<float>(words[i], words[kNumbers + i]);
        out[i] = blend(leading_bit(words[kNumbers + i] << 31), -e, e);
    }
}

RENYI_MULTIVERSION void laplace_chunk(const std::uint32_t* __restrict words, double* __restrict out) noexcept {
    for (std::size_t i = 0; i < kNumbers; ++i) {
        const double e = exponential_of<double>(words[i], words[kNumbers + i]);
        out[i] = blend(leading_bit(words[kNumbers + i] << 31), -e, e);
    }
}

template <class Real>
RENYI_INLINE void scaled(NoiseTarget target, const Real* noise, Real scale, Real* out, std::size_t count) noexcept {
    if (target == NoiseTarget::fill) {
        for (std::size_t i = 0; i < count; ++i) out[i] = scale * noise[i];
    } else {
        for (std::size_t i = 0; i < count; ++i) out[i] += scale * noise[i];
    }
}

RENYI_MULTIVERSION void apply(NoiseTarget target, const float* noise, float scale, float* out,
                              std::size_t count) noexcept {
    scaled(target, noise, scale, out, count);
}

RENYI_MULTIVERSION void apply(NoiseTarget target, const double* noise, double scale, double* out,
                              std::size_t count) noexcept {
    scaled(target, noise, scale, out, count);
}

struct Chunking {
    std::size_t numbers, groups;
};

Chunking chunking(NoiseLaw law, bool single_precision) noexcept {
    if (law == NoiseLaw::gaussian && single_precision) return {2 * kPairs, 3};
    return {kNumbers, 2};
}

template <class Real>
void make(NoiseLaw law, NoiseTarget target, const ChaChaStream& stream, std::uint64_t first, Real scale, Real* out,
          std::size_t count, int threads) noexcept {
    const Chunking chunk = chunking(law, sizeof(Real) == 4);
    const std::size_t chunks = count / chunk.numbers + (count % chunk.numbers != 0);
    const auto useful = static_cast<int>(std::min<std::size_t>(count / kLeastPerThread + 1, 1 << 16));
    parallel_for(chunks, std::min(threads, useful), [=, &stream](std::size_t begin, std::size_t end) {
        alignas(64) std::uint32_t words[kMostGroups * kGroupWords];
        alignas(64) Real noise[kLargestChunk];
        for (std::size_t c = begin; c < end; ++c) {
            chacha20_groups(stream, first + c * chunk.groups, chunk.groups, words);
            law == NoiseLaw::gaussian ? gaussian_chunk(words, noise) : laplace_chunk(words, noise);
            const std::size_t at = c * chunk.numbers;
            apply(target, noise, scale, out + at, std::min(chunk.numbers, count - at));
        }
    });
}

}  // namespace

std::uint64_t noise_groups(NoiseLaw law, bool single_precision, std::size_t count) noexcept {
    const Chunking chunk = chunking(law, single_precision);
    return (count / chunk.numbers + (count % chunk.numbers != 0)) * chunk.groups;
}

void make_noise(NoiseLaw law, NoiseTarget target, const ChaChaStream& stream, std::uint64_t first, double scale,
                double* out, std::size_t count, int threads) noexcept {
    make(law, target, stream, first, scale, out, count, threads);
}

void make_noise(NoiseLaw law, NoiseTarget target, const ChaChaStream& stream, std::uint64_t first, float scale,
                float* out, std::size_t count, int threads) noexcept {
    make(law, target, stream, first, scale, out, count, threads);
}

}  // namespace renyi
