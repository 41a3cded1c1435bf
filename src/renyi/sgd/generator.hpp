// A generator of ChaCha20 streams that many threads may share and that a fork does not duplicate.
//
// Callers reserve consecutive groups of the stream, or a stream with a key of its own, and compute the words
// afterwards, outside of any lock: two reservations never overlap. A secure generator is keyed by the operating system
// and takes a new key when it finds itself in another process than before: after fork(), noticed by a handler of
// pthread_atfork, or after a clone that passed the C library by, noticed by the process number. A reproducible one
// keeps its key everywhere.
#pragma once

#include <atomic>
#include <cstdint>

#include "renyi/sgd/chacha20.hpp"

namespace renyi {

// What a reproducible generator needs to go on exactly where it was. The words of group buffer_group before
// buffer_used have been handed out one by one.
struct GeneratorState {
    ChaChaStream stream;
    std::uint64_t next_group;
    std::uint64_t buffer_group;
    std::uint32_t buffer_used;
};

class NoiseGenerator {
public:
    NoiseGenerator() noexcept;                               // keyed by the operating system
    explicit NoiseGenerator(const ChaChaKey& key) noexcept;  // reproducible
    NoiseGenerator(const NoiseGenerator&) = delete;
    NoiseGenerator& operator=(const NoiseGenerator&) = delete;

    bool secure() const noexcept { return secure_; }
    void rekey() noexcept;  // of a secure generator

    struct Reservation {
        ChaChaStream stream;
        std::uint64_t first;
    };
    Reservation reserve(std::uint64_t groups) noexcept;

    // A stream whose key is taken from this one's key stream: unlimited, and independent of all others.
    ChaChaStream derive() noexcept;

    // Words one by one, for a bit generator whose lock the caller holds.
    std::uint32_t next32() noexcept;
    std::uint64_t next64() noexcept;

    GeneratorState state() const noexcept;  // of a reproducible generator
    void restore(const GeneratorState& state) noexcept;

private:
    void take_new_key() noexcept;
    bool moved() const noexcept;
    void refill() noexcept;

    ChaChaStream stream_{};
    std::uint64_t next_group_ = 0;
    bool secure_;
    std::atomic<std::uint64_t> mark_{0};  // of the process that took the key

    std::uint64_t buffer_group_ = 0;
    std::uint64_t buffer_mark_ = 0;
    std::uint32_t buffer_used_ = kGroupWords;
    std::uint32_t buffer_[kGroupWords];
};

}  // namespace renyi
