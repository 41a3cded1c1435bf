// Errors of membership tests that a Renyi curve allows, by all orders together and in both directions.
//
// A test says "present" with probability q = a where the record is absent (type I error a) and p = 1 - b where it is
// there (type II error b). What it says has at most the divergences of the composition, from either distribution to
// the other (data processing; Mironov 2017, arXiv 1702.07476, Prop. 9, on two points): at every order o,
//     f(p, q) = q (p/q)^o + (1-q) ((1-p)/(1-q))^o <= e^K,   K = (o-1) D_o,
// and f(1-q, 1-p) <= e^K, which is the other direction. Where no loss exceeds L, p <= e^L q and 1-q <= e^L (1-p), too.
// All these sets are convex; their intersection is symmetric under a <-> b and bounds every test from below.
//
// Any order gives a bound, and an error is used only where a constraint is proven to be violated: a poor search makes
// the bound weaker, never wrong. The continuum of orders is searched by intervals. f grows with the order at a given
// divergence, and divergences grow with the order: between two orders no error is above that of the higher order at the
// divergence of the lower one.
// The unknown is v = log y, in which the constraints rise: y = log((1-a)/b) at a given a, y = log((1-a)/a) where a = b.
//
// Rounding: log f's excess over 1 is a sum of a dozen logarithms of at most `size` each, right to 4u of it; the points'
// x = log p/q is right to 16u relatively, of which log f takes o times as much.
#include "renyi/curve/rdp_guarantee.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "renyi/fp/search.hpp"

namespace renyi {

namespace {

constexpr double kMargin = 64.0 * kUnitRoundoff;
constexpr double kLeast = -45.0, kMost = 8.0;  // range of v
constexpr double kGain = 1e-12;                // smallest change of v that the search looks for
constexpr double kLargestExponent = 700.0, kNoSlope = -1000.0;
constexpr double kNextToOne = 1.0 + 0x1p-40;  // the order used for the Kullback-Leibler divergence
constexpr double kSmallestError = 1e-290;     // b falls as a grows: b of a larger a is a bound

// x = log p/q, y = log (1-q)/(1-p), both > 0.
Touch point(double x, double y, double log_p, double log_rest) noexcept {
    return {x + y, x, y, log_p, log_rest, 0.0, 0.0, 0.0, true};
}

Touch reversed(const Touch& t) noexcept { return point(t.y, t.x, t.log_rest, t.log_p); }

struct GivenError {
    double a;
    Touch operator()(double y) const noexcept {
        const double gap = -(1.0 - a) * lane_expm1(-y);  // p - q
        return point(lane_log1p(gap / a), y, lane_log(a + gap), lane_log1p(-a));
    }
};

struct EqualErrors {
    Touch operator()(double y) const noexcept {
        const double log_p = -lane_log1p(lane_exp(-y));
        return point(y, y, log_p, log_p);
    }
};

struct Excess {
    double value, rounding;
    bool reverse;  // whether the reverse direction violates its constraint more
};

// The logarithm of (f - 1)/(e^K - 1), of the larger f, rounded down: positive where a constraint is violated.
template <class Test>
Excess excess(const Test& test, double v, double order, double k) noexcept {
    const Touch t = test(lane_exp(v));
    const double goal = k > 40.0 ? k : lane_log(lane_expm1(k));
    const double one = log_excess_of(order, t), two = log_excess_of(order, reversed(t));
    const double size = 8.0 + order * t.s + std::fabs(goal) - t.log_p - t.log_rest;
    const double rounding = kMargin * size;
    return {(two > one ? two : one) - goal - rounding, rounding, two > one};
}

struct Found {
    double v, order;
    bool reverse;
};

double log_odds_of(const Found& found) noexcept { return found.v < kInfinity ? lane_exp(found.v) : kInfinity; }

// b >= error - e^log_slope (a' - a) for all a'; the slope is right to `rounding`, relatively.
struct Line {
    double a, error, log_slope, rounding;
    double at(double place) const noexcept { return error - lane_exp(log_slope) * (place - a); }
};

// The root of the excess, from the side where it is positive; above kMost nothing is known. Secants descend to the
// root, since the excess is convex. `start` is a guess.
template <class Test>
double root(const Test& test, double start, double order, double k, bool& reverse) noexcept {
    double low = kLeast, high = start, slope = 2.0;
    Excess at_high = excess(test, high, order, k);
    for (double width = 0x1p-20; !(at_high.value > 0.0); width *= 16.0) {
        if (high >= kMost) return kInfinity;
        const double before = at_high.value;
        low = high;
        at_high = excess(test, high = std::min(high + width, kMost), order, k);
        slope = (at_high.value - before) / (high - low);
    }
    bool stays = false;
    for (int i = 0; i < 200 && at_high.value > 2.0 * at_high.rounding && high - low > 0x1p-50; ++i) {
        double next = high - (at_high.value - at_high.rounding) / slope;
        if (stays || !(next > low && next < high)) next = 0.5 * (low + high);
        const Excess e = excess(test, next, order, k);
        slope = (at_high.value - e.value) / (high - next);
        stays = !(e.value > 0.0) && !stays;
        if (e.value > 0.0) {
            high = next;
            at_high = e;
        } else {
            low = next;
        }
    }
    reverse = at_high.reverse;
    return high;
}

class TwoPoints {
public:
    TwoPoints(const Composition& composition, std::span<const double> orders) noexcept
        : query_{composition, Conversion::optimal, false, 0.0, 0.0}, orders_{orders}, loss_{largest_loss(composition)} {
        moments_.fill(-1.0);
    }

    double type_two_error(double a) noexcept;
    double advantage() noexcept;
    double bayes_risk(double rare) noexcept;

private:
    static constexpr int kSlots = 512, kCoarse = 16;  // intervals of log(o-1); the first search merges kCoarse of them
    static constexpr int kNone = -1;

    double order_of(int slot) const noexcept;
    double moment(double order) const noexcept;
    double moment_of(int slot) noexcept;
    template <class Test>
    Found least(const Test& test) noexcept;
    template <class Test>
    void search_between(const Test& test, int low, int high, Found& best, int& slot) noexcept;
    Line line_at(double a) noexcept;

    RdpQuery query_;
    std::span<const double> orders_;
    double loss_;
    int start_ = kSlots / 2;                  // the best of the last search
    std::array<double, kSlots + 1> moments_;  // negative: not known yet
};

double TwoPoints::order_of(int slot) const noexcept {
    return slot == kSlots ? query_.largest
                          : query_.order_at(kLogSmallest + (query_.log_largest - kLogSmallest) / kSlots * slot);
}

double TwoPoints::moment(double order) const noexcept {
    const double k = upper(log_moment(query_.composition, order));
    return std::isnan(k) ? kInfinity : std::max(k, query_.least);
}

double TwoPoints::moment_of(int slot) noexcept {
    double& known = moments_[static_cast<std::size_t>(slot)];
    if (known < 0.0) known = moment(order_of(slot));
    return known;
}

template <class Test>
bool is_below(const Test& test, const Found& best, double order, double k) noexcept {
    return !(best.v < kInfinity) || excess(test, best.v - kGain, order, k).value > 0.0;
}

// Keeps an order if its root is smaller, and returns whether it was kept.
template <class Test>
bool consider(const Test& test, double order, double k, Found& best) noexcept {
    if (!is_below(test, best, order, k)) return false;
    bool reverse = false;
    const double v = root(test, std::min(best.v, 0.0), order, k, reverse);
    if (!(v < best.v)) return false;
    best = {v, order, reverse};
    return true;
}

// Looks for a smaller root between two orders. Curves have corners at whole orders.
template <class Test>
void TwoPoints::search_between(const Test& test, int low, int high, Found& best, int& slot) noexcept {
    const double order = order_of(high), least_order = order_of(low);
    if (!is_below(test, best, order, moment_of(low) / (least_order - 1.0) * (order - 1.0))) return;
    if (high - low == 1) {
        const double whole = std::ceil(least_order);
        if (!query_.composition.curves.empty() && whole < order && consider(test, whole, moment(whole), best))
            slot = low;
        return;
    }
    const int middle = (low + high) / 2;
    if (consider(test, order_of(middle), moment_of(middle), best)) slot = middle;
    search_between(test, low, middle, best, slot);
    search_between(test, middle, high, best, slot);
}

template <class Test>
Found TwoPoints::least(const Test& test) noexcept {
    Found best{kInfinity, 1.0, false};
    for (const double order : orders_) {
        if (order <= query_.largest) consider(test, order, moment(order), best);
    }
    if (!orders_.empty() || !query_.has_orders()) return best;
    consider(test, kNextToOne, moment(kNextToOne), best);
    int slot = kNone;
    if (consider(test, order_of(start_), moment_of(start_), best)) slot = start_;
    for (int i = 0; i <= kSlots; i += kCoarse) {
        if (consider(test, order_of(i), moment_of(i), best)) slot = i;
    }
    for (int i = 0; i < kSlots; i += kCoarse) search_between(test, i, i + kCoarse, best, slot);
    if (slot == kNone) return best;
    start_ = slot;

    // At the least root the best order has the largest excess of all orders; at a root next to it, nearly the largest.
    const double step = (query_.log_largest - kLogSmallest) / kSlots;
    double centre = lane_log(best.order - 1.0);
    for (const double width : {step, 0.1 * step}) {
        const auto below = [&](double x) {
            const double order = query_.order_at(x);
            return -excess(test, best.v, order, moment(order)).value;
        };
        const double right = std::min(centre + width, query_.log_largest);
        centre = golden_section(centre - width, right, 1e-4 * width, below).place;
        const double order = query_.order_at(centre);
        consider(test, order, moment(order), best);
    }
    return best;
}

// The supporting line at a: that of the Renyi curve, or that of the largest loss L where it is higher, b >= 1 - e^L a
// and b >= e^-L (1 - a).
Line TwoPoints::line_at(double a) noexcept {
    Line best{1.0, 0.0, kNoSlope, 0.0};
    const Found found = least(GivenError{a});
    if (found.v < kInfinity) {
        const double y = lane_exp(found.v), b = (1.0 - a) * lane_exp(-y) * (1.0 - kMargin);
        const Touch t = GivenError{a}(y);
        const Touch line = found.reverse ? touch_at(found.order, t.y, t.x) : touch_at(found.order, t.x, t.y);
        best = {a, b, found.reverse ? -line.epsilon : line.epsilon, kMargin * (8.0 + line.size)};
    }
    if (!(loss_ < kLargestExponent)) return best;
    const double steep = 1.0 - lane_exp(loss_) * a * (1.0 + kMargin) - kUnitRoundoff;
    const double flat = lane_exp(-loss_) * (1.0 - a) * (1.0 - kMargin);
    if (std::max(steep, flat) <= best.error) return best;
    return steep > flat ? Line{a, steep, loss_, kMargin} : Line{a, flat, -loss_, kMargin};
}

double TwoPoints::type_two_error(double a) noexcept {
    if (loss_ == 0.0) return 1.0 - a;
    if (a == 0.0) return least(GivenError{kSmallestError}).v < kInfinity || loss_ < kInfinity ? 1.0 : 0.0;
    return a == 1.0 ? 0.0 : line_at(std::max(a, kSmallestError)).error;
}

// (1-a) - a with a = 1/(1 + e^y).
double TwoPoints::advantage() noexcept {
    if (loss_ == 0.0) return 0.0;
    const double y = std::min(log_odds_of(least(EqualErrors{})), loss_);
    return std::min(-lane_expm1(-y) / (1.0 + lane_exp(-y)) * (1.0 + kMargin), 1.0);
}

// Cutting planes: a line steeper than the odds and a flatter one bound the risk from below, wherever both are
// evaluated. The next line touches where the slope may equal the odds, a little beyond the last place.
double TwoPoints::bayes_risk(double rare) noexcept {
    const double often = 1.0 - rare, log_odds = lane_log(rare / often);
    if (loss_ == 0.0 || rare == 0.0 || loss_ * (1.0 + kMargin) < -log_odds) return rare;
    const Found found = least(EqualErrors{});
    const double y = std::min(log_odds_of(found), loss_);
    if (!(y < kLargestExponent)) return 0.0;
    const double equal = lane_exp(-y) / (1.0 + lane_exp(-y)) * (1.0 - kMargin);  // both errors
    const Touch touch = touch_at(found.order, y, y);
    Line steep = y == loss_ ? Line{equal, equal, -loss_, kMargin}
                            : Line{equal, equal, -std::fabs(touch.epsilon), kMargin * (8.0 + touch.size)};
    if (steep.log_slope + steep.rounding <= log_odds) return std::min(equal, rare);
    Line flat{1.0, 0.0, kNoSlope, 0.0};
    double least_cost = std::min(equal, rare), bound = 0.0, aside = 0.0;
    for (int i = 0; i < 60 && bound < least_cost * (1.0 - 1e-11); ++i) {
        const double down = lane_exp(steep.log_slope), on = lane_exp(flat.log_slope), width = flat.a - steep.a;
        const double meeting = (steep.error - flat.error + down * steep.a - on * flat.a) / (down - on);
        const double read = std::clamp(meeting, steep.a, flat.a);
        const double cost = rare * read + often * std::min(steep.at(read), flat.at(read));
        // The cost of the rounding of both slopes, over the range in which the risk can be at most the least found.
        const double wrong = steep.rounding * (least_cost + often * down * (read - steep.a)) +
                             flat.rounding * (least_cost + often * on * (flat.a - read));
        bound = std::max(bound, cost * (1.0 - kMargin) - wrong);
        const double share = (steep.log_slope - log_odds) / (steep.log_slope - flat.log_slope) + aside;
        const bool has_slopes = flat.log_slope > kNoSlope;
        const Line next = line_at(has_slopes ? steep.a + width * std::clamp(share, 0.0, 1.0) : read);
        least_cost = std::min(least_cost, rare * next.a + often * next.error);
        const bool is_steep = next.log_slope > log_odds;
        (is_steep ? steep : flat) = next;
        aside = is_steep ? 0.02 : -0.02;
    }
    return std::min(bound, least_cost);
}

}  // namespace

void type_two_errors(const Composition& composition, std::span<const double> orders, std::span<const double> a,
                     double* b) noexcept {
    TwoPoints points(composition, orders);
    for (std::size_t i = 0; i < a.size(); ++i) b[i] = points.type_two_error(a[i]);
}

double largest_advantage(const Composition& composition, std::span<const double> orders) noexcept {
    return TwoPoints(composition, orders).advantage();
}

double least_bayes_risk(const Composition& composition, std::span<const double> orders, double rare) noexcept {
    return TwoPoints(composition, orders).bayes_risk(rare);
}

}  // namespace renyi
