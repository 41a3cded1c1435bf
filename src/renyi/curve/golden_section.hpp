// The least value that a function with one minimum takes over t in [low, high], on the logarithm of t. Where it is no
// number or infinite the minimum is taken to lie below.
#pragma once

#include <algorithm>
#include <cmath>

namespace renyi {

double golden_section(double first, double last, int turns, auto function) noexcept {
    constexpr double kGolden = 0.6180339887498949;
    double low = std::log(first), high = std::log(last);
    double left = high - kGolden * (high - low), right = low + kGolden * (high - low);
    double at_left = function(std::exp(left)), at_right = function(std::exp(right));
    for (int turn = 0; turn < turns; ++turn) {
        if (at_left > at_right) {
            low = left;
            left = right;
            at_left = at_right;
            at_right = function(std::exp(right = low + kGolden * (high - low)));
        } else {
            high = right;
            right = left;
            at_right = at_left;
            at_left = function(std::exp(left = high - kGolden * (high - low)));
        }
    }
    return std::fmin(at_left, at_right);
}

}  // namespace renyi
