// The key stream: known answers of RFC 8439, a second implementation, carries of the counter; keys that follow each
// other. Forks are in tests/python/test_sgd_generator.py.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <set>
#include <thread>
#include <vector>

#include "chacha20_reference.hpp"
#include "check.hpp"
#include "renyi/sgd/generator.hpp"

using namespace renyi;
using reference::Block;

namespace {

// One block, read out of its group.
Block block_at(const ChaChaKey& key, std::uint64_t counter, std::uint64_t nonce) {
    std::uint32_t words[kGroupWords];
    chacha20_groups({key, nonce}, counter / kBlocksInGroup, 1, words);
    Block block;
    for (std::size_t w = 0; w < 16; ++w) block[w] = words[kBlocksInGroup * w + counter % kBlocksInGroup];
    return block;
}

void known_answers() {
    ChaChaKey counting;
    for (std::uint32_t i = 0; i < 8; ++i) counting[i] = 0x03020100u + 0x04040404u * i;
    // Section 2.3.2: counter 1, nonce 00:00:00:09:00:00:00:4a:00:00:00:00.
    CHECK((block_at(counting, 0x0900000000000001, 0x4a000000) ==
           Block{0xe4e7f110, 0x15593bd1, 0x1fdd0f50, 0xc47120a3, 0xc7f4d1c7, 0x0368c033, 0x9aaa2204, 0x4e6cd4c3,
                 0x466482d2, 0x09aa9f07, 0x05d7c214, 0xa2028bd9, 0xd19c12b5, 0xb94e16de, 0xe883d0cb, 0x4e3c50a2}));
    // Appendix A.1, vectors 1 to 5.
    const ChaChaKey zero{}, one{0, 0, 0, 0, 0, 0, 0, 0x01000000}, ff{0x0000ff00};
    CHECK((block_at(zero, 0, 0) == Block{0xade0b876, 0x903df1a0, 0xe56a5d40, 0x28bd8653, 0xb819d2bd, 0x1aed8da0,
                                         0xccef36a8, 0xc70d778b, 0x7c5941da, 0x8d485751, 0x3fe02477, 0x374ad8b8,
                                         0xf4b8436a, 0x1ca11815, 0x69b687c3, 0x8665eeb2}));
    CHECK((block_at(zero, 1, 0) == Block{0xbee7079f, 0x7a385155, 0x7c97ba98, 0x0d082d73, 0xa0290fcb, 0x6965e348,
                                         0x3e53c612, 0xed7aee32, 0x7621b729, 0x434ee69c, 0xb03371d5, 0xd539d874,
                                         0x281fed31, 0x45fb0a51, 0x1f0ae1ac, 0x6f4d794b}));
    CHECK((block_at(one, 1, 0) == Block{0x2452eb3a, 0x9249f8ec, 0x8d829d9b, 0xddd4ceb1, 0xe8252083, 0x60818b01,
                                        0xf38422b8, 0x5aaa49c9, 0xbb00ca8e, 0xda3ba7b4, 0xc4b592d1, 0xfdf2732f,
                                        0x4436274e, 0x2561b3c8, 0xebdd4aa6, 0xa0136c00}));
    CHECK((block_at(ff, 2, 0) == Block{0xfb4dd572, 0x4bc42ef1, 0xdf922636, 0x327f1394, 0xa78dea8f, 0x5e269039,
                                       0xa1bebbc1, 0xcaf09aae, 0xa25ab213, 0x48a6b46c, 0x1b9d9bcb, 0x092c5be6,
                                       0x546ca624, 0x1bec45d5, 0x87f47473, 0x96f0992e}));
    CHECK((block_at(zero, 0, 0x0200000000000000) ==
           Block{0x374dc6c2, 0x3736d58c, 0xb904e24a, 0xcd3f93ef, 0x88228b1a, 0x96a4dfb3, 0x5b76ab72, 0xc727ee54,
                 0x0e0e978a, 0xf3145c95, 0x1b748ea8, 0xf786c297, 0x99c28f5f, 0x628314e8, 0x398a19fa, 0x6ded1b53}));
}

void second_implementation() {
    ChaChaKey key;
    for (std::uint32_t i = 0; i < 8; ++i) key[i] = 0x9e3779b9u * (i + 1);
    const std::uint64_t nonce = 0x0123456789abcdef;
    // Across the carry from the lower to the upper half of the counter.
    const std::uint64_t first = ((std::uint64_t{7} << 32) - 3 * kBlocksInGroup) / kBlocksInGroup;
    constexpr std::size_t kGroups = 5;
    std::vector<std::uint32_t> words(kGroups * kGroupWords), again(kGroupWords);
    chacha20_groups({key, nonce}, first, kGroups, words.data());
    bool same = true;
    for (std::size_t g = 0; g < kGroups; ++g)
        for (std::size_t l = 0; l < kBlocksInGroup; ++l) {
            const std::uint64_t counter = (first + g) * kBlocksInGroup + l;
            const Block block =
                reference::chacha20_block(key, static_cast<std::uint32_t>(counter),
                                          {static_cast<std::uint32_t>(counter >> 32), static_cast<std::uint32_t>(nonce),
                                           static_cast<std::uint32_t>(nonce >> 32)});
            Block alone;
            chacha20_block({key, nonce}, counter, alone.data());
            same &= alone == block;
            for (std::size_t w = 0; w < 16; ++w) same &= words[g * kGroupWords + kBlocksInGroup * w + l] == block[w];
        }
    CHECK(same);
    chacha20_groups({key, nonce}, first + 3, 1, again.data());
    CHECK(std::equal(again.begin(), again.end(), &words[3 * kGroupWords]));
}

// Which key comes after which, by the second implementation: first half of the block of counter 0.
Block ratchet(const ChaChaKey& key) { return reference::chacha20_block(key, 0, {0, 0, 0}); }

void keys() {
    NoiseGenerator generator(ChaChaKey{1});
    ChaChaKey key{1};
    for (int i = 0; i < 20; ++i) {
        const Block block = ratchet(key);
        const ChaChaStream stream = generator.derive();
        CHECK(std::equal(stream.key.begin(), stream.key.end(), block.begin() + 8) && stream.nonce == 0);
        std::copy_n(block.begin(), key.size(), key.begin());
        CHECK(generator.state().stream.key == key);
    }
    // A buffer begins with the next key, and words that were handed out are gone.
    std::uint32_t words[kGroupWords];
    chacha20_groups({key, 0}, 0, 1, words);
    bool same = true;
    for (std::size_t i = 8; i < 100; ++i) same &= generator.next32() == words[i];
    CHECK(same);
    const auto* bytes = reinterpret_cast<const unsigned char*>(&generator);
    const auto held = [&](const std::uint32_t* two) {
        for (std::size_t at = 0; at + 8 <= sizeof generator; at += 4)
            if (std::memcmp(bytes + at, two, 8) == 0) return true;
        return false;
    };
    CHECK(held(words) && held(words + 2) && held(words + 4) && held(words + 6));  // the present key
    CHECK(held(words + 100));                                                     // what comes next
    bool kept = held(key.data()) || held(key.data() + 6);
    for (std::size_t i = 8; i + 2 <= 100; ++i) kept |= held(words + i);
    CHECK(!kept);

    // No two threads have the same key.
    std::vector<std::vector<ChaChaKey>> taken(4);
    std::vector<std::thread> threads;
    for (auto& mine : taken)
        threads.emplace_back([&] {
            for (int i = 0; i < 1000; ++i) mine.push_back(generator.derive().key);
        });
    for (auto& thread : threads) thread.join();
    std::set<ChaChaKey> all;
    for (auto& mine : taken) all.insert(mine.begin(), mine.end());
    CHECK(all.size() == 4000);

    // A resumed generator gives the same words, in the middle of its buffer too.
    for (int i = 0; i < 300; ++i) generator.next32();
    const GeneratorState state = generator.state();
    NoiseGenerator resumed(ChaChaKey{2});
    resumed.restore(state);
    for (int i = 0; i < 600; ++i) same &= resumed.next64() == generator.next64();
    CHECK(same && resumed.derive().key == generator.derive().key);
}

void uniform_integers() {
    WordSource words({ChaChaKey{4}, 0});
    int counts[7] = {};
    for (int i = 0; i < 70000; ++i) ++counts[words.below(7)];
    double chi_square = 0.0;
    for (const int count : counts) chi_square += (count - 1e4) * (count - 1e4) / 1e4;
    CHECK_THAT(chi_square, <, 33.0);                 // 6 degrees of freedom: probability 1e-5
    const std::uint64_t large = 0xaaaaaaaaaaaaaaab;  // a third of all words are rejected
    int above = 0;
    for (int i = 0; i < 10000; ++i) {
        const std::uint64_t n = words.below(large);
        CHECK(n < large);
        above += n > large / 2;
    }
    CHECK_THAT(above, <, 5250.0);
    CHECK_THAT(above, >, 4750.0);
    CHECK(words.below(1) == 0);
}

}  // namespace

int main() {
    known_answers();
    second_implementation();
    keys();
    uniform_integers();
    return check::finish();
}
