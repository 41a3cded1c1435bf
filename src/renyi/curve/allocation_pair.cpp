#include "renyi/curve/allocation_pair.hpp"

#include <algorithm>
#include <cmath>
#include <memory>

#include "renyi/curve/allocation_curve.hpp"
#include "renyi/fp/double_double.hpp"
#include "renyi/pair/atoms.hpp"
#include "renyi/pair/noise/normal_mixtures.hpp"

namespace renyi {

namespace {

constexpr double kCell = 0.003;                      // cells, of the standard deviation of the loss
constexpr double kFar = 0.0015;                      // and of the loss, at most
constexpr double kUnseen = 1e-32;                    // of H, and of the same for losses, where the cells end
constexpr double kWidth = 2e-12, kAbsolute = 1e-17;  // of values
constexpr double kLooser = 1.5;
constexpr double kAhead = 1.3;  // a sum is placed so much farther out, to serve both sides
constexpr int kMostPoints = 50000;
constexpr double kLargestLoss = 200.0, kSmallestLoss = -30.0;  // slopes at small r are differences of 1 - r
constexpr double kUseless = 0.1;                               // relative width

// H at r, less 1 - r below 1: E[(R - r)_+] or E[(r - R)_+], from below and above; r = e^loss to 2u.
struct Point {
    double loss, r;
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

// One side of r = 1 outwards, 1 included: losses 0, h, ... with cells of 1, 2, 4 ... times a power of 2, so that they
// are exact and lie on one lattice.
std::vector<Point> side_of(AllocationCurve& curve, double spread, bool reversed) {
    const double t = curve.batches(), step = std::exp2(std::floor(std::log2(kCell * spread)));
    std::vector<Point> found;
    double loss = 0.0, cell = step, allowed = kWidth;
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
        const Bracket value{std::max(v.lower - rounding, 0.0) / t, (v.upper + rounding) / t};
        found.push_back({reversed ? -loss : loss, r, value});
        if (value.upper < kUnseen * (reversed ? r : 1.0)) break;
        // The next cell is twice as wide only where it may start at a multiple of that.
        if (2.0 * cell <= kFar * loss && std::fmod(loss, 2.0 * cell) == 0.0) cell *= 2.0;
        loss += cell;
    }
    return found;
}

// H at a point, or that less 1 - r.
struct Vertex {
    double loss, r;
    DoubleDouble h;
};

DoubleDouble slope(const Vertex& a, const Vertex& b) noexcept { return (b.h - a.h) / two_sum(b.r, -a.r); }

bool less(DoubleDouble a, DoubleDouble b) noexcept { return a.hi < b.hi || (a.hi == b.hi && a.lo < b.lo); }

// The largest convex polygon below the points.
std::vector<Vertex> convex(const std::vector<Vertex>& points) {
    std::vector<Vertex> kept;
    for (const Vertex& v : points) {
        while (kept.size() > 1 && !less(slope(kept[kept.size() - 2], kept.back()), slope(kept.back(), v)))
            kept.pop_back();
        kept.push_back(v);
    }
    return kept;
}

// How far the chord from b to c is above a convex function at most, which passes a and d from below, b and c from
// above: it lies above the lines through (a, b) and (c, d), and the chord is farthest from both where they meet.
double sag(const Vertex& a, const Vertex& b, const Vertex& c, const Vertex& d) noexcept {
    const DoubleDouble chord = slope(b, c);
    const double left = (chord - slope(a, b)).hi, right = (slope(c, d) - chord).hi;
    if (!(left > 0.0 && right > 0.0)) return 0.0;
    return left * right / (left + right) * (c.r - b.r) * (1.0 + 8.0 * kUnitRoundoff);
}

DoubleDouble least_at(const Vertex& v) noexcept { return v.r < 1.0 ? two_sum(1.0, -v.r) : DoubleDouble{0.0, 0.0}; }

// Every point lowered by the larger sag of the cells beside it: chords fall by at least their own. What is not above
// 1 - r or 0 then is left out, up to the last one of them, which is put there.
std::vector<Vertex> lowered(const std::vector<Vertex>& lower, const std::vector<Vertex>& upper) {
    const std::size_t n = lower.size();
    std::vector<double> sags(n, 0.0);
    for (std::size_t i = 1; i + 1 < n; ++i) {
        // Beyond the last point H falls no more than to where it is.
        const Vertex level{0.0, lower[i + 1].r + 1.0, lower[i + 1].h};
        sags[i] = sag(upper[i - 1], lower[i], lower[i + 1], i + 2 < n ? upper[i + 2] : level);
    }
    std::vector<Vertex> found;
    for (std::size_t i = 1; i < n; ++i) {
        Vertex v{lower[i].loss, lower[i].r, lower[i].h + -std::max(sags[i - 1], sags[i])};
        const DoubleDouble least = least_at(v);
        const bool above = less(least, v.h);
        if (v.r < 1.0 && !above) found.clear();
        if (v.r >= 1.0 && !above) break;
        found.push_back(v);
    }
    if (found.size() < 3) return {};
    found.front().h = least_at(found.front());
    found.back().h = least_at(found.back());
    return found;
}

// The atoms of a convex polygon of H over [0, inf): slopes from -1 to 0.
PairPointer atoms(const std::vector<Vertex>& polygon, double infinite) {
    constexpr double kError = 4.0 * kUnitRoundoff;  // of p against q e^loss, and of the loss against log r
    Spans found;
    DoubleDouble before{-1.0, 0.0};
    for (std::size_t i = 0; i < polygon.size(); ++i) {
        const auto& [loss, r, h] = polygon[i];
        const DoubleDouble after = i + 1 < polygon.size() ? slope(polygon[i], polygon[i + 1]) : DoubleDouble{0.0, 0.0};
        const double q = (after - before).hi;
        before = after;
        if (!(q > 0.0)) continue;
        if (r > 0.0) {
            found.spans.push_back({loss, loss, loss, q * r, q, kError, kError});
        } else {
            found.null = {q * (1.0 - kError), q * (1.0 + kError)};
        }
    }
    found.infinite = {infinite, infinite};
    return std::make_shared<const AtomsPair>(std::move(found), false);
}

}  // namespace

const PairPointer& AllocationPair::found(const PairPointer& side) const {
    std::call_once(once_, [this] {
        AllocationCurve curve(sigma_, batches_, 1.0);
        const double spread = rough_spread(sigma_, batches_);
        const std::vector<Point> below = side_of(curve, spread, true), above = side_of(curve, spread, false);
        if (below.size() < 2 || above.size() < 2) {
            upper_ = std::make_shared<const GaussianPair>(1.0 / sigma_);  // seen which batch it was
            lower_ = discrete_pair({1.0}, {1.0});
            return;
        }
        // H itself, 1 - r + E[(r - R)_+] below 1, from (0, 1).
        std::vector<Vertex> up{{-kInfinity, 0.0, {1.0, 0.0}}}, low = up;
        const auto add = [&](const Point& at, DoubleDouble rest) {
            up.push_back({at.loss, at.r, rest + at.value.upper});
            low.push_back({at.loss, at.r, rest + at.value.lower});
        };
        for (std::size_t i = below.size(); i-- > 1;) add(below[i], two_sum(1.0, -below[i].r));
        for (const Point& at : above) add(at, {0.0, 0.0});
        upper_ = atoms(convex(up), above.back().value.upper);
        lower_ = atoms(convex(lowered(low, up)), 0.0);
    });
    return side;
}

}  // namespace renyi
