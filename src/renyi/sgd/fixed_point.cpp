#include "renyi/sgd/fixed_point.hpp"

namespace renyi {

namespace {

Natural power_of_two(std::size_t exponent) { return Natural(1).times_power_of_two(exponent); }

}  // namespace

Natural FixedPoint::from(const Natural& integer, std::size_t fraction_bits) const {
    return fraction_bits <= bits_ ? integer.times_power_of_two(bits_ - fraction_bits)
                                  : integer.divided_by_power_of_two(fraction_bits - bits_);
}

// sum 2^-n / n: one unit is lost at most in each of `bits` terms, and half a unit in all that follow.
Natural FixedPoint::log_two() const {
    Natural sum, power = power_of_two(bits_);
    for (std::uint32_t n = 1; !power.is_zero(); ++n) {
        power = power.divided_by_power_of_two(1);
        sum = sum + power.divided_by(n);
    }
    return sum;
}

// a = 2^l m, 1/2 <= m < 1: -log = (a_bits - l) log 2 + sum (1 - m)^n / n. With 1 - m <= 1/2 a power is less than 2
// units too small, its term less than 3, and the terms vanish after `bits`; those left out are below 1 unit together.
// So everything computed is too small, by less than 3 bits + 2 + (a_bits - l) (bits + 1).
Enclosure FixedPoint::minus_log(const Natural& a, std::size_t a_bits) const {
    const std::size_t length = a.bits();
    if (length > a_bits) return {};                           // of 1
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
// bits/4 terms, and what is left out is below 1 unit.
Natural FixedPoint::arctangent(std::uint32_t n) const {
    Natural plus, minus, power = power_of_two(bits_).divided_by(n);
    for (std::uint32_t i = 0; !power.is_zero(); ++i, power = power.divided_by(n * n))
        (i % 2 != 0 ? minus : plus) = (i % 2 != 0 ? minus : plus) + power.divided_by(2 * i + 1);
    return plus - minus;
}

// Machin: pi/2 = 8 arctan(1/5) - 2 arctan(1/239). Error below 10 (3 bits/4 + 4) <= 20 bits for bits >= 8.
Natural FixedPoint::half_pi() const { return arctangent(5) * Natural(8) - arctangent(239) * Natural(2); }

// t <= 0.8 is within 20 bits + 1 units, so are cosine and sine by it. Taylor's terms t^n/n! from one another are too
// small by e_n <= (0.8 e_(n-1) + 1)/n + 1 < 3 units, there are fewer than `bits`, and what is left out is below 1 unit:
// 3 bits + 1 more.
FixedPoint::Circle FixedPoint::circle(const Natural& x) const {
    const Natural t = times(half_pi(), x);
    Natural even_plus, even_minus, odd_plus, odd_minus, term = power_of_two(bits_);
    for (std::uint32_t n = 0; !term.is_zero(); ++n, term = times(term, t).divided_by(n)) {
        Natural& sum = n % 4 == 0 ? even_plus : n % 4 == 1 ? odd_plus : n % 4 == 2 ? even_minus : odd_minus;
        sum = sum + term;
    }
    return {even_plus - even_minus, odd_plus - odd_minus, Natural(24 * bits_ + 4)};
}

}  // namespace renyi
