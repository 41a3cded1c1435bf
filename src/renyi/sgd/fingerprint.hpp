// A non-cryptographic hash that detects changes of memory: adversaries can construct collisions.
//
// Every word goes to one of kFingerprintLanes lanes, p = (lane xor word) odd, lane <- p xor p >> 32. Each such map
// is injective in the word and in the lane, and so is the combination of the lanes: a change of one word is always
// detected, and other changes that do not depend on the function are missed with probability 2^-64.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace renyi {

constexpr std::size_t kFingerprintLanes = 8;

namespace detail {

// The odd number is 2^64 / phi, phi the golden ratio.
inline std::uint64_t mixed(std::uint64_t lane, std::uint64_t word) noexcept {
    const std::uint64_t product = (lane ^ word) * 0x9e3779b97f4a7c15u;
    return product ^ (product >> 32);
}

}  // namespace detail

inline std::uint64_t fingerprint(const void* memory, std::size_t bytes, std::uint64_t seed) noexcept {
    constexpr std::size_t kBlock = kFingerprintLanes * sizeof(std::uint64_t);
    const char* from = static_cast<const char*>(memory);
    std::uint64_t lanes[kFingerprintLanes], words[kFingerprintLanes];
    for (std::size_t i = 0; i < kFingerprintLanes; ++i) lanes[i] = detail::mixed(seed, bytes + i);
    const auto take = [&] {
        for (std::size_t i = 0; i < kFingerprintLanes; ++i) lanes[i] = detail::mixed(lanes[i], words[i]);
    };
    for (; bytes >= kBlock; bytes -= kBlock, from += kBlock) {
        std::memcpy(words, from, kBlock);
        take();
    }
    if (bytes != 0) {
        std::memset(words, 0, kBlock);
        std::memcpy(words, from, bytes);
        take();
    }
    std::uint64_t joined = 0;
    for (const std::uint64_t lane : lanes) joined = detail::mixed(joined, lane);
    return joined;
}

}  // namespace renyi
