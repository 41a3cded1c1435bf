// A number by which memory is known again: not for adversaries, who can choose what has the same.
//
// Every word goes to one of kFingerprintLanes lanes, p = (lane xor word) odd, lane <- p xor p >> 32. Each such map
// is one to one in the word and in the lane, and so is the way in which lanes are joined: a change of one word is
// always seen, and others go unseen once in 2^64 where they do not know of it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace renyi {

constexpr std::size_t kFingerprintLanes = 8;

std::uint64_t fingerprint(const void* memory, std::size_t bytes, std::uint64_t seed) noexcept;

}  // namespace renyi
