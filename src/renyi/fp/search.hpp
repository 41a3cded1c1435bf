// Searches on an interval: for the point where a predicate changes, for a zero, for a minimum.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <initializer_list>

namespace renyi {

struct Interval {
    double low, high;
};

// Halves [low, high] until it is no wider than `width` or its ends are neighbouring doubles, at most `halvings` times.
// If `is_beyond` is false at low and true at high, the same holds for the result; where it changes once, the result
// encloses that point.
Interval bisect(double low, double high, double width, auto is_beyond, int halvings = 2200) noexcept {
    while (halvings-- > 0 && high - low > width) {
        const double middle = 0.5 * (low + high);
        if (!(low < middle && middle < high)) break;
        (is_beyond(middle) ? high : low) = middle;
    }
    return {low, high};
}

// The same by geometric means, until high is at most `ratio` times low; 0 < low. The product of the ends may overflow.
Interval bisect_ratio(double low, double high, double ratio, auto is_beyond, int halvings = 2200) noexcept {
    while (halvings-- > 0 && low > 0.0 && high > ratio * low) {
        const double middle = std::sqrt(low) * std::sqrt(high);
        (is_beyond(middle) ? high : low) = middle;
    }
    return {low, high};
}

// Bisects 0 <= low < high down to neighbouring doubles, in 63 halvings at most: it halves the bit patterns, which have
// the same order as the doubles.
Interval bisect_bits(double low, double high, auto is_beyond) noexcept {
    auto below = std::bit_cast<std::uint64_t>(low), above = std::bit_cast<std::uint64_t>(high);
    while (above - below > 1) {
        const std::uint64_t middle = below + (above - below) / 2;
        (is_beyond(std::bit_cast<double>(middle)) ? above : below) = middle;
    }
    return {std::bit_cast<double>(below), std::bit_cast<double>(above)};
}

// Two points around a zero, and the next point by false position: the value at an end that does not move is halved
// (Illinois), so that neither end stays for long.
struct FalsePosition {
    double low, high, at_low, at_high;

    // The zero of the line through both points, as a fraction of the way from low to high.
    double part() const noexcept { return at_low / (at_low - at_high); }
    double width() const noexcept { return high - low; }

    void move_low(double x, double at) noexcept {
        low = x;
        at_low = at;
        at_high *= 0.5;
    }
    void move_high(double x, double at) noexcept {
        high = x;
        at_high = at;
        at_low *= 0.5;
    }
};

struct Least {
    double place, value;
};

// Returns the minimum of a function with one minimum in [low, high], its place to `tolerance`. Where the function is
// NaN or infinite, the minimum is assumed to lie below.
Least golden_section(double low, double high, double tolerance, auto function) noexcept {
    constexpr double kGolden = 0.6180339887498949;  // (sqrt(5) - 1)/2
    double left = high - kGolden * (high - low), right = low + kGolden * (high - low);
    double at_left = function(left), at_right = function(right);
    while (high - low > tolerance) {
        if (at_left > at_right) {
            low = left;
            left = right;
            at_left = at_right;
            at_right = function(right = low + kGolden * (high - low));
        } else {
            high = right;
            right = left;
            at_right = at_left;
            at_left = function(left = high - kGolden * (high - low));
        }
    }
    return at_right < at_left ? Least{right, at_right} : Least{left, at_left};
}

// Goes from `start` by the first factor as long as the value falls and the place lies in [low, high], at most `steps`
// times; by the second factor where the first one does not help at once.
Least descend(double start, double first, double second, double low, double high, int steps, auto function) noexcept {
    Least best{start, function(start)};
    for (const double factor : {first, second}) {
        double next = start * factor;
        for (int step = 0; step < steps && next >= low && next <= high; ++step, next *= factor) {
            const double here = function(next);
            if (!(here < best.value)) break;
            best = {next, here};
        }
        if (best.place != start) break;
    }
    return best;
}

}  // namespace renyi
