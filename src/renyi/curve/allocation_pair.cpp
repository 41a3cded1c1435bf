#include "renyi/curve/allocation_pair.hpp"

#include <algorithm>
#include <cmath>
#include <memory>

#include "renyi/curve/allocation_curve.hpp"
#include "renyi/fp/double_double.hpp"
#include "renyi/pair/discrete.hpp"
#include "renyi/pair/gaussian.hpp"

namespace renyi {

namespace {

constexpr double kFine = 0.001;                      // cells, of the standard deviation of the loss
constexpr double kFar = 0.0005;                      // and of the loss
constexpr double kUnseen = 1e-32;                    // of H, and of the same for losses, where the cells end
constexpr double kWidth = 2e-12, kAbsolute = 1e-17;  // of values
constexpr double kLooser = 1.5;
constexpr double kAhead = 1.3;  // a sum is placed so much farther out, to serve both sides
constexpr int kMostPoints = 50000;
constexpr double kLargestLoss = 200.0, kSmallestLoss = -30.0;  // slopes at small r are differences of 1 - r
constexpr double kUseless = 0.1;                               // relative width

// H at r, less 1 - r below 1: E[(R - r)_+] or E[(r - R)_+], from below and above.
struct Point {
    double r;
    Bracket value;
};

// Of the loss, but for what happens in less than one of e^5 epochs.
double rough_spread(double sigma, double t) {
    const double c = 1.0 / sigma, end = std::min(std::sqrt(2.0 * (5.0 + std::log(t))), 5.0);
    constexpr int kSteps = 64;
    const double h = (end + 6.0) / kSteps;
    double sum = 0.0;
    for (int i = 0; i < kSteps; ++i) {
        const double z = -6.0 + (i + 0.5) * h, y = std::expm1(c * z - 0.5 * c * c);
        sum += std::exp(-0.5 * z * z) * y * y;
    }
    return std::min(std::sqrt(sum * h * 0.3989 / t), c);
}

// One side of r = 1 outwards, 1 included: losses 0, h, ... with growing cells.
std::vector<Point> side_of(AllocationCurve& curve, double spread, bool reversed) {
    const double t = curve.batches();
    std::vector<Point> found;
    double loss = 0.0, allowed = kWidth;
    const auto serves = [&](const SplitSum::Value& v) {
        return v.upper < kInfinity && v.upper - v.lower <= std::max(allowed * v.upper, kAbsolute * t);
    };
    for (int i = 0; i < kMostPoints && loss < (reversed ? -kSmallestLoss : kLargestLoss); ++i) {
        const double r = std::exp(reversed ? -loss : loss);
        const double x = t * (reversed ? 1.0 - r : r - 1.0);
        SplitSum::Value v = curve.known_excess(x, reversed);
        if (!serves(v)) {
            // Ahead, to serve both sides; then no better is asked for than was found.
            if (i > 0) curve.place(reversed ? std::min(kAhead * x, 0.5 * (x + t)) : kAhead * x, reversed);
            v = curve.known_excess(x, reversed);
            if (!serves(v)) v = curve.excess(x, reversed, kWidth, kAbsolute * t);
            allowed = std::max(kWidth, kLooser * (v.upper - v.lower) / v.upper);
        }
        if (!(v.upper - v.lower <= kUseless * v.upper)) break;
        // x = t (r - 1) to 3u: 1 - r is exact for r >= 1/2, and H' >= -1.
        const double rounding =
            8.0 * kUnitRoundoff * (std::fabs(x) * std::min(std::fabs(v.slope) * 2.0, 1.0) + v.upper);
        found.push_back({r, {std::max(v.lower - rounding, 0.0) / t, (v.upper + rounding) / t}});
        if (found.back().value.upper < kUnseen * (reversed ? r : 1.0)) break;
        loss += std::max(kFine * spread, kFar * loss);
    }
    return found;
}

// H at a point, less (1 - r) of points below 1.
struct Vertex {
    double r;
    DoubleDouble h;
};

DoubleDouble slope(const Vertex& a, const Vertex& b) noexcept { return (b.h - a.h) / two_sum(b.r, -a.r); }

bool less(DoubleDouble a, DoubleDouble b) noexcept { return a.hi < b.hi || (a.hi == b.hi && a.lo < b.lo); }

// The largest convex polygon below the points: of `put` values, which rise from (0, 0), or of `call` values.
std::vector<Vertex> convex(const std::vector<Vertex>& points) {
    std::vector<Vertex> kept;
    for (const Vertex& v : points) {
        while (kept.size() > 1 && !less(slope(kept[kept.size() - 2], kept.back()), slope(kept.back(), v)))
            kept.pop_back();
        kept.push_back(v);
    }
    return kept;
}

// Where the lines through (a, b) and (c, d) meet, between b and c.
Vertex meeting(const Vertex& a, const Vertex& b, const Vertex& c, const Vertex& d) noexcept {
    const DoubleDouble left = slope(a, b), right = slope(c, d);
    const DoubleDouble fall = (c.h - b.h) - right * two_sum(c.r, -b.r);  // of the right line at b, against b
    const DoubleDouble apart = left - right;
    double step = apart.hi < 0.0 ? (fall / apart).hi : 0.5 * (c.r - b.r);
    step = std::clamp(step, 0.0, c.r - b.r);
    const double r = b.r + step;
    const DoubleDouble from_left = b.h + left * two_sum(r, -b.r), from_right = c.h + right * two_sum(r, -c.r);
    return {r, less(from_left, from_right) ? from_left : from_right};
}

// Lines start from a point as low as it may be and pass another as high as it may be: they fall off H. The first one is
// 1 - r, the last one ends at 0.
std::vector<Vertex> lines_below(const std::vector<Vertex>& lower, const std::vector<Vertex>& upper) {
    std::size_t last = lower.size() - 1;
    while (last > 1 && !(lower[last].h.hi > 0.0)) --last;
    std::vector<Vertex> met{lower[0]};
    const Vertex before{-1.0, {2.0, 0.0}};
    for (std::size_t i = 0; i + 2 <= last; ++i)
        met.push_back(meeting(i > 0 ? upper[i - 1] : before, lower[i], lower[i + 1], upper[i + 2]));
    const DoubleDouble falls = slope(upper[last - 1], lower[last]);
    const double end = lower[last].r - (lower[last].h / falls).hi * (1.0 - 8.0 * kUnitRoundoff);
    met.push_back({std::max(end, lower[last].r), {0.0, 0.0}});
    return met;
}

// The atoms of a convex polygon of H over [0, inf): slopes from -1 to 0.
PairPointer atoms(const std::vector<Vertex>& polygon, double infinite) {
    std::vector<double> p, q;
    DoubleDouble before{-1.0, 0.0};
    for (std::size_t i = 0; i < polygon.size(); ++i) {
        const DoubleDouble after = i + 1 < polygon.size() ? slope(polygon[i], polygon[i + 1]) : DoubleDouble{0.0, 0.0};
        const double mass = (after - before).hi;
        before = after;
        if (!(mass > 0.0)) continue;
        q.push_back(mass);
        p.push_back(mass * polygon[i].r);
    }
    if (infinite > 0.0) {
        p.push_back(infinite);
        q.push_back(0.0);
    }
    return std::make_shared<const AtomsPair>(discrete_pair(p, q));
}

}  // namespace

const PairPointer& AllocationPair::found(const PairPointer& side) const {
    std::call_once(once_, [this] {
        AllocationCurve curve(sigma_, batches_, 1.0);
        const double spread = rough_spread(sigma_, batches_);
        const std::vector<Point> below = side_of(curve, spread, true), above = side_of(curve, spread, false);
        if (below.size() < 2 || above.size() < 2) {
            upper_ = std::make_shared<const GaussianPair>(1.0 / sigma_);  // seen which batch it was
            lower_ = std::make_shared<const AtomsPair>(discrete_pair({1.0}, {1.0}));
            return;
        }
        // H itself, 1 - r + E[(r - R)_+] below 1, from (0, 1).
        std::vector<Vertex> up{{0.0, {1.0, 0.0}}}, low = up;
        const auto add = [&](const Point& at, DoubleDouble rest) {
            up.push_back({at.r, rest + at.value.upper});
            low.push_back({at.r, rest + at.value.lower});
        };
        for (std::size_t i = below.size(); i-- > 1;) add(below[i], two_sum(1.0, -below[i].r));
        for (const Point& at : above) add(at, {0.0, 0.0});
        upper_ = atoms(convex(up), above.back().value.upper);
        lower_ = atoms(convex(lines_below(low, up)), 0.0);
    });
    return side;
}

}  // namespace renyi
