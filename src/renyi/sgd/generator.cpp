#include "renyi/sgd/generator.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <mutex>

#include <pthread.h>
#include <unistd.h>
#if defined(__APPLE__)
#include <sys/random.h>
#endif

namespace renyi {

namespace {

// One for the process: held across every fork, so that no child inherits it locked, and counted up in each child.
struct ForkWatch {
    std::mutex mutex;
    std::atomic<std::uint64_t> forks{0};
};

ForkWatch& fork_watch() noexcept {
    static ForkWatch& watch = []() -> ForkWatch& {
        static ForkWatch made;
        pthread_atfork([] { made.mutex.lock(); }, [] { made.mutex.unlock(); },
                       [] {
                           made.forks.fetch_add(1);
                           made.mutex.unlock();
                       });
        return made;
    }();
    return watch;
}

}  // namespace

NoiseGenerator::NoiseGenerator() noexcept : secure_(true) { rekey(); }

NoiseGenerator::NoiseGenerator(const ChaChaKey& key) noexcept : stream_{key, 0}, secure_(false) {}

void NoiseGenerator::rekey() noexcept {
    const std::lock_guard lock(fork_watch().mutex);
    take_new_key();
}

// The nonce is random too: it costs nothing and separates generators should two keys ever be equal.
void NoiseGenerator::take_new_key() noexcept {
    if (getentropy(stream_.key.data(), sizeof stream_.key) != 0 ||
        getentropy(&stream_.nonce, sizeof stream_.nonce) != 0) {
        // Noise from a key that is not random would be worse than no answer, and callers have no way to refuse.
        std::fputs("renyi: the operating system gave no random bytes\n", stderr);
        std::abort();
    }
    next_group_ = 0;
    process_ = getpid();
    forks_ = fork_watch().forks.load();
}

bool NoiseGenerator::moved() const noexcept { return forks_ != fork_watch().forks || process_ != getpid(); }

NoiseGenerator::Reservation NoiseGenerator::reserve(std::uint64_t groups) noexcept {
    const std::lock_guard lock(fork_watch().mutex);
    if (secure_ && moved()) take_new_key();
    const Reservation taken{stream_, next_group_};
    next_group_ += groups;
    return taken;
}

ChaChaStream NoiseGenerator::derive() noexcept {
    const Reservation taken = reserve(1);
    std::uint32_t words[kGroupWords];
    chacha20_groups(taken.stream, taken.first, 1, words);
    ChaChaStream derived{};
    std::copy_n(words, derived.key.size(), derived.key.begin());
    return derived;
}

void NoiseGenerator::refill() noexcept {
    const Reservation taken = reserve(1);
    chacha20_groups(taken.stream, taken.first, 1, buffer_);
    buffer_group_ = taken.first;
    buffer_forks_ = forks_;
    buffer_used_ = 0;
}

std::uint32_t NoiseGenerator::next32() noexcept {
    if (buffer_used_ == kGroupWords || (secure_ && buffer_forks_ != fork_watch().forks)) refill();
    return buffer_[buffer_used_++];
}

std::uint64_t NoiseGenerator::next64() noexcept {
    const std::uint64_t low = next32();
    return low | static_cast<std::uint64_t>(next32()) << 32;
}

GeneratorState NoiseGenerator::state() const noexcept {
    const std::lock_guard lock(fork_watch().mutex);
    return {stream_, next_group_, buffer_group_, buffer_used_};
}

void NoiseGenerator::restore(const GeneratorState& state) noexcept {
    const std::lock_guard lock(fork_watch().mutex);
    stream_ = state.stream;
    next_group_ = state.next_group;
    buffer_group_ = state.buffer_group;
    buffer_used_ = state.buffer_used;
    if (buffer_used_ != kGroupWords) chacha20_groups(stream_, buffer_group_, 1, buffer_);
}

}  // namespace renyi
