#include "renyi/sgd/exact_rounding.hpp"

#include <cmath>
#include <utility>

#include "renyi/sgd/fixed_point.hpp"
#include "renyi/special/elementary.hpp"

namespace renyi {

namespace {

// What the bits of the uniform numbers say about the sign of a number, and of which function of the angle it is.
struct Branch {
    bool negative, sine;
    int radial_bits;  // of the first word
    std::uint32_t radial;
};

// Turned and mirrored as by point_of: two leading bits of the angle, and the sign of the rest where it is a sine.
Branch branch_of(const FirstBits& first) noexcept {
    if (first.law == NoiseLaw::laplace) return {first.radial >> 31 != 0, false, 31, first.radial & 0x7fffffffu};
    const bool mirrored = first.angular >> 31 != 0, swapped = (first.angular >> 30 & 1) != 0;
    const bool sine = first.sine != swapped;
    return {sine ? (first.angular >> 29 & 1) != 0 : mirrored, sine, 32, first.radial};
}

class MoreBits {  // alternately for the radius and the angle, in the order of the stream
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

// -log of the middle of the cell, to 8u: v in two roundings or less, its half-cell below 2^-55 of it as v >= 2^-40,
// 1.45 times that in the logarithm, and lane_log and lane_log1p within 3u. NaN for smaller v.
double double_exponential(std::uint32_t high, int bits, std::uint64_t low) noexcept {
    const bool flipped = (high >> (bits - 1)) != 0;
    const std::uint64_t mask = std::uint64_t{0} - static_cast<std::uint64_t>(flipped);
    const std::uint64_t top = (high ^ mask) & ((std::uint64_t{1} << bits) - 1);
    const double v = std::ldexp(static_cast<double>(top) + static_cast<double>(low ^ mask) * 0x1p-64, -bits);
    if (v < 0x1p-40) return std::nan("");
    return flipped ? -lane_log1p(-v) : -lane_log(v);
}

// Cosine or magnitude of the sine of the middle of the cell, half of which is below 2^-61: within 4u. Of the rest of
// the angle 30 bits are in the first word and 64 in the next, all of them one number in two's complement.
double double_circle(std::uint32_t word, std::uint64_t low, bool sine) noexcept {
    const auto r = static_cast<double>(static_cast<std::int32_t>(word << 2));
    const double t = (r + (static_cast<double>(low >> 32) + 0.5) * 0x1p-30) * 0x1.921fb54442d18p-32;  // pi/2 2^-32
    const double z = t * t, z2 = z * z, z4 = z2 * z2;
    const double s = ((-1.0 / 6 + z * (1.0 / 120)) + z2 * (-1.0 / 5040 + z * (1.0 / 362880))) +
                     z4 * ((-1.0 / 39916800 + z * (1.0 / 6227020800.0)) +
                           z2 * (-1.0 / 1307674368000.0 + z * (1.0 / 355687428096000.0)));
    const double c = ((1.0 / 24 + z * (-1.0 / 720)) + z2 * (1.0 / 40320 + z * (-1.0 / 3628800))) +
                     z4 * ((1.0 / 479001600 + z * (-1.0 / 87178291200.0)) +
                           z2 * (1.0 / 20922789888000.0 + z * (-1.0 / 6402373705728000.0)));
    return sine ? std::fabs(t + t * z * s) : 1.0 + (z2 * c - 0.5 * z);
}

// Whether double precision decides, and for what. The magnitude of X is off by at most (8u/2 + 4u + 2u) R < 10u R, or
// 8u E; multiplied and added, y by 12u ratio R + u |y|, |y| <= ratio R + 1/2: below 2^-48 (ratio R + 1) together.
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

// |X| of unit scale. bits is that of the fixed-point numbers.
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

// fraction + 1/2 + 2^60 + sign ratio X, rounded down, if both ends of X agree. What ratio X must not reach is 2^60:
// bits that would lead there are all 0 for longer than 2^80.
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

}  // namespace renyi
