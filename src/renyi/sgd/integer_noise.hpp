// Noise of a law on the integers, added to many of them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "renyi/sgd/chacha20.hpp"
#include "renyi/sgd/parallel.hpp"
#include "renyi/sgd/word_source.hpp"

namespace renyi {

// Every 256 of them draw from a nonce of their own: independent of the threads. Sums wrap around.
template <class Law>
void add_integer_noise(const ChaChaStream& stream, const Law& law, std::int64_t* out, std::size_t count,
                       int threads) noexcept {
    constexpr std::size_t kChunk = 256;
    parallel_for((count + kChunk - 1) / kChunk, threads, [&](std::size_t begin, std::size_t end) {
        for (std::size_t c = begin; c < end; ++c) {
            WordSource words({stream.key, c});
            for (std::size_t i = c * kChunk; i < std::min(count, (c + 1) * kChunk); ++i)
                out[i] = static_cast<std::int64_t>(static_cast<std::uint64_t>(out[i]) +
                                                   static_cast<std::uint64_t>(law(words)));
        }
    });
}

}  // namespace renyi
