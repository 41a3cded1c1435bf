// Logarithm, square root, sine and cosine of fixed-point numbers of any length, with bounds: for the rare cases that a
// machine word cannot decide, so schoolbook series throughout.
//
// With b fraction bits a Natural n stands for n 2^-b; an error is counted in units of 2^-b. Every product and quotient
// is rounded down, by less than one unit.
#pragma once

#include <cstddef>
#include <cstdint>

#include "renyi/sgd/natural.hpp"

namespace renyi {

struct Enclosure {
    Natural lower, upper;
};

class FixedPoint {
public:
    explicit FixedPoint(std::size_t bits) : bits_(bits) {}

    Natural from(const Natural& integer, std::size_t fraction_bits) const;  // integer 2^-fraction_bits, rounded down
    Natural times(const Natural& a, const Natural& b) const { return (a * b).divided_by_power_of_two(bits_); }

    Enclosure minus_log(const Natural& a,
                        std::size_t a_bits) const;  // of a 2^-a_bits, 0 < a <= 2^a_bits, a_bits <= bits
    Natural root_below(const Natural& x) const;     // of x, by less than one unit

    struct Circle {
        Natural cosine, sine;
        Natural error;  // of either
    };
    Circle circle(const Natural& x) const;  // of the angle pi/2 x, x at most 1/2 and one unit

private:
    Natural log_two() const;                    // up to bits units too small
    Natural half_pi() const;                    // within 20 bits units
    Natural arctangent(std::uint32_t n) const;  // of 1/n

    std::size_t bits_;
};

}  // namespace renyi
