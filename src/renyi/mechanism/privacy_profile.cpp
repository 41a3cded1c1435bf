#include "renyi/mechanism/privacy_profile.hpp"

#include <algorithm>
#include <cmath>

#include "renyi/fp/certified.hpp"
#include "renyi/special/elementary.hpp"

namespace renyi {

namespace {

double slope(const ProfilePoint& a, const ProfilePoint& b) noexcept {
    return (b.delta - a.delta) / (b.excess - a.excess);
}

}  // namespace

ProfilePoint profile_point(double epsilon, double delta) noexcept {
    return {epsilon < 700.0 ? lane_expm1(epsilon) * (1.0 + 0x1p-48) : kInfinity, delta};  // expm1 to 6u
}

// Andrew's monotone chain. Any subset of the points gives a bound, so that rounding of slopes does no harm.
PrivacyProfile::PrivacyProfile(std::vector<ProfilePoint> points) : corners_{{0.0, 1.0}} {
    std::sort(points.begin(), points.end(), [](const ProfilePoint& a, const ProfilePoint& b) {
        return a.excess != b.excess ? a.excess < b.excess : a.delta < b.delta;
    });
    for (const ProfilePoint& point : points) {
        if (!(point.excess < kInfinity) || !(point.delta < corners_.back().delta)) continue;
        if (point.excess == 0.0) {
            corners_.back() = point;
            continue;
        }
        while (corners_.size() > 1 && slope(corners_.back(), point) <= slope(*(corners_.end() - 2), corners_.back()))
            corners_.pop_back();
        corners_.push_back(point);
    }
}

// The weights of the chord are right to 3u, products and sum to 2u more.
PrivacyProfile::Value PrivacyProfile::at(double excess) const noexcept {
    const auto right = std::upper_bound(corners_.begin(), corners_.end(), excess,
                                        [](double x, const ProfilePoint& p) { return x < p.excess; });
    if (right == corners_.end()) return {corners_.back().delta, 0.0};
    const ProfilePoint &a = *(right - 1), &b = *right;
    const double width = b.excess - a.excess;
    const double chord = a.delta * ((b.excess - excess) / width) + b.delta * ((excess - a.excess) / width);
    return {std::fmin(chord * (1.0 + 8.0 * kUnitRoundoff), a.delta), slope(a, b)};
}

}  // namespace renyi
