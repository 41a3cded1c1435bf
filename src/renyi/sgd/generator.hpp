// A generator of ChaCha20 streams that many threads may share and that a fork does not duplicate.
//
// Every draw has a stream with a key of its own, and computes its words outside of any lock. The generator's key is used
// once: of the block of counter 0 the first half is the next key and the second that of the draw, and a buffer of words
// begins with the next key. So the key in memory does not tell those before, which are wiped, nor any number that was
// drawn by them (fast key erasure: Bernstein 2017, blog.cr.yp.to/20170723-random.html). A secure generator is keyed by
// the operating system and takes a new key when it finds itself in another process than before: after fork(), noticed
// by a handler of pthread_atfork, or after a clone that passed the C library by, noticed by the process number. A
// reproducible one goes on everywhere from the key it had.
#pragma once

#include <atomic>
#include <cstdint>

#include "renyi/sgd/chacha20.hpp"

namespace renyi {

// What a reproducible generator needs to go on exactly where it was: its key, and the words from buffer_used on, which
// are still to be handed out one by one.
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
    void rekey() noexcept;  // of a secure generator

    // The stream of a draw: unlimited, and independent of all others.
    ChaChaStream derive() noexcept;

    // Words one by one, for a bit generator whose lock the caller holds.
    std::uint32_t next32() noexcept;
    std::uint64_t next64() noexcept;

    GeneratorState state() const noexcept;  // of a reproducible generator
    void restore(const GeneratorState& state) noexcept;

private:
    void take_new_key() noexcept;
    void take_new_key_if_moved() noexcept;
    void refill() noexcept;

    ChaChaStream stream_{};
    bool secure_;
    std::atomic<std::uint64_t> mark_{0};  // of the process that took the key

    std::uint64_t buffer_mark_ = 0;
    std::uint32_t buffer_used_ = kGroupWords;
    std::uint32_t buffer_[kGroupWords];
};

// Random words one after the other from a stream of one's own, and exactly uniform integers made of them.

class WordSource {
public:
    explicit WordSource(const ChaChaStream& stream) noexcept : stream_(stream) {}
    ~WordSource() { wipe(words_, sizeof words_); }

    std::uint32_t next32() noexcept {
        if (used_ == kGroupWords) refill();
        return words_[used_++];
    }

    std::uint64_t next64() noexcept {
        if (used_ + 2 > kGroupWords) refill();
        const std::uint64_t word = words_[used_] | static_cast<std::uint64_t>(words_[used_ + 1]) << 32;
        used_ += 2;
        return word;
    }

    // Uniform on 0 .. n - 1, n > 0, exactly: the upper half of word * n, where those lower halves are rejected that
    // would give 2^64 mod n of the values one word too many (Lemire 2019, arXiv 1805.10941).
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
        chacha20_groups(stream_, group_++, 1, words_);
        used_ = 0;
    }

    ChaChaStream stream_;
    std::uint64_t group_ = 0;
    std::size_t used_ = kGroupWords;
    std::uint32_t words_[kGroupWords];
};

// The same for a few words: in the order of the blocks, one of which takes less time than a group.
class FewWords {
public:
    explicit FewWords(const ChaChaStream& stream) noexcept : stream_(stream) {}
    ~FewWords() { wipe(words_, sizeof words_); }

    std::uint64_t next64() noexcept {
        if (used_ == kBlockWords) {
            chacha20_block(stream_, block_++, words_);
            used_ = 0;
        }
        const std::uint64_t word = words_[used_] | static_cast<std::uint64_t>(words_[used_ + 1]) << 32;
        used_ += 2;
        return word;
    }

private:
    ChaChaStream stream_;
    std::uint64_t block_ = 0;
    std::size_t used_ = kBlockWords;
    std::uint32_t words_[kBlockWords];
};

}  // namespace renyi
