// Rounded noise: fixed-point functions against long double, single precision against its bounds, double precision and
// fixed point against each other, whole arrays against fixed point from the same words, and bits: the same on every
// instruction set and on any number of threads.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <numbers>
#include <vector>

#include "baseline.hpp"
#include "check.hpp"
#include "renyi/sgd/rounded_noise.hpp"

using namespace renyi;

namespace {

constexpr NoiseLaw kLaws[] = {NoiseLaw::gaussian, NoiseLaw::laplace};
const ChaChaStream kStream{{1, 2, 3, 4, 5, 6, 7, 8}, 0};

// Words that a rounding may go wrong for: ends, powers of two, beside them; then random ones.
std::vector<std::uint32_t> interesting_words(std::size_t random) {
    std::vector<std::uint32_t> words{0x5a827999u, 0xa57d8666u, 0x20000000u, 0x3fffffffu, 0xbfffffffu, 0xc0000000u};
    for (int k = 0; k < 32; ++k)
        words.push_back((1u << k) - 1), words.push_back(1u << k), words.push_back(0u - (1u << k));
    std::vector<std::uint32_t> stream((random / kGroupWords + 1) * kGroupWords);
    chacha20_groups({{11}, 0}, 0, stream.size() / kGroupWords, stream.data());
    words.insert(words.end(), stream.begin(), stream.begin() + static_cast<std::ptrdiff_t>(random));
    return words;
}

long double value_of(const Natural& n, std::size_t bits) {  // the leading 64 bits
    const std::size_t drop = n.bits() > 64 ? n.bits() - 64 : 0;
    return std::ldexp(static_cast<long double>(n.divided_by_power_of_two(drop).low_word()),
                      static_cast<int>(drop) - static_cast<int>(bits));
}

void fixed_point() {
    for (const std::size_t bits : {96, 160, 224}) {
        const FixedPoint fixed(bits);
        const auto near = [&](const Natural& n, long double exact, long double error) {
            CHECK_THAT(static_cast<double>(std::fabs(value_of(n, bits) - exact)), <=,
                       static_cast<double>(error + std::fabs(exact) * 0x1p-61L));
        };
        for (const std::uint32_t word : interesting_words(50)) {
            if (word == 0 || !check::is_tried()) continue;
            const long double u = std::ldexp(static_cast<long double>(word), -32);
            const Enclosure e = fixed.minus_log(Natural(word), 32);
            const long double exact = u > 0.5L ? -std::log1p(u - 1) : -std::log(u);
            near(e.lower, exact, 0x1p-83L), near(e.upper, exact, 0x1p-83L);
            CHECK(!(e.upper < e.lower));
            near(fixed.root_below(fixed.from(Natural(word), 32)), std::sqrt(u), 0x1p-95L);
            const FixedPoint::Circle circle = fixed.circle(fixed.from(Natural(word), 33));
            near(circle.cosine, std::cos(u * std::numbers::pi_v<long double> / 4), 0x1p-62L);
            near(circle.sine, std::sin(u * std::numbers::pi_v<long double> / 4), 0x1p-62L);
        }
    }
    const FixedPoint fine(256), coarse(128);  // pi, log 2 and a cosine agree to their bounds
    const Natural x = Natural(0x9e3779b97f4a7c15u);
    const auto shortened = [](const Natural& n) { return n.divided_by_power_of_two(128); };
    const auto apart = [](const Natural& a, const Natural& b) { return a < b ? b - a : a - b; };
    const auto fine_circle = fine.circle(fine.from(x, 65)), circle = coarse.circle(coarse.from(x, 65));
    CHECK(!(circle.error < apart(shortened(fine_circle.cosine), circle.cosine)));
    CHECK(!(circle.error < apart(shortened(fine_circle.sine), circle.sine)));
    const Enclosure log = coarse.minus_log(x, 70), fine_log = fine.minus_log(x, 70);
    CHECK(!(shortened(fine_log.upper) < log.lower) && !(log.upper < shortened(fine_log.lower)));
    CHECK(fine.minus_log(Natural(1).shifted(2), 64).upper.is_zero());
}

// Every 2^k-th word, from an odd one on; with RENYI_EXHAUSTIVE every word (minutes).
void single_precision() {
    const bool every = std::getenv("RENYI_EXHAUSTIVE") != nullptr;
    const std::uint64_t step = every ? 1 : 4099 * check::kStride + check::kStride - 1;
    double exponential = 0.0, radius = 0.0, point = 0.0;
    for (std::uint64_t w = 0; w < std::uint64_t{1} << 32; w += step) {
        const auto word = static_cast<std::uint32_t>(w);
        const CirclePoint p = point_of(word);
        const double t = (static_cast<double>(static_cast<std::int32_t>(word << 2)) + 2.0) * 0x1p-33 * std::numbers::pi;
        const double cosine = word >> 31 ? -std::cos(t) : std::cos(t), sine = std::sin(t);
        const bool swapped = (word >> 30 & 1) != 0;
        point =
            std::max({point, std::fabs(p.x - (swapped ? sine : cosine)), std::fabs(p.y - (swapped ? cosine : sine))});
        const Exponential e = exponential_of(word);
        if (e.v < 0x1p-12f) continue;
        const std::uint32_t folded = word >> 31 ? ~word : word;
        const double v = (folded + 0.5) * 0x1p-32, exact = word >> 31 ? -std::log1p(-v) : -std::log(v);
        exponential = std::max(exponential, std::fabs(e.value / exact - 1.0));
        radius = std::max(radius, std::fabs(radius_of(e) / std::sqrt(2.0 * exact) - 1.0));
    }
    CHECK_THAT(exponential, <=, 4.4 * 0x1p-24);
    CHECK_THAT(radius, <=, 3.0 * 0x1p-24);
    CHECK_THAT(point, <=, 2.0 * 0x1p-24);
}

// A grid of first words and fractions, the noise beyond what is ever drawn included.
void stages_agree() {
    const std::vector<std::uint32_t> words = interesting_words(check::cases(60));
    std::uint64_t nonce = 0;
    for (const NoiseLaw law : kLaws)
        for (const std::uint32_t radial : words)
            for (std::size_t i = nonce % 7; i < words.size(); i += 13 * check::kStride) {
                const FirstBits bits{law, radial, law == NoiseLaw::gaussian ? words[i] : 0, (i & 1) != 0};
                const LatticeSum sum{static_cast<double>(static_cast<std::int32_t>(words[i])), -32,
                                     512.0 + 7.3 * static_cast<double>(i % 70)};
                const ChaChaStream stream{kStream.key, ++nonce};
                FewWords more(stream);
                const Rounded rounded = round_exactly(bits, sum, more);
                CHECK(rounded.nearest == round_by_fixed_point(bits, sum, FewWords(stream)));
            }
}

// y = fraction + ratio X as near to half an integer as a double comes: only fixed point decides, and a step of the
// fraction past it decides otherwise.
void near_half_integers() {
    for (const NoiseLaw law : kLaws)
        for (std::uint64_t nonce = 1; nonce <= std::uint64_t{check::cases(40)}; ++nonce) {
            std::uint32_t words[kGroupWords];
            chacha20_groups({{21}, nonce}, 0, 1, words);
            const FirstBits bits{law, words[0], law == NoiseLaw::gaussian ? words[1] : 0, false};
            const auto nearest = [&](double fraction, bool& by_fixed_point) {
                FewWords more({kStream.key, nonce});
                const Rounded rounded = round_exactly(bits, {fraction, 0, 777.0}, more);
                by_fixed_point = rounded.by_fixed_point;
                return rounded.nearest;
            };
            double low = -0.5, high = 0.5;  // one half-integer is between
            bool by_fixed_point, other;
            const std::int64_t below = nearest(low, other);
            CHECK(nearest(high, other) == below + 1);
            for (int k = 0; k < 52; ++k) {
                const double middle = 0.5 * (low + high);
                (nearest(middle, by_fixed_point) == below ? low : high) = middle;
            }
            CHECK(nearest(low, by_fixed_point) == below && by_fixed_point);
            CHECK(nearest(high, by_fixed_point) == below + 1 && by_fixed_point);
        }
}

template <class Real>
std::vector<Real> some_numbers(std::size_t count) {
    std::vector<Real> numbers(count);
    const Real some[] = {
        0, Real(1) / 3, Real(-1e-3), Real(12345.678), Real(-3e9), std::numeric_limits<Real>::denorm_min()};
    for (std::size_t i = 0; i < count; ++i) numbers[i] = some[i % 6];
    return numbers;
}

// What number i of an array must become, by fixed point.
template <class Real>
Real expected(NoiseLaw law, std::uint64_t first, const NoiseLattice& lattice, std::size_t i, Real number) {
    std::uint32_t words[512];
    const std::uint64_t group = first + i / 512 * 2;
    chacha20_groups(kStream, group, 2, words);
    const bool gaussian = law == NoiseLaw::gaussian;
    const std::size_t place = gaussian ? i % 256 : i % 512;
    const FirstBits bits{law, words[place], gaussian ? words[256 + place] : 0, gaussian && i % 512 >= 256};
    const double scaled = std::ldexp(static_cast<double>(number), -lattice.log_spacing), n = std::rint(scaled);
    const FewWords more({kStream.key, kStream.nonce ^ (group * 256 + place + 1)});
    const auto k = round_by_fixed_point(bits, {scaled - n, 0, lattice.ratio}, more);
    return static_cast<Real>(std::ldexp(n + static_cast<double>(k), lattice.log_spacing));
}

template <class Real>
void arrays_by_fixed_point() {
    constexpr std::size_t kCount = 512 + 100;
    for (const NoiseLaw law : kLaws)
        for (const NoiseLattice& lattice : {NoiseLattice(1.0), NoiseLattice(0.3), NoiseLattice(1e5),
                                            NoiseLattice(0.7, sizeof(Real) == 8 ? 32 : 10)}) {
            const std::vector<Real> numbers = some_numbers<Real>(kCount);
            std::vector<Real> noisy = numbers;
            add_noise(law, kStream, 9, lattice, noisy.data(), kCount, 1);
            std::size_t wrong = 0;
            for (std::size_t i = 0; i < kCount; i += check::kStride)
                wrong += noisy[i] != expected(law, 9, lattice, i, numbers[i]);
            CHECK_THAT(static_cast<double>(wrong), ==, 0.0);
        }
}

template <class Real>
bool same(const std::vector<Real>& a, const std::vector<Real>& b) {
    return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(Real)) == 0);
}

template <class Real>
void bits() {
    for (const std::size_t count : {0, 1, 255, 257, 511, 513, 200003})
        for (const NoiseLaw law : kLaws) {
            const std::vector<Real> numbers = some_numbers<Real>(count);
            std::vector<Real> one = numbers, three = numbers, scalar = numbers,
                              longer = some_numbers<Real>(count + 700);
            const Undecided undecided = add_noise(law, kStream, 9, NoiseLattice(1.7), one.data(), count, 1);
            const Undecided also = add_noise(law, kStream, 9, NoiseLattice(1.7), three.data(), count, 3);
            baseline::noise(law == NoiseLaw::gaussian, kStream.key.data(), 9, 1.7, scalar.data(), count);
            add_noise(law, kStream, 9, NoiseLattice(1.7), longer.data(), longer.size(), 2);
            longer.resize(count);
            CHECK(same(one, three) && same(one, scalar) && same(one, longer));
            CHECK(undecided.by_first_words == also.by_first_words && undecided.by_double_precision == 0);
            if (count < 1000) continue;
            CHECK_THAT(static_cast<double>(undecided.by_first_words), <, 0.004 * static_cast<double>(count));
            CHECK_THAT(static_cast<double>(undecided.by_first_words), >, 0.0005 * static_cast<double>(count));
        }
}

template <class Real>
void extremes() {
    constexpr Real kLargest = std::numeric_limits<Real>::max(), kInfinity = std::numeric_limits<Real>::infinity();
    for (const NoiseLaw law : kLaws)
        for (const double scale : {kLeastNoise<Real>, 1.0, kLargestNoise<Real>}) {
            Real x[] = {kLargest,  -kLargest,
                        kInfinity, std::numeric_limits<Real>::quiet_NaN(),
                        0,         std::numeric_limits<Real>::denorm_min(),
                        1};
            add_noise(law, kStream, 3, NoiseLattice(scale), x, 7, 1);
            CHECK(x[0] >= kLargest / 2 && x[1] <= -kLargest / 2 && x[2] == kInfinity && std::isnan(x[3]));
            const double spacing = NoiseLattice(scale).spacing;
            for (const Real value : {x[4], x[5], x[6]})
                CHECK(std::isfinite(value) && value == std::rint(value / spacing) * spacing);
        }
    CHECK(noise_groups(0) == 0 && noise_groups(1) == 2 && noise_groups(512) == 2 && noise_groups(513) == 4);
}

}  // namespace

int main() {
    fixed_point();
    single_precision();
    stages_agree();
    near_half_integers();
    arrays_by_fixed_point<float>();
    arrays_by_fixed_point<double>();
    bits<float>();
    bits<double>();
    extremes<float>();
    extremes<double>();
    return check::finish();
}
