// The ChaCha20 key stream (20 rounds), many blocks at once.
//
// The block function is that of RFC 8439, section 2.3: 16 words of 32 bits from a key of 8, a counter and a nonce of 3.
// The counter here has 64 bits, as in Bernstein's original: its upper half is the first word of the RFC's nonce, so a
// stream (key, nonce) has 2^64 blocks and never wraps within the life of a computer.
//
// Blocks come in groups of 16, blocks 16 g .. 16 g + 15, one block to a vector lane, and are not transposed afterwards:
// word w of block 16 g + l is word 256 g + 16 w + l of the stream. A permutation of the RFC's order within 1024 bytes,
// the same on every machine.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace renyi {

using ChaChaKey = std::array<std::uint32_t, 8>;

struct ChaChaStream {
    ChaChaKey key;
    std::uint64_t nonce;
};

constexpr std::size_t kBlocksInGroup = 16;
constexpr std::size_t kBlockWords = 16;
constexpr std::size_t kGroupWords = kBlockWords * kBlocksInGroup;

// The words of groups first .. first + count - 1: count * kGroupWords of them.
void chacha20_groups(const ChaChaStream& stream, std::uint64_t first, std::size_t count, std::uint32_t* out) noexcept;

// The words of one block in the RFC's order, where few are needed.
void chacha20_block(const ChaChaStream& stream, std::uint64_t block, std::uint32_t* out) noexcept;

}  // namespace renyi
