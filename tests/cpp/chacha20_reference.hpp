// The block function of RFC 8439, section 2.3, written a second time: one block, in the order of the document.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

namespace reference {

using Block = std::array<std::uint32_t, 16>;

inline void quarter_round(Block& s, std::size_t a, std::size_t b, std::size_t c, std::size_t d) {
    const auto mix = [&](std::size_t to, std::size_t from, std::size_t turned, int by) {
        s[to] += s[from];
        s[turned] = std::rotl(s[turned] ^ s[to], by);
    };
    mix(a, b, d, 16), mix(c, d, b, 12), mix(a, b, d, 8), mix(c, d, b, 7);
}

inline Block chacha20_block(const std::array<std::uint32_t, 8>& key, std::uint32_t counter,
                            const std::array<std::uint32_t, 3>& nonce) {
    Block start{0x61707865, 0x3320646e, 0x79622d32, 0x6b206574};
    for (std::size_t i = 0; i < 8; ++i) start[4 + i] = key[i];
    start[12] = counter;
    for (std::size_t i = 0; i < 3; ++i) start[13 + i] = nonce[i];
    Block s = start;
    for (int round = 0; round < 20; ++round)
        for (std::size_t i = 0; i < 4; ++i) {
            const std::size_t shift = round % 2 ? 1 : 0;  // columns, then diagonals
            quarter_round(s, i, 4 + (i + shift) % 4, 8 + (i + 2 * shift) % 4, 12 + (i + 3 * shift) % 4);
        }
    for (std::size_t i = 0; i < 16; ++i) s[i] += start[i];
    return s;
}

}  // namespace reference
