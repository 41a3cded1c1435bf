#include "renyi/sgd/generator.hpp"

#include <cstring>

#include "renyi/fp/multiversion.hpp"

namespace renyi {

namespace {

// Computes `Lanes` blocks in vector registers, with their words `pitch` apart. All arithmetic is on integers: every
// width gives the same bits.
template <int Lanes>
struct Words {
    typedef std::uint32_t Vector __attribute__((vector_size(4 * Lanes)));
};

#define RENYI_QUARTER_ROUND(a, b, c, d)                                                                   \
    a += b, d ^= a, d = (d << 16) | (d >> 16), c += d, b ^= c, b = (b << 12) | (b >> 20), a += b, d ^= a, \
                    d = (d << 8) | (d >> 24), c += d, b ^= c, b = (b << 7) | (b >> 25)

template <int Lanes>
RENYI_INLINE void some_blocks(const std::uint32_t* start, std::uint32_t counter, std::size_t pitch,
                              std::uint32_t* out) noexcept {
    using Vector = typename Words<Lanes>::Vector;
    std::uint32_t numbers[Lanes];
    for (std::uint32_t l = 0; l < Lanes; ++l) numbers[l] = counter + l;
    Vector counters;
    std::memcpy(&counters, numbers, sizeof counters);
    Vector x[16] = {};
    for (int w = 0; w < 16; ++w) x[w] += start[w];
    x[12] = counters;
    for (int round = 0; round < 10; ++round) {
        RENYI_QUARTER_ROUND(x[0], x[4], x[8], x[12]);
        RENYI_QUARTER_ROUND(x[1], x[5], x[9], x[13]);
        RENYI_QUARTER_ROUND(x[2], x[6], x[10], x[14]);
        RENYI_QUARTER_ROUND(x[3], x[7], x[11], x[15]);
        RENYI_QUARTER_ROUND(x[0], x[5], x[10], x[15]);
        RENYI_QUARTER_ROUND(x[1], x[6], x[11], x[12]);
        RENYI_QUARTER_ROUND(x[2], x[7], x[8], x[13]);
        RENYI_QUARTER_ROUND(x[3], x[4], x[9], x[14]);
    }
    for (int w = 0; w < 16; ++w) {
        x[w] += w == 12 ? counters : Vector{} + start[w];
        std::memcpy(out + static_cast<std::size_t>(w) * pitch, &x[w], sizeof x[w]);
    }
}

// Fills in all words of the start state except the counter.
RENYI_INLINE void begin(const ChaChaStream& stream, std::uint32_t* start) noexcept {
    constexpr std::uint32_t kConstants[4] = {0x61707865, 0x3320646e, 0x79622d32, 0x6b206574};  // "expand 32-byte k"
    std::memcpy(start, kConstants, sizeof kConstants);
    std::memcpy(start + 4, stream.key.data(), sizeof stream.key);
    start[14] = static_cast<std::uint32_t>(stream.nonce);
    start[15] = static_cast<std::uint32_t>(stream.nonce >> 32);
}

template <int Lanes>
RENYI_INLINE void groups(const ChaChaStream& stream, std::uint64_t first, std::size_t count,
                         std::uint32_t* out) noexcept {
    std::uint32_t start[16];
    begin(stream, start);
    for (std::size_t g = 0; g < count; ++g, out += kGroupWords) {
        // A group begins at a multiple of 16: its counters share the upper half.
        const std::uint64_t block = (first + g) * kBlocksInGroup;
        start[13] = static_cast<std::uint32_t>(block >> 32);
        for (std::size_t l = 0; l < kBlocksInGroup; l += Lanes)
            some_blocks<Lanes>(start, static_cast<std::uint32_t>(block + l), kBlocksInGroup, out + l);
    }
    wipe(start, sizeof start);
}

// Each register width has its own body, so target_clones, which compiles one body three times, is not used.
#if defined(RENYI_HAS_CLONES)
__attribute__((target("arch=x86-64-v4"))) void dispatch(const ChaChaStream& stream, std::uint64_t first,
                                                        std::size_t count, std::uint32_t* out) noexcept {
    groups<16>(stream, first, count, out);
}
__attribute__((target("arch=x86-64-v3"))) void dispatch(const ChaChaStream& stream, std::uint64_t first,
                                                        std::size_t count, std::uint32_t* out) noexcept {
    groups<8>(stream, first, count, out);
}
__attribute__((target("default")))
#endif
void dispatch(const ChaChaStream& stream, std::uint64_t first, std::size_t count, std::uint32_t* out) noexcept {
    groups<4>(stream, first, count, out);
}

}  // namespace

void chacha20_groups(const ChaChaStream& stream, std::uint64_t first, std::size_t count, std::uint32_t* out) noexcept {
    dispatch(stream, first, count, out);
}

void chacha20_block(const ChaChaStream& stream, std::uint64_t block, std::uint32_t* out) noexcept {
    std::uint32_t start[16];
    begin(stream, start);
    start[13] = static_cast<std::uint32_t>(block >> 32);
    some_blocks<1>(start, static_cast<std::uint32_t>(block), 1, out);
    wipe(start, sizeof start);
}

}  // namespace renyi
