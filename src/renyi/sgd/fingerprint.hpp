// A number that changes when memory does: not secure against adversaries, who can choose collisions.
//
// Every word goes to one of kFingerprintLanes lanes, p = (lane xor word) odd, lane <- p xor p >> 32. Each such map
// is one to one in the word and in the lane, and so is the way in which lanes are joined: a change of one word is
// always detected, and other changes that do not depend on the function are missed once in 2^64.
#pragma once

#include <cstddef>
#include <cstdint>

namespace renyi {

constexpr std::size_t kFingerprintLanes = 8;

std::uint64_t fingerprint(const void* memory, std::size_t bytes, std::uint64_t seed) noexcept;

}  // namespace renyi
