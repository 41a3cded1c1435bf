// Where a function with one minimum is least in [low, high], to `tolerance`, and what it is there. Where it is no number
// or infinite the minimum is taken to lie below.
#pragma once

namespace renyi {

struct Least {
    double place, value;
};

Least golden_section(double low, double high, double tolerance, auto function) noexcept {
    constexpr double kGolden = 0.6180339887498949;
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

}  // namespace renyi
