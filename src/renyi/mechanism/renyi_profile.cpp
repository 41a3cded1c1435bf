// log delta as a function of eps is the infimum of one line for each order, of slope -(a-1): concave, between its
// tangents and its chords. Intervals of orders are halved while these are apart, and filled with points where delta
// falls, so that the chords of the profile lose little.
#include <algorithm>
#include <cmath>

#include "renyi/mechanism/polygon_segment.hpp"
#include "renyi/mechanism/privacy_profile.hpp"
#include "renyi/mechanism/renyi_curve.hpp"
#include "renyi/special/elementary.hpp"

namespace renyi {

namespace {

constexpr double kSmallestDistance = 1e-5;  // of orders from 1
constexpr double kStep = 0.25;              // of log(order - 1)
constexpr double kGap = 1e-4;               // of log delta, between tangents and chord
constexpr double kFall = 0.01;              // of log delta, from point to point
constexpr double kLastEpsilon = 11.6;       // log(a/(a-1)) at the smallest distance
constexpr int kHalvings = 12;

// One order: its line of log delta, and where it touches the infimum.
struct Touch {
    double t, k, epsilon;  // t = a - 1, k = K(a) rounded up

    // All parts of the fall have one sign; k, the parts and their sum are right to 16u of them.
    double log_delta(double eps) const noexcept {
        const double fall = t * eps + t * lane_log1p(1.0 / t) + lane_log1p(t);
        return (k - fall) + 16.0 * kUnitRoundoff * (k + fall);
    }
};

class Follower {
public:
    Follower(const RenyiCurve& curve, double least)
        : curve_(curve), last_(std::min(curve.largest_order(), kLastOrder)), log_least_(lane_log(least)) {}

    std::vector<ProfilePoint> points() {
        ends();
        if (last_ > 1.0) orders();
        points_.push_back({0.0, at_zero_});
        return std::move(points_);
    }

private:
    // By the largest loss and the Kullback-Leibler divergence.
    void ends() {
        const double most = curve_.largest_loss(), kullback = upper(curve_.divergence(1.0));
        if (most < 40.0) {
            const double high = lane_expm1(most);
            at_zero_ = std::min(at_zero_, high / (high + 2.0) * (1.0 + 0x1p-48));
            points_.push_back(profile_point(most, 0.0));
        }
        if (kullback < 700.0) at_zero_ = std::min(at_zero_, std::sqrt(-lane_expm1(-kullback)) * (1.0 + 0x1p-48));
    }

    void orders() {
        const double end = lane_log(last_ - 1.0);
        double s = lane_log(kSmallestDistance);
        if (s < end) {
            for (Touch left = touch(s); s < end;) {
                const double next = std::min(s + kStep, end);
                const Touch right = touch(next);
                between(s, left, next, right, kHalvings);
                s = next, left = right;
            }
        }
        const Touch final = touch(end);  // every larger epsilon is its own
        fill(final, final, std::max(final.epsilon, 0.0), kLastEpsilon);
    }

    Touch touch(double s) {
        const double order = std::min(1.0 + lane_exp(s), last_);
        const LogMoment m = curve_.log_moment(order);
        const Touch found{order - 1.0, upper(m.value), m.first + lane_log((order - 1.0) / order)};
        at_zero_ = std::min(at_zero_, delta_of(found.log_delta(0.0)));
        return found;
    }

    void between(double low, const Touch& left, double high, const Touch& right, int halvings) {
        if (!(right.epsilon > 0.0) || left.epsilon > kLastEpsilon || left.log_delta(left.epsilon) < log_least_) return;
        if (halvings > 0 && gap(left, right) > kGap) {
            const double middle = 0.5 * (low + high);
            const Touch half = touch(middle);
            between(low, left, middle, half, halvings - 1);
            between(middle, half, high, right, halvings - 1);
        } else {
            fill(left, right, std::max(left.epsilon, 0.0), std::min(right.epsilon, kLastEpsilon));
        }
    }

    // Between the tangents, where they cross, and the chord.
    static double gap(const Touch& a, const Touch& b) noexcept {
        const double from = a.log_delta(a.epsilon), to = b.log_delta(b.epsilon);
        const double width = b.epsilon - a.epsilon, turn = b.t - a.t;
        if (!(width > 0.0) || !(turn > 0.0)) return 0.0;
        const double before = std::clamp((b.log_delta(a.epsilon) - from) / turn, 0.0, width);
        return before * ((from - to) / width - a.t);
    }

    void fill(const Touch& a, const Touch& b, double from, double to) {
        const auto log_delta = [&](double eps) { return std::min(a.log_delta(eps), b.log_delta(eps)); };
        for (double eps = from; eps < to && log_delta(eps) > log_least_; eps += kFall / b.t) add(eps, log_delta(eps));
        add(to, log_delta(to));
    }

    void add(double epsilon, double log_delta) { points_.push_back(profile_point(epsilon, delta_of(log_delta))); }

    static double delta_of(double log_delta) noexcept {
        return log_delta < 0.0 ? std::max(lane_exp(std::max(log_delta, -700.0)) * (1.0 + 0x1p-48), 0x1p-1000) : 1.0;
    }

    const RenyiCurve& curve_;
    double last_, log_least_, at_zero_ = 1.0;
    std::vector<ProfilePoint> points_;
};

}  // namespace

std::vector<ProfilePoint> renyi_profile(const RenyiCurve& curve, double least) {
    return Follower(curve, least).points();
}

}  // namespace renyi
