// The Rényi curve of the best of several runs, and the privacy profile of one run that it needs.
#include "renyi/transform/renyi_curves.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "renyi/fp/certified.hpp"
#include "renyi/fp/search.hpp"
#include "renyi/special/elementary.hpp"
#include "renyi/special/elementary_dd.hpp"

namespace renyi {

Corner profile_point(double epsilon, double delta) noexcept {
    return {epsilon < 700.0 ? lane_expm1(epsilon) * raised(30) : kInfinity, delta};  // expm1 to 6u
}

namespace {

// Upper bounds of the privacy profile of a pair (P, Q), delta(eps) = sup_S P(S) - e^eps Q(S) at eps >= 0: the lower
// convex hull of points (e^eps - 1, delta), and the delta of the last one beyond it.
//
// delta is convex in e^eps, a supremum of functions linear in it, so it lies below every chord between two of its upper
// bounds. It also falls. Points may be given in any order; without a point at 0, delta is 1 there.
class PrivacyProfile {
public:
    // Any subset of the points gives a bound, so that rounding of slopes does no harm.
    explicit PrivacyProfile(std::vector<Corner> points) : corners_{{0.0, 1.0}} {
        std::sort(points.begin(), points.end());
        for (const Corner& point : points) {
            if (!(point.x < kInfinity) || !(point.y < corners_.back().y)) continue;
            if (point.x == 0.0) {
                corners_.back() = point;
            } else {
                add_to_hull(corners_, point);
            }
        }
    }

    struct Value {
        double delta, slope;  // rounded up; d delta/d excess to the right, <= 0
    };
    // The weights of the chord have errors of 3u, products and sum add 2u.
    Value at(double excess) const noexcept {
        const auto right = std::upper_bound(corners_.begin(), corners_.end(), excess,
                                            [](double x, const Corner& p) { return x < p.x; });
        if (right == corners_.end()) return {corners_.back().y, 0.0};
        const Corner &a = *(right - 1), &b = *right;
        return {std::fmin(chord(a, b, excess) * (1.0 + 8.0 * kUnitRoundoff), a.y), slope_of(a, b)};
    }

private:
    std::vector<Corner> corners_;  // ascending in excess, the first at 0, descending in delta
};

}  // namespace

// The bounds that a Renyi curve K gives of the profile of its pairs, in both of their orders, until delta is below
// `least` or eps is beyond what any order asks for. At eps = 0: 1; sqrt(1 - e^{-D_1}) (Bretagnolle, Huber). At every
// eps and for every order a > 1, e^{K(a) - (a-1) eps} (1 - 1/a)^{a-1}/a (Canonne, Kamath, Steinke 2020, Prop. 12),
// which is least where eps = K'(a) + log(1 - 1/a). With the largest loss m, the line from (e^m - 1)/(e^m + 1) at 0 to 0
// at m. Orders are found by a search, and any order gives a bound.
//
// log delta as a function of eps is the infimum of one line for each order, of slope -(a-1): concave, between its
// tangents and its chords. Intervals of orders are halved while these are apart, and filled with points where delta
// falls, so that the chords of the profile lose little.

namespace {

constexpr double kSmallestDistance = 1e-5;  // of orders from 1
constexpr double kStep = 0.25;              // first step of log(order - 1)
constexpr double kGap = 1e-4;               // gap of log delta between tangents and chord that is not halved
constexpr double kFall = 0.01;              // fall of log delta from point to point
constexpr double kLastEpsilon = 11.6;       // log(a/(a-1)) at the smallest distance
constexpr int kHalvings = 12;

// One order: its line of log delta, and where it touches the infimum.
struct Touch {
    double t, k, epsilon;  // t = a - 1, k = K(a) rounded up

    // All parts of the fall have one sign; k, the parts and their sum have errors of 16u of them.
    double log_delta(double eps) const noexcept {
        const double fall = t * eps + t * lane_log1p(1.0 / t) + lane_log1p(t);
        return (k - fall) + 16.0 * kUnitRoundoff * (k + fall);
    }
};

class Follower {
public:
    Follower(const RenyiCurve& curve, double least)
        : curve_(curve), last_(std::min(curve.largest_order(), kLastOrder)), log_least_(lane_log(least)) {}

    std::vector<Corner> points() {
        ends();
        if (last_ > 1.0) orders();
        points_.push_back({0.0, at_zero_});
        return std::move(points_);
    }

private:
    // Adds the points that the largest loss and the Kullback-Leibler divergence give.
    void ends() {
        const double most = curve_.largest_loss(), kullback = upper(curve_.divergence(1.0));
        if (most < 40.0) {
            const double high = lane_expm1(most);
            at_zero_ = std::min(at_zero_, high / (high + 2.0) * raised(30));
            points_.push_back(profile_point(most, 0.0));
        }
        if (kullback < 700.0) at_zero_ = std::min(at_zero_, std::sqrt(-lane_expm1(-kullback)) * raised(30));
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

    // The gap between the tangents, where they cross, and the chord.
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
        return log_delta < 0.0 ? std::max(lane_exp(std::max(log_delta, -700.0)) * raised(30), 0x1p-1000) : 1.0;
    }

    const RenyiCurve& curve_;
    double last_, log_least_, at_zero_ = 1.0;
    std::vector<Corner> points_;
};

constexpr double kUp = raised(30);
constexpr double kInvisible = 1e-7;  // negligible share of a divergence

double log_expm1(double t) noexcept { return t < 1.0 ? lane_log(lane_expm1(t)) : t + lane_log1p(-lane_exp(-t)); }

// log E[N] at x = log(1/gamma) > 0.
double log_mean_runs(double x, double shape) noexcept {
    const double size = std::fabs(shape) * x;
    if (size < 1e-290) return log_expm1(x) - lane_log(x);
    const double rest = shape > 0.0 ? log_expm1(size) - size : log_expm1(size);
    return lane_log(std::fabs(shape)) + log_expm1(x) - rest;
}

}  // namespace

// The mean rises with x, and its logarithm has an error of 16u of its parts.
Interval log_inverse_gamma(double mean, double shape) noexcept {
    if (mean == 1.0) return {0.0, 0.0};
    const double wanted = lane_log(mean);
    const auto enough = [&](double log_x, double side) {
        const double x = lane_exp(log_x), parts = 2.0 + x * (2.0 + std::fabs(shape)) + std::fabs(log_x);
        return log_mean_runs(x, shape) >= wanted + side * 16.0 * kUnitRoundoff * (parts + wanted);
    };
    double most = 0.0;
    while (!enough(most, 1.0) && most < 700.0) most += 1.0;
    const double high = bisect(-700.0, most, 0.0, [&](double log_x) { return enough(log_x, 1.0); }, 64).high;
    const double low = bisect(-700.0, most, 0.0, [&](double log_x) { return enough(log_x, -1.0); }, 64).low;
    return {lane_exp(low) * lowered(30), lane_exp(high) * kUp};
}

namespace {

// The known points and those that the Renyi curve gives. K'/(alpha-1) is at least D_1 of the base, so a delta far below
// D_1/mean has no effect.
std::vector<Corner> joined(std::vector<Corner> known, const RenyiCurve& base, double mean) {
    const double least = kInvisible * std::min(upper(base.divergence(1.0)), 1.0) / std::max(mean, 1.0);
    const std::vector<Corner> found = Follower(base, std::max(least, 0x1p-1000)).points();
    known.insert(known.end(), found.begin(), found.end());
    return known;
}

// The order at which a function turns from false to true, to 1e-4 of log(order - 1), or the end of the range. This is
// enough, since the function that is minimised there is flat.
template <class Function>
double crossing(double largest, Function rises) noexcept {
    const double low = lane_log(kSmallestDistance), high = lane_log(std::max(largest - 1.0, kSmallestDistance));
    const Interval found = bisect(low, high, 1e-4, [&](double x) { return rises(1.0 + lane_exp(x)); });
    return std::min(1.0 + lane_exp(found.high), largest);
}

class RepeatAndSelectCurve final : public CurveOfBase {
public:
    // `known`: points of the profile of the base, for shape = infinity; `log_ratio`: log R, for shape = -n.
    RepeatAndSelectCurve(CurvePointer base, double mean, double shape, std::vector<Corner> known = {},
                         double log_ratio = 0.0)
        : CurveOfBase(std::move(base)),
          mean_(mean),
          log_mean_(mean > 0.0 ? log_of(scaled(mean)) : -kInfinity),
          poisson_(shape == kInfinity),
          binomial_(shape <= -1.0),
          profile_(poisson_ ? joined(std::move(known), *base_, mean) : std::move(known)) {
        largest_order_ = base_->largest_order();
        const double most = base_->largest_loss();
        if (poisson_) {
            largest_loss_ = (most + mean * profile_.at(0.0).delta) * kUp;
        } else if (binomial_) {
            cost_ = log_ratio;
            largest_loss_ = (most + cost_) * kUp;
        } else {
            if (mean > 1.0) cost_ = selection_cost(log_inverse_gamma(mean, shape).high, shape);
            largest_loss_ = cost_ == 0.0 ? most : (most + cost_) * kUp;
        }
        find_flat_part();
    }

    LogMoment log_moment(double alpha) const noexcept override {
        if (alpha > largest_order_) return {{kInfinity, 0.0}, kInfinity, 0.0};
        if (alpha >= flat_until_ && (alpha > 1.0 || flat_divergence_ == 0.0)) return cut(alpha, formula(alpha));
        const double flat = std::min(flat_divergence_, largest_loss_);
        const double value = alpha > 1.0 ? (alpha - 1.0) * flat : 0.0;
        return {{value, value == 0.0 ? 0.0 : 2.0 * kUnitRoundoff}, flat, 0.0};
    }

private:
    // The constant C. (K + x)/l falls while l K' < K + x.
    double selection_cost(double x, double shape) const noexcept {
        const double last = std::min(largest_order_, kLastOrder);
        const auto rises = [&](double l) {
            const LogMoment m = base_->log_moment(l);
            return l * m.first >= m.value.value + x;
        };
        const double l = crossing(last, rises);
        const double inside = (upper(base_->log_moment(l).value) + x) / l;
        const double least = std::min({x, inside, base_->largest_loss()});
        return (1.0 + shape) * least * kUp;
    }
    // All terms are >= 0. C was rounded up, log E[N] has an error of 3u.
    LogMoment negative_binomial(double alpha) const noexcept {
        const LogMoment m = base_->log_moment(alpha);
        if (mean_ == 1.0) return m;
        const double value = m.value.value + (alpha - 1.0) * cost_ + log_mean_;
        return {{value, m.value.relative_error + 6.0 * kUnitRoundoff}, m.first + cost_, m.second};
    }
    // Poisson and binomial numbers of runs: there may be none.
    // (alpha-1) delta at e^eps - 1 = 1/(alpha-1) is the perspective of a convex function, and convex itself. The hull
    // is piecewise linear and adds no second derivative.
    LogMoment perhaps_none(double alpha) const noexcept {
        const LogMoment m = base_->log_moment(alpha);
        const double beta = alpha - 1.0, x = 1.0 / beta * lowered(6);
        const auto [delta, slope] = profile_.at(x);
        const double charge = binomial_ ? cost_ : mean_ * delta;
        const double u = m.value.value + beta * charge, error = m.value.relative_error + 6.0 * kUnitRoundoff;
        const double first = m.first + charge - (binomial_ || slope >= 0.0 ? 0.0 : mean_ * x * slope);
        if (poisson_ && mean_ >= 1.0) return {{u + log_mean_, error}, first, m.second};
        if (!(u < 0x1p20)) return {{u + std::max(log_mean_, 0.0), error}, first, m.second};
        Excess excess;  // e^-m + m e^u - 1 = (e^-m - 1 + m) + m (e^u - 1)
        excess.add(scaled(std::max(phi_of(reduce_exp(-mean_)), 0x1p-1000)), 16.0 * kUnitRoundoff);
        if (u > 0.0) excess.add(scaled(mean_) * scaled_expm1({u, 0.0}), log_error({u, error}));
        const double share = mean_ / (mean_ + lane_exp(-mean_ - u));
        return {excess.log_moment(16.0 * kUnitRoundoff), share * first,
                share * (m.second + (1.0 - share) * first * first)};
    }
    LogMoment formula(double alpha) const noexcept {
        return poisson_ || binomial_ ? perhaps_none(alpha) : negative_binomial(alpha);
    }
    // The order at which K'/(alpha-1) is least, by a scan and golden sections on log(alpha-1).
    void find_flat_part() noexcept {
        if (!poisson_ && !binomial_ && mean_ == 1.0) return;
        const double last = std::min(largest_order_, kLastOrder);
        const auto divergence = [&](double s) {
            const double alpha = std::min(1.0 + lane_exp(s), last);
            return alpha > 1.0 ? upper(formula(alpha).value) / (alpha - 1.0) : kInfinity;
        };
        constexpr double kStep = 0.5;
        const double end = last > 1.0 ? lane_log(last - 1.0) : 0.0;
        double best = end;
        for (double s = end; s > lane_log(kSmallestDistance); s -= kStep)
            if (divergence(s) < divergence(best)) best = s;
        const Least least = golden_section(best - kStep, std::min(best + kStep, end), 1e-6, divergence);
        if (least.value < divergence(best)) best = least.place;
        flat_until_ = std::min(1.0 + lane_exp(best), last);
        flat_divergence_ = divergence(best) * kUp;
    }

    double mean_, log_mean_;
    bool poisson_, binomial_;
    PrivacyProfile profile_;  // for Poisson
    double cost_ = 0.0;       // C
    double flat_until_ = 1.0, flat_divergence_ = 0.0;
};

}  // namespace

CurvePointer repeat_and_select(CurvePointer base, double mean, double shape, std::vector<Corner> known,
                               double log_ratio) {
    return std::make_shared<const RepeatAndSelectCurve>(std::move(base), mean, shape, std::move(known), log_ratio);
}

}  // namespace renyi
