#include "renyi/sgd/generator.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <new>
#include <utility>

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>
#if defined(__APPLE__)
#include <sys/random.h>
#endif

namespace renyi {

namespace {

// Returns a word on a page that the kernel zeroes in every child, even after a fork that calls no handlers.
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

// Detects forks; one object per process. The mutex is held across every fork, so that no child inherits it locked;
// forks are counted.
struct ForkWatch {
    std::mutex mutex;
    std::atomic<std::uint64_t> forks{0};
    std::atomic<std::uint64_t>* const word = wiped_word();

    // Returns a number that differs between a process and its children, by a load, or by a system call where the kernel
    // wipes no pages.
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

NoiseGenerator::~NoiseGenerator() { wipe(buffer_, sizeof buffer_); }

void NoiseGenerator::rekey() noexcept {
    const std::lock_guard lock(fork_watch().mutex);
    take_new_key();
}

// The nonce is random too: it costs nothing and separates generators should two keys ever be equal.
void NoiseGenerator::take_new_key() noexcept {
    if (getentropy(stream_.key.data(), sizeof stream_.key) != 0 ||
        getentropy(&stream_.nonce, sizeof stream_.nonce) != 0) {
        // Noise from a key that is not random gives no privacy, and this function cannot report a failure.
        std::fputs("renyi: the operating system gave no random bytes\n", stderr);
        std::abort();
    }
    mark_ = fork_watch().mark();
}

void NoiseGenerator::take_new_key_if_moved() noexcept {
    if (secure_ && mark_ != fork_watch().mark()) take_new_key();
}

ChaChaStream NoiseGenerator::derive() noexcept {
    const std::lock_guard lock(fork_watch().mutex);
    take_new_key_if_moved();
    std::uint32_t words[kBlockWords];
    chacha20_block(stream_, 0, words);
    ChaChaStream derived{};
    std::copy_n(words, stream_.key.size(), stream_.key.begin());
    std::copy_n(words + stream_.key.size(), derived.key.size(), derived.key.begin());
    wipe(words, sizeof words);
    return derived;
}

void NoiseGenerator::refill() noexcept {
    const std::lock_guard lock(fork_watch().mutex);
    take_new_key_if_moved();
    chacha20_groups(stream_, 0, 1, buffer_);
    std::copy_n(buffer_, stream_.key.size(), stream_.key.begin());
    buffer_used_ = static_cast<std::uint32_t>(stream_.key.size());
    wipe(buffer_, sizeof stream_.key);
    wipe_stack<kDrawStack / 8>();
    buffer_mark_ = mark_;
}

std::uint32_t NoiseGenerator::next32() noexcept {
    if (buffer_used_ == kGroupWords || (secure_ && buffer_mark_ != fork_watch().mark())) refill();
    return std::exchange(buffer_[buffer_used_++], 0);  // a returned word is not kept
}

std::uint64_t NoiseGenerator::next64() noexcept {
    if (buffer_used_ + 2 > kGroupWords || (secure_ && buffer_mark_ != fork_watch().mark())) {
        const std::uint64_t low = next32();
        return low | static_cast<std::uint64_t>(next32()) << 32;
    }
    std::uint32_t* const words = buffer_ + buffer_used_;
    buffer_used_ += 2;
    const std::uint64_t word = words[0] | static_cast<std::uint64_t>(words[1]) << 32;
    words[0] = words[1] = 0;
    return word;
}

GeneratorState NoiseGenerator::state() const noexcept {
    const std::lock_guard lock(fork_watch().mutex);
    GeneratorState state{stream_, buffer_used_, {}};
    std::copy(buffer_ + buffer_used_, buffer_ + kGroupWords, state.buffer + buffer_used_);
    return state;
}

void NoiseGenerator::restore(const GeneratorState& state) noexcept {
    const std::lock_guard lock(fork_watch().mutex);
    stream_ = state.stream;
    buffer_used_ = state.buffer_used;
    std::copy_n(state.buffer, kGroupWords, buffer_);
}

}  // namespace renyi
