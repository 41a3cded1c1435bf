// Random words: the ChaCha20 key stream, a generator of such streams that a fork does not duplicate, and sources of
// single words.
//
// ChaCha20 has 20 rounds. The block function is that of RFC 8439, section 2.3: 16 words of 32 bits from a key of 8
// words, a counter and a nonce of 3. The counter here has 64 bits, as in Bernstein's original: its upper half is the
// first word of the RFC's nonce, so a stream (key, nonce) has 2^64 blocks and never wraps in practice.
//
// Blocks are computed in groups of 16, blocks 16 g .. 16 g + 15, one block per vector lane, and are not transposed
// afterwards: word w of block 16 g + l is word 256 g + 16 w + l of the stream. This is a permutation of the RFC's order
// within 1024 bytes, the same on every machine.
//
// Keys are wiped at the end of their use, and so is the stack below the caller of a draw: memory then reveals nothing
// about the numbers drawn.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace renyi {

// Sets memory to zero in a way that compilers do not remove.
inline void wipe(void* memory, std::size_t bytes) noexcept {
    std::memset(memory, 0, bytes);
    __asm__ __volatile__("" : : "r"(memory) : "memory");
}

// Wipes the stack below the caller's frame, where functions that have returned spilled registers.
template <std::size_t Bytes>
__attribute__((noinline)) void wipe_stack() noexcept {
    unsigned char stack[Bytes];
    wipe(stack, Bytes);
}
constexpr std::size_t kDrawStack = 1 << 14;  // bytes of the stack of a draw, with its words and variates

using ChaChaKey = std::array<std::uint32_t, 8>;

struct ChaChaStream {
    ChaChaKey key;
    std::uint64_t nonce;

    ~ChaChaStream() { wipe(key.data(), sizeof key); }
};

constexpr std::size_t kBlocksInGroup = 16;
constexpr std::size_t kBlockWords = 16;
constexpr std::size_t kGroupWords = kBlockWords * kBlocksInGroup;

// Writes the words of groups first .. first + count - 1: count * kGroupWords words.
void chacha20_groups(const ChaChaStream& stream, std::uint64_t first, std::size_t count, std::uint32_t* out) noexcept;

// Writes the words of one block in the RFC's order, for uses that need few words.
void chacha20_block(const ChaChaStream& stream, std::uint64_t block, std::uint32_t* out) noexcept;

// A generator of streams that threads may share. Every draw has a stream with its own key and computes its words
// outside of any lock. The generator's key is used once: the first half of the block of counter 0 is the next key, the
// second half is the key of the draw, and a buffer of words begins with the next key. So the key in memory reveals
// neither earlier keys, which are wiped, nor the numbers drawn with them (fast key erasure: Bernstein 2017,
// blog.cr.yp.to/20170723-random.html). A secure generator is keyed by the operating system and takes a new key in a new
// process: after fork(), detected by a handler of pthread_atfork, or after a clone that bypassed the C library,
// detected by a page that the kernel wipes in children or by the process number. A reproducible generator continues
// from its key in every process.

// The state of a reproducible generator: its key, and the words from buffer_used on, which next32 has not returned yet.
struct GeneratorState {
    ChaChaStream stream;
    std::uint32_t buffer_used;
    std::uint32_t buffer[kGroupWords];
};

class NoiseGenerator {
public:
    NoiseGenerator() noexcept;                               // keyed by the operating system
    explicit NoiseGenerator(const ChaChaKey& key) noexcept;  // reproducible
    ~NoiseGenerator();
    NoiseGenerator(const NoiseGenerator&) = delete;
    NoiseGenerator& operator=(const NoiseGenerator&) = delete;

    bool secure() const noexcept { return secure_; }
    void rekey() noexcept;  // for a secure generator

    // Returns the stream of a draw: unlimited, independent of all others.
    ChaChaStream derive() noexcept;

    // Return words one by one, for a bit generator whose lock the caller holds.
    std::uint32_t next32() noexcept;
    std::uint64_t next64() noexcept;

    GeneratorState state() const noexcept;  // for a reproducible generator
    void restore(const GeneratorState& state) noexcept;

private:
    void take_new_key() noexcept;
    void take_new_key_if_moved() noexcept;
    void refill() noexcept;

    ChaChaStream stream_{};
    bool secure_;
    std::atomic<std::uint64_t> mark_{0};  // mark of the process that took the key

    std::uint64_t buffer_mark_ = 0;
    std::uint32_t buffer_used_ = kGroupWords;
    std::uint32_t buffer_[kGroupWords];
};

// Random words of one stream in sequence, computed `Words` at a time, and exactly uniform integers made of them.
template <std::size_t Words>
class StreamWords {
public:
    explicit StreamWords(const ChaChaStream& stream) noexcept : stream_(stream) {}
    ~StreamWords() { wipe(words_, sizeof words_); }

    std::uint32_t next32() noexcept {
        if (used_ == Words) refill();
        return words_[used_++];
    }

    std::uint64_t next64() noexcept {
        if (used_ + 2 > Words) refill();
        const std::uint64_t word = words_[used_] | static_cast<std::uint64_t>(words_[used_ + 1]) << 32;
        used_ += 2;
        return word;
    }

    // Returns an exactly uniform integer in 0 .. n - 1, n > 0: the upper half of word * n. The lower halves that would
    // give 2^64 mod n of the values one word too many are rejected (Lemire 2019, arXiv 1805.10941).
    std::uint64_t below(std::uint64_t n) noexcept {
        auto product = static_cast<unsigned __int128>(next64()) * n;
        if (static_cast<std::uint64_t>(product) < n) {
            const std::uint64_t surplus = (std::uint64_t{0} - n) % n;
            while (static_cast<std::uint64_t>(product) < surplus)
                product = static_cast<unsigned __int128>(next64()) * n;
        }
        return static_cast<std::uint64_t>(product >> 64);
    }

private:
    void refill() noexcept {
        if constexpr (Words == kGroupWords) {
            chacha20_groups(stream_, next_++, 1, words_);
        } else {
            chacha20_block(stream_, next_++, words_);
        }
        used_ = 0;
    }

    ChaChaStream stream_;
    std::uint64_t next_ = 0;
    std::size_t used_ = Words;
    std::uint32_t words_[Words];
};

using WordSource = StreamWords<kGroupWords>;
using FewWords = StreamWords<kBlockWords>;  // block by block, which is faster where few words are needed

}  // namespace renyi
