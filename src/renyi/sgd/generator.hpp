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

}  // namespace renyi
