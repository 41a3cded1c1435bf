#include "renyi/sgd/generator.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <new>

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>
#if defined(__APPLE__)
#include <sys/random.h>
#endif

namespace renyi {

namespace {

// One word on a page that the kernel empties in every child, also of a fork that calls no handlers.
std::atomic<std::uint64_t>* wiped_word() noexcept {
#ifdef MADV_WIPEONFORK
    const auto bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    void* page = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) return nullptr;
    if (madvise(page, bytes, MADV_WIPEONFORK) == 0) return new (page) std::atomic<std::uint64_t>(0);
    munmap(page, bytes);
#endif
    return nullptr;
}

// One for the process: held across every fork, so that no child inherits it locked, and counted up in each child.
struct ForkWatch {
    std::mutex mutex;
    std::atomic<std::uint64_t> forks{0};
    std::atomic<std::uint64_t>* const word = wiped_word();

    // Differs between a process and its children: a load, or where nothing wipes pages a system call.
    std::uint64_t mark() noexcept {
        if (word == nullptr) return forks.load() << 32 | static_cast<std::uint32_t>(getpid());
        std::uint64_t known = word->load();
        if (known == 0) word->store(known = forks.fetch_add(1) + 1);
        return known;
    }
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
    mark_ = fork_watch().mark();
}

bool NoiseGenerator::moved() const noexcept { return mark_ != fork_watch().mark(); }

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
    buffer_mark_ = mark_;
    buffer_used_ = 0;
}

std::uint32_t NoiseGenerator::next32() noexcept {
    if (buffer_used_ == kGroupWords || (secure_ && buffer_mark_ != fork_watch().mark())) refill();
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
