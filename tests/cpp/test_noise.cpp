// Noise against the formula in long double from the same words, its ends, and its bits: the same on every instruction
// set and on any number of threads.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <numbers>
#include <vector>

#include "check.hpp"
#include "noise_baseline.hpp"
#include "renyi/sgd/continuous_noise.hpp"
#include "renyi/sgd/variates.hpp"

using namespace renyi;

namespace {

constexpr long double kQuarterTurn = std::numbers::pi_v<long double> / 2;

// v = (2 j + 1) / 2^64 has 64 bits: exact in long double, where that has as many.
long double exponential(std::uint32_t high, std::uint32_t low) {
    const std::uint64_t word = (static_cast<std::uint64_t>(high) << 32 | low) | 1u;
    const std::uint64_t folded = high >> 31 ? ~word | 1u : word;
    const long double v = std::ldexp(static_cast<long double>(folded), -64);
    return high >> 31 ? -std::log1p(-v) : -std::log(v);
}

struct Point {
    long double x, y;
};

Point point(std::uint32_t word, long double fraction) {  // fraction of the last bit of the word
    const auto r = static_cast<long double>(static_cast<std::int32_t>(word << 2)) + 4 * fraction;
    const long double t = std::ldexp(r, -32) * kQuarterTurn;
    const long double x = word >> 31 ? -std::cos(t) : std::cos(t), y = std::sin(t);
    return word >> 30 & 1 ? Point{y, x} : Point{x, y};
}

std::vector<std::uint32_t> interesting_words() {
    std::vector<std::uint32_t> words{0u,          1u,          2u,          3u,          0x7fffffffu,
                                     0x80000000u, 0xffffffffu, 0xfffffffeu, 0x40000000u, 0x3fffffffu,
                                     0xbfffffffu, 0xc0000000u, 0x20000000u, 0x5a827999u, 0xa57d8666u};
    for (int k = 0; k < 32; ++k) words.push_back((1u << k) - 1), words.push_back(0u - (1u << k));
    return words;
}

template <class Real>
void exponentials(double bound) {
    double worst = 0.0;
    const auto compare = [&](std::uint32_t high, std::uint32_t low) {
        const long double exact = exponential(high, low);
        const auto computed = static_cast<long double>(exponential_of<Real>(high, low));
        worst = std::max(worst, static_cast<double>(std::fabs(computed / exact - 1)));
    };
    for (const auto high : interesting_words())
        for (const auto low : interesting_words()) compare(high, low);
    std::vector<std::uint32_t> words(100 * kGroupWords);
    chacha20_groups({{11}, 0}, 0, 100, words.data());
    for (std::size_t i = 0; i + 1 < words.size(); ++i) compare(words[i], words[i + 1] | 1u);
    CHECK_THAT(worst, <=, bound);
    CHECK_THAT(worst, >, bound / 16);
}

// The whole kernel against the formula.
template <class Real>
void gaussians(double bound) {
    constexpr bool kSingle = sizeof(Real) == 4;
    constexpr std::size_t kPairs = kSingle ? 256 : 128, kGroups = kSingle ? 3 : 2, kChunks = 200;
    std::vector<Real> x(kChunks * 2 * kPairs);
    const ChaChaStream stream{{5, 6}, 7};
    CHECK(noise_groups(NoiseLaw::gaussian, kSingle, x.size()) == kChunks * kGroups);
    make_noise(NoiseLaw::gaussian, NoiseTarget::fill, stream, 40, Real(1), x.data(), x.size(), 1);
    std::vector<std::uint32_t> w(kGroups * kGroupWords);
    double worst = 0.0;
    for (std::size_t c = 0; c < kChunks; ++c) {
        chacha20_groups(stream, 40 + c * kGroups, kGroups, w.data());
        for (std::size_t i = 0; i < kPairs; ++i) {
            const long double radius = std::sqrt(2 * exponential(w[i], w[kPairs + i]));
            const std::uint32_t turn = w[2 * kPairs + i];
            const Point p = point(turn, kSingle ? 0.5L : ((w[kSingle ? i : 3 * kPairs + i] >> 1) + 0.5L) / 0x1p31L);
            for (const auto& [got, wanted] :
                 {std::pair{x[2 * kPairs * c + i], p.x}, std::pair{x[2 * kPairs * c + kPairs + i], p.y}})
                worst = std::max(worst, static_cast<double>(std::fabs(got - radius * wanted) / radius));
        }
    }
    CHECK_THAT(worst, <=, bound);
}

template <class Real>
void ends() {
    const double smallest = exponential_of<Real>(0xffffffffu, 0xffffffffu), largest = exponential_of<Real>(0u, 0u);
    CHECK_THAT(smallest, ==, 0x1p-64);
    CHECK_THAT(std::fabs(largest - 64 * std::numbers::ln2), <, 1e-5);
    CHECK_THAT(std::sqrt(2 * largest), <, 9.42);
    // From one half on: the same from both sides.
    const double below = exponential_of<Real>(0x7fffffffu, 0xffffffffu);
    const double above = exponential_of<Real>(0x80000000u, 1u);
    CHECK_THAT(std::fabs(below - above), <=, 1e-7);
}

template <class Real>
bool same(const std::vector<Real>& a, const std::vector<Real>& b) {
    return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(Real)) == 0);
}

template <class Real>
void bits() {
    const std::uint32_t key[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    const ChaChaStream stream{{1, 2, 3, 4, 5, 6, 7, 8}, 0};
    for (const std::size_t count : {0, 1, 255, 256, 257, 511, 513, 100003})
        for (const bool gaussian : {true, false})
            for (const bool add : {true, false}) {
                const auto law = gaussian ? NoiseLaw::gaussian : NoiseLaw::laplace;
                const auto target = add ? NoiseTarget::add : NoiseTarget::fill;
                std::vector<Real> one(count, Real(0.75)), three(count, Real(0.75)), scalar(count, Real(0.75));
                make_noise(law, target, stream, 9, Real(1.7), one.data(), count, 1);
                make_noise(law, target, stream, 9, Real(1.7), three.data(), count, 3);
                baseline::noise(gaussian, add, key, 9, Real(1.7), scalar.data(), count);
                CHECK(same(one, three));
                CHECK(same(one, scalar));
                if (count == 100003) {  // what is added is what is filled
                    std::vector<Real> longer(count + 700, Real(0.75));
                    make_noise(law, target, stream, 9, Real(1.7), longer.data(), longer.size(), 2);
                    longer.resize(count);
                    CHECK(same(one, longer));
                }
            }
}

}  // namespace

int main() {
    exponentials<float>(6 * 0x1p-24);
    exponentials<double>(4 * 0x1p-53);
    gaussians<float>(0x1p-20);
    gaussians<double>(0x1p-49);
    ends<float>();
    ends<double>();
    bits<float>();
    bits<double>();
    return check::finish();
}
