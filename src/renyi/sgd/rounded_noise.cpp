#include "renyi/sgd/rounded_noise.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <limits>
#include <numbers>
#include <utility>

#include "renyi/fp/multiversion.hpp"
#include "renyi/sgd/threads.hpp"
#include "renyi/special/elementary.hpp"

namespace renyi {

namespace {

Natural power_of_two(std::size_t exponent) { return Natural(1).times_power_of_two(exponent); }

}  // namespace

Natural FixedPoint::from(const Natural& integer, std::size_t fraction_bits) const {
    return fraction_bits <= bits_ ? integer.times_power_of_two(bits_ - fraction_bits)
                                  : integer.divided_by_power_of_two(fraction_bits - bits_);
}

// sum 2^-n / n: at most one unit is lost in each of `bits` terms, and half a unit in all later terms together.
Natural FixedPoint::log_two() const {
    Natural sum, power = power_of_two(bits_);
    for (std::uint32_t n = 1; !power.is_zero(); ++n) {
        power = power.divided_by_power_of_two(1);
        sum = sum + power.divided_by(n);
    }
    return sum;
}

// a = 2^l m, 1/2 <= m < 1: -log = (a_bits - l) log 2 + sum (1 - m)^n / n. With 1 - m <= 1/2 a power is less than 2
// units too small, its term less than 3, and the terms vanish after `bits`; the omitted terms are below 1 unit
// together. So the computed sum is too small, by less than 3 bits + 2 + (a_bits - l) (bits + 1).
Enclosure FixedPoint::minus_log(const Natural& a, std::size_t a_bits) const {
    const std::size_t length = a.bits();
    if (length > a_bits) return {};                           // -log 1
    const Natural x = power_of_two(bits_) - from(a, length);  // exact: length <= bits
    const std::size_t k = a_bits - length;
    Natural sum = log_two() * Natural(k), power = x;
    for (std::uint32_t n = 1; !power.is_zero(); ++n, power = times(power, x)) sum = sum + power.divided_by(n);
    return {sum, sum + Natural(3 * bits_ + 2 + k * (bits_ + 1))};
}

// The largest r with r^2 <= x 2^bits, bit by bit.
Natural FixedPoint::root_below(const Natural& x) const {
    const Natural square = x.times_power_of_two(bits_);
    Natural root;
    for (std::size_t bit = square.bits() / 2 + 1; bit-- > 0;) {
        const Natural tried = root + power_of_two(bit);
        if (!(square < tried * tried)) root = tried;
    }
    return root;
}

// 1/n - 1/(3 n^3) + ...: a power is less than 2 units too small, a term less than 3; for n >= 5 there are fewer than
// bits/4 terms, and the omitted terms are below 1 unit.
Natural FixedPoint::arctangent(std::uint32_t n) const {
    Natural plus, minus, power = power_of_two(bits_).divided_by(n);
    for (std::uint32_t i = 0; !power.is_zero(); ++i, power = power.divided_by(n * n))
        (i % 2 != 0 ? minus : plus) = (i % 2 != 0 ? minus : plus) + power.divided_by(2 * i + 1);
    return plus - minus;
}

// Machin: pi/2 = 8 arctan(1/5) - 2 arctan(1/239). Error below 10 (3 bits/4 + 4) <= 20 bits for bits >= 8.
Natural FixedPoint::half_pi() const { return arctangent(5) * Natural(8) - arctangent(239) * Natural(2); }

// t <= 0.8 has an error of 20 bits + 1 units, which moves cosine and sine as much. Taylor's terms t^n/n!, each computed
// from the previous one, are too small by e_n <= (0.8 e_(n-1) + 1)/n + 1 < 3 units, there are fewer than `bits`, and
// the omitted terms are below 1 unit: 3 bits + 1 more.
FixedPoint::Circle FixedPoint::circle(const Natural& x) const {
    const Natural t = times(half_pi(), x);
    Natural even_plus, even_minus, odd_plus, odd_minus, term = power_of_two(bits_);
    for (std::uint32_t n = 0; !term.is_zero(); ++n, term = times(term, t).divided_by(n)) {
        Natural& sum = n % 4 == 0 ? even_plus : n % 4 == 1 ? odd_plus : n % 4 == 2 ? even_minus : odd_minus;
        sum = sum + term;
    }
    return {even_plus - even_minus, odd_plus - odd_minus, Natural(24 * bits_ + 4)};
}

namespace {

// The sign of a number and the function of its angle, from the bits of the uniform numbers.
struct Branch {
    bool negative, sine;
    int radial_bits;  // bits of the first word
    std::uint32_t radial;
};

// Turns and mirrors as point_of does: by the two leading bits of the angle, and the sign of the rest for a sine.
Branch branch_of(const FirstBits& first) noexcept {
    if (first.law == NoiseLaw::laplace) return {first.radial >> 31 != 0, false, 31, first.radial & 0x7fffffffu};
    const bool mirrored = first.angular >> 31 != 0, swapped = (first.angular >> 30 & 1) != 0;
    const bool sine = first.sine != swapped;
    return {sine ? (first.angular >> 29 & 1) != 0 : mirrored, sine, 32, first.radial};
}

class MoreBits {  // further words, alternately for the radius and the angle, in the order of the stream
public:
    MoreBits(NoiseLaw law, FewWords& source) noexcept : law_(law), source_(source) {}
    void draw() noexcept {
        radial = source_.next64();
        angular = law_ == NoiseLaw::gaussian ? source_.next64() : 0;
    }
    std::uint64_t radial = 0, angular = 0;

private:
    NoiseLaw law_;
    FewWords& source_;
};

// -log of the middle of the cell, with an error of 8u: v has at most two roundings, its half-cell is below 2^-55 of it
// as v >= 2^-40, 1.45 times that in the logarithm, and lane_log and lane_log1p have errors of 3u. NaN for smaller v.
double double_exponential(std::uint32_t high, int bits, std::uint64_t low) noexcept {
    const bool flipped = (high >> (bits - 1)) != 0;
    const std::uint64_t mask = std::uint64_t{0} - static_cast<std::uint64_t>(flipped);
    const std::uint64_t top = (high ^ mask) & ((std::uint64_t{1} << bits) - 1);
    const double v = std::ldexp(static_cast<double>(top) + static_cast<double>(low ^ mask) * 0x1p-64, -bits);
    if (v < 0x1p-40) return std::nan("");
    return flipped ? -lane_log1p(-v) : -lane_log(v);
}

// Cosine or magnitude of the sine at the middle of the cell, whose half-width is below 2^-61, with an error of 4u. The
// rest of the angle has 30 bits in the first word and 64 in the next, which are one number in two's complement.
double double_circle(std::uint32_t word, std::uint64_t low, bool sine) noexcept {
    const auto r = static_cast<double>(static_cast<std::int32_t>(word << 2));
    const double t = (r + (static_cast<double>(low >> 32) + 0.5) * 0x1p-30) * (std::numbers::pi * 0x1p-33);
    const double z = t * t, z2 = z * z, z4 = z2 * z2;
    const double s = ((-1.0 / 6 + z * (1.0 / 120)) + z2 * (-1.0 / 5040 + z * (1.0 / 362880))) +
                     z4 * ((-1.0 / 39916800 + z * (1.0 / 6227020800.0)) +
                           z2 * (-1.0 / 1307674368000.0 + z * (1.0 / 355687428096000.0)));
    const double c = ((1.0 / 24 + z * (-1.0 / 720)) + z2 * (1.0 / 40320 + z * (-1.0 / 3628800))) +
                     z4 * ((1.0 / 479001600 + z * (-1.0 / 87178291200.0)) +
                           z2 * (1.0 / 20922789888000.0 + z * (-1.0 / 6402373705728000.0)));
    return sine ? std::fabs(t + t * z * s) : 1.0 + (z2 * c - 0.5 * z);
}

// Returns whether double precision decides, and sets the integer. The magnitude of X has an error of at most
// (8u/2 + 4u + 2u) R < 10u R, or 8u E; after multiplication and addition y has one of 12u ratio R + u |y|, |y| <=
// ratio R + 1/2: below 2^-48 (ratio R + 1) together.
bool double_decides(const FirstBits& first, const Branch& branch, const LatticeSum& sum, const MoreBits& words,
                    std::int64_t& nearest) noexcept {
    const double e = double_exponential(branch.radial, branch.radial_bits, words.radial);
    const double reach = first.law == NoiseLaw::laplace ? e : std::sqrt(2.0 * e);
    const double magnitude =
        first.law == NoiseLaw::laplace ? e : reach * double_circle(first.angular, words.angular, branch.sine);
    const double noise = sum.ratio * magnitude;
    const double y = std::ldexp(sum.fraction, sum.exponent) + (branch.negative ? -noise : noise);
    const double k = std::nearbyint(y);
    nearest = static_cast<std::int64_t>(k);
    return std::fabs(y - k) < 0.5 - 0x1p-48 * (sum.ratio * reach + 1.0);  // false for NaN
}

// The bits drawn so far as integers: cells [radial, radial + 1] 2^-bits.
struct Cells {
    Natural radial, angular;
    std::size_t radial_bits, angular_bits;

    void lengthen(const MoreBits& words) {
        radial = radial.shifted(2) + Natural(words.radial), radial_bits += 64;
        angular = angular.shifted(2) + Natural(words.angular), angular_bits += 64;
    }
};

// Encloses |X| of unit scale. `bits`: the fraction bits of the fixed-point numbers.
Enclosure magnitude_of(NoiseLaw law, const Cells& cells, bool sine, std::size_t bits) {
    const FixedPoint fixed(bits);
    const Natural one(1);
    const Enclosure least = fixed.minus_log(cells.radial + one, cells.radial_bits);
    const Enclosure most = fixed.minus_log(cells.radial, cells.radial_bits);
    if (law == NoiseLaw::laplace) return {least.lower, most.upper};
    const Natural below = fixed.root_below(least.lower + least.lower);
    const Natural above = fixed.root_below(most.upper + most.upper) + one;
    // The angle is pi/2 x with |x| <= 1/2 in two's complement; its cell is at most 2 2^-angular_bits wide.
    const Natural half = Natural(1).times_power_of_two(cells.angular_bits - 1), whole = half + half;
    const Natural x = cells.angular < half ? cells.angular : whole - cells.angular;
    const FixedPoint::Circle circle = fixed.circle(fixed.from(x, cells.angular_bits));
    const Natural error = circle.error + Natural(2).times_power_of_two(bits - cells.angular_bits);
    const Natural& value = sine ? circle.sine : circle.cosine;
    const Natural low = value < error ? Natural() : value - error;
    return {fixed.times(below, low), fixed.times(above, value + error) + one};
}

// Computes fraction + 1/2 + 2^60 + sign ratio X, rounded down, and returns whether both ends of X agree. ratio X must
// stay below 2^60: to reach it, more than 2^80 bits would have to be 0.
bool fixed_point_decides(const LatticeSum& sum, bool negative, const Enclosure& x, std::size_t bits,
                         std::int64_t& nearest) {
    const FixedPoint fixed(bits);
    int exponent;
    const double factor = std::frexp(sum.ratio, &exponent);  // 2^-53 times an integer
    const Natural one(1), ratio(static_cast<std::uint64_t>(std::ldexp(factor, 53)));
    const auto shift = static_cast<std::size_t>(53 - exponent);
    const Natural low = (x.lower * ratio).divided_by_power_of_two(shift);
    const Natural high = (x.upper * ratio).divided_by_power_of_two(shift) + one;
    const double mantissa = std::frexp(std::fabs(sum.fraction), &exponent);
    const Natural part(static_cast<std::uint64_t>(std::ldexp(mantissa, 53)));
    const Natural fraction = fixed.from(part, static_cast<std::size_t>(53 - exponent - sum.exponent));
    const Natural centre = one.times_power_of_two(bits + 60) + one.times_power_of_two(bits - 1);
    Natural lower = negative ? centre - high : centre + low, upper = negative ? centre - low : centre + high;
    lower = sum.fraction < 0.0 ? lower - (fraction + one) : lower + fraction;
    upper = sum.fraction < 0.0 ? upper - fraction : upper + fraction + one;
    const std::uint64_t down = lower.divided_by_power_of_two(bits).low_word();
    nearest = static_cast<std::int64_t>(down) - (std::int64_t{1} << 60);
    return down == upper.divided_by_power_of_two(bits).low_word();
}

std::int64_t round_by_fixed_point(const FirstBits& first, const Branch& branch, const LatticeSum& sum,
                                  MoreBits& words) {
    Cells cells{Natural(branch.radial), Natural(first.angular & 0x3fffffffu),
                static_cast<std::size_t>(branch.radial_bits), 30};
    for (std::int64_t nearest;; words.draw()) {
        cells.lengthen(words);
        if (cells.radial.is_zero()) continue;  // no upper bound
        const std::size_t bits = cells.radial_bits + 64;
        if (fixed_point_decides(sum, branch.negative, magnitude_of(first.law, cells, branch.sine, bits), bits, nearest))
            return nearest;
    }
}

}  // namespace

Rounded round_exactly(const FirstBits& first, const LatticeSum& sum, FewWords& more) {
    const Branch branch = branch_of(first);
    MoreBits words(first.law, more);
    words.draw();
    std::int64_t nearest;
    if (double_decides(first, branch, sum, words, nearest)) return {nearest, false};
    return {round_by_fixed_point(first, branch, sum, words), true};
}

std::int64_t round_by_fixed_point(const FirstBits& first, const LatticeSum& sum, FewWords more) {
    MoreBits words(first.law, more);
    words.draw();
    return round_by_fixed_point(first, branch_of(first), sum, words);
}

namespace {

constexpr std::size_t kGroups = 2, kChunk = kGroups * kGroupWords, kPairs = kChunk / 2;
constexpr std::size_t kLeastPerThread = 1 << 15;  // numbers; affects time alone

// Variables X of unit scale in single precision. With u = 2^-24 and v = min(U, 1 - U) >= 2^-12,
//     |x - X| <= 7.5u reach + 2^-26.4                                                                    (1)
// and reach is infinite where v is smaller.
struct Variates {
    alignas(64) float x[kChunk];
    alignas(64) float reach[kChunk];
};

constexpr float kLeastV = 0x1p-12f, kInfinity = std::numeric_limits<float>::infinity();

// Gaussian noise, reach = R. In (1) the radius makes 3u, the point 2u, their product 1u; half the cell of U moves R by
// 2^-33 / (v R) < 0.5u R where U < 1/2, otherwise by 2^-33 / ((1 - v) R) <= 2^-26.5 as R >= 2^-5.5; half the cell of
// the angle moves it by 2^-30.3 R.
RENYI_MULTIVERSION void gaussian_variates(const std::uint32_t* __restrict words, Variates& variates) noexcept {
    float* __restrict x = variates.x;
    float* __restrict reach = variates.reach;
    for (std::size_t i = 0; i < kPairs; ++i) {
        const Exponential e = exponential_of(words[i]);
        const CirclePoint point = point_of(words[kPairs + i]);
        const float radius = radius_of(e);
        x[i] = radius * point.x;
        x[kPairs + i] = radius * point.y;
        reach[i] = reach[kPairs + i] = e.v >= kLeastV ? radius : kInfinity;
    }
}

// Laplace noise, reach = E. The error is 4.4u, and the computed middle of a cell of two units is half a unit off, so
// that E moves by 1.5 2^-32 / v < 3u E where W < 1/2, otherwise by 1.5 2^-31 at most.
RENYI_MULTIVERSION void laplace_variates(const std::uint32_t* __restrict words, Variates& variates) noexcept {
    float* __restrict x = variates.x;
    float* __restrict reach = variates.reach;
    for (std::size_t i = 0; i < kChunk; ++i) {
        const Exponential e = exponential_of(words[i] << 1);
        x[i] = blend(leading_bit(words[i]), -e.value, e.value);
        reach[i] = e.v >= kLeastV ? e.value : kInfinity;
    }
}

// The lattice for the kernels, which compute y = fraction + ratio x in single precision, with n + fraction the number
// in spacings. Rounding of ratio, product and sum adds 3u (ratio reach + 1) to (1), that of the fraction 2^-26, that of
// the comparison 2^-25 and 4u of its right side. The total is below ratio (11u reach + 2^-26), as ratio >= 2^9.
template <class Real>
struct Step {
    explicit Step(const NoiseLattice& lattice) noexcept
        : inverse(static_cast<Real>(std::ldexp(1.0, -lattice.log_spacing))),
          spacing(static_cast<Real>(lattice.spacing)),
          ratio(static_cast<float>(lattice.ratio)),
          relative(ratio * 11 * 0x1p-24f),
          absolute(ratio * 0x1p-26f) {}

    Real inverse, spacing;
    float ratio, relative, absolute;
};

// Rounds the numbers that are decided; open[i] is 1 for the others.
template <class Real>
RENYI_INLINE void round_some(const Step<Real>& step, const Variates& variates, Real* __restrict numbers,
                             std::uint8_t* __restrict open, std::size_t count) noexcept {
    constexpr float kShift = 0x1.8p23f;  // adding it rounds to an integer
    const float* __restrict x = variates.x;
    const float* __restrict reach = variates.reach;
    for (std::size_t i = 0; i < count; ++i) {
        const Real number = numbers[i], scaled = number * step.inverse, n = std::rint(scaled);
        const float y = static_cast<float>(scaled - n) + step.ratio * x[i];  // below 2^13 at kResolution
        const float k = (y + kShift) - kShift;
        const float margin = step.relative * reach[i] + step.absolute;
        const bool decided = __builtin_fabsf(y - k) + margin < 0.5f;  // not where the number is not finite
        const Real rounded = (n + static_cast<Real>(k)) * step.spacing;
        numbers[i] = decided ? rounded : number;
        open[i] = decided ? 0 : 1;
    }
}

RENYI_MULTIVERSION void round_chunk(const Step<float>& step, const Variates& variates, float* numbers,
                                    std::uint8_t* open, std::size_t count) noexcept {
    round_some(step, variates, numbers, open, count);
}

RENYI_MULTIVERSION void round_chunk(const Step<double>& step, const Variates& variates, double* numbers,
                                    std::uint8_t* open, std::size_t count) noexcept {
    round_some(step, variates, numbers, open, count);
}

template <class Real>
class NoiseAdder {
public:
    NoiseAdder(NoiseLaw law, const ChaChaStream& stream, const NoiseLattice& lattice) noexcept
        : law_(law), stream_(stream), lattice_(lattice), step_(lattice) {}

    // Adds noise to up to kChunk numbers, from the words of the groups from `first` on.
    Undecided add(std::uint64_t first, Real* numbers, std::size_t count) const {
        alignas(64) std::uint32_t words[kChunk];
        alignas(64) std::uint8_t open[kChunk];
        Variates variates;
        chacha20_groups(stream_, first, kGroups, words);
        law_ == NoiseLaw::gaussian ? gaussian_variates(words, variates) : laplace_variates(words, variates);
        round_chunk(step_, variates, numbers, open, count);
        Undecided undecided;
        for (std::size_t i = 0; const void* at = std::memchr(open + i, 1, count - i); ++i) {
            i = static_cast<std::size_t>(static_cast<const std::uint8_t*>(at) - open);
            round_one(first, words, i, numbers[i], undecided);
        }
        return undecided;
    }

private:
    void round_one(std::uint64_t first, const std::uint32_t* words, std::size_t i, Real& number,
                   Undecided& undecided) const {
        if (!std::isfinite(number)) return;
        const Real scaled = number * step_.inverse, n = std::rint(scaled);
        const bool overflows = !std::isfinite(scaled);  // then the number is a multiple of the spacing
        LatticeSum sum{0.0, 0, lattice_.ratio};
        if (n == 0) {  // where `scaled` may have underflowed
            sum.fraction = static_cast<double>(number), sum.exponent = -lattice_.log_spacing;
        } else if (!overflows) {
            sum.fraction = static_cast<double>(scaled - n);
        }
        const bool gaussian = law_ == NoiseLaw::gaussian;
        const std::size_t place = gaussian ? i % kPairs : i;
        const FirstBits bits{law_, words[place], gaussian ? words[kPairs + place] : 0, gaussian && i >= kPairs};
        // No two pairs of a stream have the same first word. The stream's own nonce is not among them.
        FewWords more({stream_.key, stream_.nonce ^ (first * kGroupWords + place + 1)});
        const Rounded rounded = round_exactly(bits, sum, more);
        ++undecided.by_first_words, undecided.by_double_precision += rounded.by_fixed_point;
        const auto k = static_cast<Real>(rounded.nearest);
        number = overflows ? number + k * step_.spacing : (n + k) * step_.spacing;
    }

    NoiseLaw law_;
    ChaChaStream stream_;
    NoiseLattice lattice_;
    Step<Real> step_;
};

}  // namespace

NoiseLattice::NoiseLattice(double scale, int resolution) noexcept
    : log_spacing(std::ilogb(scale) - resolution),
      spacing(std::ldexp(1.0, log_spacing)),
      ratio(std::ldexp(scale, -log_spacing)) {}

std::uint64_t noise_groups(std::size_t count) noexcept { return (count + kChunk - 1) / kChunk * kGroups; }

template <class Real>
Undecided add_noise(NoiseLaw law, const ChaChaStream& stream, std::uint64_t first, const NoiseLattice& lattice,
                    Real* numbers, std::size_t count, int threads) {
    const NoiseAdder<Real> adder(law, stream, lattice);
    const auto useful = static_cast<int>(std::min<std::size_t>(count / kLeastPerThread + 1, 1 << 16));
    std::atomic<std::uint64_t> by_first_words{0}, by_double_precision{0};
    parallel_for((count + kChunk - 1) / kChunk, std::min(threads, useful), [&](std::size_t begin, std::size_t end) {
        const IeeeMode mode;
        for (std::size_t c = begin; c < end; ++c) {
            const std::size_t at = c * kChunk;
            const Undecided undecided = adder.add(first + c * kGroups, numbers + at, std::min(kChunk, count - at));
            by_first_words += undecided.by_first_words, by_double_precision += undecided.by_double_precision;
        }
    });
    return {by_first_words, by_double_precision};
}

template Undecided add_noise(NoiseLaw, const ChaChaStream&, std::uint64_t, const NoiseLattice&, float*, std::size_t,
                             int);
template Undecided add_noise(NoiseLaw, const ChaChaStream&, std::uint64_t, const NoiseLattice&, double*, std::size_t,
                             int);

}  // namespace renyi
