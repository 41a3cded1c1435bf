// Cells for sums of likelihood ratios: narrow around the median, of constant relative width far from it.
#pragma once

#include <algorithm>
#include <vector>

#include "renyi/fp/certified.hpp"

namespace renyi {

struct RatioPoint {
    double sum, mass;  // of ratios; under Q
};

constexpr double kSameSum = 1e-13;  // sums that differ by so little, relatively, are one

// Cells around the median of these points, for sums from low to high.
class RatioCells {
public:
    RatioCells(const std::vector<RatioPoint>& points, double low, double high);

    double width(double sum) const noexcept;

    // From the lowest sum to the highest one.
    std::vector<double> edges() const;

private:
    double low_, high_, middle_, below_, above_, far_, share_, least_sum_;
};

// What a cell holds: its mass, that times the sums, and between which sums it lies.
struct RatioCell {
    double mass = 0.0, moment = 0.0, low = kInfinity, high = 0.0;

    void add(const RatioCell& other) noexcept {
        mass += other.mass;
        moment += other.moment;
        low = std::min(low, other.low);
        high = std::max(high, other.high);
    }
    void add(double sum, double at) noexcept { add({at, at * sum, sum, sum}); }
};

// All sums of a point of each, points by their sums, in the cells between the edges.
std::vector<RatioCell> sums_of(const std::vector<RatioPoint>& a, const std::vector<RatioPoint>& b,
                               const std::vector<double>& edges);

// Few points of about the same law.
std::vector<RatioPoint> outline(const std::vector<RatioPoint>& points);

}  // namespace renyi
