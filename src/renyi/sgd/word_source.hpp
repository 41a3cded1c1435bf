// Random words one after the other from a stream of one's own, and exactly uniform integers made of them.
#pragma once

#include <cstdint>

#include "renyi/sgd/chacha20.hpp"

namespace renyi {

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
