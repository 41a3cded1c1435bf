// Two points around a zero, and the next point by false position: an end that stays put counts half (Illinois), so that
// neither stays for long.
#pragma once

namespace renyi {

struct FalsePosition {
    double low, high, at_low, at_high;

    // Where the line through both has its zero, as a part of the way from low to high.
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

}  // namespace renyi
