// The ChaCha20 key stream (20 rounds), many blocks at once.
//
// The block function is that of RFC 8439, section 2.3: 16 words of 32 bits from a key of 8, a counter and a nonce of 3.
// The counter here has 64 bits, as in Bernstein's original: its upper half is the first word of the RFC's nonce, so a
// stream (key, nonce) has 2^64 blocks and never wraps within the life of a computer.
//
// Blocks come in groups of 16, blocks 16 g .. 16 g + 15, one block to a vector lane, and are not transposed afterwards:
// word w of block 16 g + l is word 256 g + 16 w + l of the stream. A permutation of the RFC's order within 1024 bytes,
// the same on every machine.
//
// Keys are wiped where they end, and so is the stack below whoever made a draw: what is left in memory tells nothing of
// numbers drawn before.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace renyi {

// Zeros that no compiler leaves out.
inline void wipe(void* memory, std::size_t bytes) noexcept {
    std::memset(memory, 0, bytes);
    __asm__ __volatile__("" : : "r"(memory) : "memory");
}

// The same for what functions that have returned left below the caller's frame: registers that were spilled, too.
template <std::size_t Bytes>
__attribute__((noinline)) void wipe_stack() noexcept {
    unsigned char room[Bytes];
    wipe(room, Bytes);
}
constexpr std::size_t kDrawStack = 1 << 14;  // of a draw, with its words and variates

using ChaChaKey = std::array<std::uint32_t, 8>;

struct ChaChaStream {
    ChaChaKey key;
    std::uint64_t nonce;

    ~ChaChaStream() { wipe(key.data(), sizeof key); }
};

constexpr std::size_t kBlocksInGroup = 16;
constexpr std::size_t kBlockWords = 16;
constexpr std::size_t kGroupWords = kBlockWords * kBlocksInGroup;

// The words of groups first .. first + count - 1: count * kGroupWords of them.
void chacha20_groups(const ChaChaStream& stream, std::uint64_t first, std::size_t count, std::uint32_t* out) noexcept;

// The words of one block in the RFC's order, where few are needed.
void chacha20_block(const ChaChaStream& stream, std::uint64_t block, std::uint32_t* out) noexcept;

}  // namespace renyi
