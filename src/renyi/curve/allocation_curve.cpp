#include "renyi/curve/allocation_curve.hpp"

#include <algorithm>
#include <cmath>
#include <memory>

#include "renyi/curve/closed_curve.hpp"
#include "renyi/fp/double_double.hpp"
#include "renyi/fp/search.hpp"
#include "renyi/pair/atoms.hpp"
#include "renyi/pair/noise/noises.hpp"

namespace renyi {

namespace {

// Tuning: these affect width and time, not validity; except kRounding.
constexpr double kWidth = 1e-10;                   // relative width at which a sum placed for another question serves
constexpr double kFirstWidth = 1e-3;               // the same on the way to a root
constexpr double kRough = 0.1;                     // width of a first bracket, relative to the known delta
constexpr double kUnderflow = 1e-315;              // the least delta that counts
constexpr double kNearZero = 0.1;                  // an epsilon below which the answer may be 0
constexpr double kRounding = 8.0 * kUnitRoundoff;  // error of thresholds and factors: expm1 or exp, and four roundings
constexpr double kOff = 3.0;                       // nats by which a guess may be above the value
constexpr double kLower = 40.0;                    // nats by which the next guess is lower where nothing is found
constexpr double kByOther = 1e-9;                  // relative width beyond which the other direction is used
constexpr double kWide = 0.1;                      // relative width beyond which a root search stops soon
constexpr int kMostWide = 4, kMostOutward = 16;
constexpr int kMostPlacements = 4, kMostTurns = 40;
constexpr std::size_t kMostKept = 64;      // sums of about a megabyte each
constexpr double kLargestEpsilon = 250.0;  // the largest epsilon for which split sums are used

bool narrow(const SplitSum::Value& v, double width, double absolute) noexcept {
    return v.upper < kInfinity && v.upper - v.lower <= std::max(width * v.upper, absolute);
}

// Returns the value, or [0, inf] where it was not found: NaN is no bound.
SplitSum::Value held(const SplitSum::Value& v) noexcept {
    return v.upper >= 0.0 && v.lower <= v.upper ? v : SplitSum::Value{0.0, 0.0, 0.0, kInfinity};
}

}  // namespace

double AllocationCurve::threshold(double epsilon, bool reversed) const noexcept {
    return t_ * (reversed ? -std::expm1(-epsilon) : std::expm1(epsilon)) / rate_;
}

double AllocationCurve::factor(double epsilon, bool reversed) const noexcept {
    return rate_ / t_ * (reversed ? std::exp(epsilon) : 1.0);
}

// Bounds delta in closed form. A mean of t ratios is below one of them in convex order, and above a t-th of each; for
// a_i, x >= 0 also (sum a_i - x)_+ >= sum (a_i - x)_+:
//     remove   delta_1(eps + log t) <= delta(eps) <= delta_1(eps), delta_1 the curve of a single batch,
//     add      delta(eps) <= delta_1(eps), delta(eps) <= P(r < e^-eps) <= P(X < t e^-eps)^t.
Bracket AllocationCurve::simple_delta(double epsilon, Direction direction) const noexcept {
    const SingleStep batch{rate_, sigma_, direction};
    const double upper = single_step_delta_bounds(batch, epsilon).upper, slack = 1e-12;
    if (direction == Direction::remove)
        return {single_step_delta_bounds(batch, (epsilon + std::log(t_)) * (1.0 + slack)).lower, upper};
    const double c = 1.0 / sigma_, apart = (std::log(t_) - epsilon) * sigma_;
    const double z = apart + 0.5 * c + slack * (std::fabs(apart) + epsilon * sigma_ + c);
    const double all = std::exp(t_ * std::log1p(-upper_tail(z).value * (1.0 - slack)));
    return {0.0, std::max(std::min(upper, all * (1.0 + slack)), 5e-324)};
}

// The same for epsilon.
Bracket AllocationCurve::simple_epsilon(double delta, Direction direction) const noexcept {
    const Bracket batch = single_step_epsilon({rate_, sigma_, direction}, delta);
    const double lower = direction == Direction::remove ? batch.lower - std::log(t_) * raised(kManyRoundings) : 0.0;
    return {std::max(lower, 0.0) * lowered(2), std::max(batch.upper, 0.0)};
}

// Estimates log E[(S - x)_+] by a normal sum or one large term, and the light tail by Chernoff; right to a few nats.
double AllocationCurve::guess_log_excess(double x, bool reversed) const {
    const double c = 1.0 / sigma_, variance = t_ * std::expm1(std::min(c * c, 300.0)), spread = std::sqrt(variance);
    if (x <= 0.0) return std::log(std::min(spread, t_) - x);
    if (!reversed) {
        const double z = x / spread, d = std::log1p(x) / c + 0.5 * c;
        const double normal = std::log(spread) - 0.5 * z * z - 2.0 * std::log1p(z);
        const double jump = std::log(t_) + std::log1p(x) + std::log(c) - 0.5 * d * d - 2.0 * std::log1p(d);
        return std::min(log_add(normal, jump), std::log(t_));
    }
    constexpr int kPoints = 64;
    double y[kPoints], weight[kPoints];
    for (int i = 0; i < kPoints; ++i) {
        const double z = -9.0 + (i + 0.5) * (14.0 / kPoints);
        y[i] = std::expm1(c * z - 0.5 * c * c);
        weight[i] = std::exp(-0.5 * z * z) * kInverseRoot2Pi * 14.0 / kPoints;
    }
    const auto log_bound = [&](double log_tilt) {
        const double s = std::exp(log_tilt);
        double sum = 0.0;
        for (int i = 0; i < kPoints; ++i) sum += weight[i] * std::exp(-s * (1.0 + y[i]));
        return t_ * (s + std::log(std::max(sum, 1e-300))) - s * x - 1.0 - log_tilt;
    };
    const double low = std::log(1e-3 / spread), high = std::log(1e4 * (1.0 + x / variance + 1.0 / spread));
    return golden_section(low, high, 1e-2, log_bound).value - 2.0;
}

SplitSum::Value AllocationCurve::nearest_excess(double x, bool reversed) const {
    const std::vector<Placed>& known = placed_[reversed];
    const auto distance = [&](const Placed& p) {
        return std::fabs(p.x - x) / (std::fabs(p.x) + std::fabs(x) + 1e-300);
    };
    const auto nearest = std::min_element(known.begin(), known.end(),
                                          [&](const Placed& a, const Placed& b) { return distance(a) < distance(b); });
    return nearest == known.end() ? SplitSum::Value{0.0, 0.0, 0.0, kInfinity} : held(nearest->sum.value(x));
}

// The narrower one of E[(a)_+] and E[(-a)_+] + E[a], a = S - x or -S - x.
SplitSum::Value AllocationCurve::known_excess(double x, bool reversed) const {
    const SplitSum::Value direct = nearest_excess(x, reversed), other = nearest_excess(-x, !reversed);
    const double rounding = kRounding * (std::fabs(x) + other.upper);
    const double lower = std::max(other.lower - x - rounding, 0.0), upper = other.upper - x + rounding;
    if (!(upper - lower < direct.upper - direct.lower)) return direct;
    return {std::max(other.value - x, lower), -1.0 - other.slope, lower, upper};
}

SplitSum::Value AllocationCurve::placed_excess(double x, bool reversed, double width, double absolute) {
    std::vector<Placed>& known = placed_[reversed];
    SplitSum::Value best = known_excess(x, reversed);
    if (narrow(best, width, absolute)) return best;
    double guess = best.lower > 0.0 && narrow(best, 0.1, 0.0) ? std::log(best.value) : guess_log_excess(x, reversed);
    for (int turn = 0; turn < kMostPlacements; ++turn) {
        SplitSum sum = SplitSum::of_ratios(t_, sigma_, reversed ? SampledPair::reversed_ratio : SampledPair::ratio);
        if (!sum.place(x, guess)) return best;
        const SplitSum::Value v = held(sum.value(x));
        const double found = v.value > 0.0 ? std::log(v.value) : -kInfinity;
        if (!(v.upper - v.lower >= best.upper - best.lower)) {
            best = v;
            if (known.size() == kMostKept) known.erase(known.begin());
            known.push_back({x, std::move(sum)});
        }
        if (found > guess - kOff || narrow(best, width, absolute)) break;
        guess = std::max(found, guess - kLower);
    }
    return best;
}

SplitSum::Value AllocationCurve::excess(double x, bool reversed, double width, double absolute) {
    const SplitSum::Value best = placed_excess(x, reversed, width, absolute);
    if (narrow(best, kByOther, absolute)) return best;
    placed_excess(-x, !reversed, width, absolute);
    const SplitSum::Value both = known_excess(x, reversed);
    return both.upper - both.lower < best.upper - best.lower ? both : best;
}

Bracket AllocationCurve::delta(double epsilon, Direction direction, double known) {
    if (!(known > 0.0)) return enclosed_delta(epsilon, direction, 0.0);
    const Bracket rough = enclosed_delta(epsilon, direction, kRough * known);
    return rough.upper <= known ? rough : enclosed_delta(epsilon, direction, 0.0);
}

// A bracket of delta, as narrow as possible, or no wider than `absolute`.
Bracket AllocationCurve::enclosed_delta(double epsilon, Direction direction, double absolute) {
    const bool reversed = direction == Direction::add;
    const double x = threshold(epsilon, reversed), f = factor(epsilon, reversed);
    // -S < t: beyond t the mass is 0.
    if (reversed && x * (1.0 - kRounding) >= t_) return {0.0, 0.0};
    const Bracket simple = simple_delta(epsilon, direction);
    if (!(epsilon < kLargestEpsilon) || simple.upper - simple.lower <= absolute) return simple;
    // The threshold is right to a few u: each end is taken at the threshold that is worse for it.
    const double enough = std::max(absolute, kUnderflow) / f;
    const SplitSum::Value at = excess(x * (1.0 - kRounding), reversed, kWidth, enough);
    const SplitSum::Value below = excess(x * (1.0 + kRounding), reversed, kWidth, enough);
    const double lower = below.lower * f * (1.0 - kRounding), upper = at.upper * f * (1.0 + kRounding);
    return common({std::max(lower, 0.0), std::max(upper, 5e-324)}, simple);
}

double AllocationCurve::guess_epsilon(double delta, bool reversed) const {
    double high = kLargestEpsilon;
    if (reversed && rate_ < 1.0) high = std::min(high, -std::log1p(-rate_));
    const double target = std::log(delta);
    const auto is_beyond = [&](double epsilon) {
        const double x = threshold(epsilon, reversed);
        return (reversed && x >= t_) || guess_log_excess(x, reversed) + std::log(factor(epsilon, reversed)) < target;
    };
    return bisect(0.0, high, 0.0, is_beyond, 40).high;
}

// Newton's method on log delta within a bracket, then outward until the certified delta is on the right side.
Bracket AllocationCurve::epsilon(double target, Direction direction, double known) {
    const bool reversed = direction == Direction::add;
    if (target >= 1.0) return {0.0, 0.0};
    double high = reversed && rate_ < 1.0 ? -std::log1p(-rate_) : kInfinity;
    if (!(target > 0.0)) return {high, high * (1.0 + 4.0 * kUnitRoundoff)};
    if (known > 0.0 && delta(known, direction, target).upper <= target) return {0.0, known};
    Bracket proven = simple_epsilon(target, direction);
    if (!(proven.lower < kLargestEpsilon)) return proven;
    double low = proven.lower, epsilon = std::max(guess_epsilon(target, reversed), low);
    double slope = -1.0, width = kFirstWidth;
    const bool near_zero = epsilon < kNearZero;
    if (near_zero && delta(0.0, direction).upper <= target) return {0.0, 0.0};
    for (int turn = 0; turn < kMostTurns; ++turn) {
        const double x = threshold(epsilon, reversed), f = factor(epsilon, reversed);
        const SplitSum::Value v = excess(x, reversed, width, 0.0);
        const double value = v.value * f;
        // dx/d eps = t e^{+-eps}/rate; for add, f grows like e^eps, too.
        const double growth = reversed ? std::exp(-epsilon) : std::exp(epsilon);
        slope = v.slope * t_ / rate_ * growth * f + (reversed ? value : 0.0);
        // x, right to kRounding, is the exact threshold of an epsilon at most `off` away, where f differs by a factor
        // of at most e^off; for add, x is nearly flat where e^epsilon is large.
        const double off = kRounding * (reversed ? std::expm1(epsilon) : epsilon), error = kRounding + 2.0 * off;
        const bool is_near = off < 0.01;
        if (v.lower * f * (1.0 - error) > target) {
            low = epsilon;
            if (is_near) proven.lower = std::max(proven.lower, epsilon - off);
        } else if (v.upper * f * (1.0 + error) < target) {
            high = epsilon;
            if (is_near) proven.upper = std::min(proven.upper, epsilon + off);
        } else if (narrow(v, kWide, 0.0)) {  // nearer by a sum that is placed here, if by any
            if (width == kWidth) break;
            width = kWidth;
            continue;
        }
        if (!narrow(v, kWide, 0.0) && turn > kMostWide) break;
        const double residual = value > 0.0 ? std::log(value / target) : -kInfinity;
        if (std::fabs(residual) < 1e-14) break;
        // A sum placed elsewhere is good enough to come near.
        width = std::fabs(residual) > kFirstWidth ? kFirstWidth : kWidth;
        double next = epsilon - residual * value / slope;
        if (std::fabs(next - epsilon) <= 2.0 * kUnitRoundoff * epsilon) break;
        if (!(next > low && next < high)) next = high < kInfinity ? 0.5 * (low + high) : 2.0 * epsilon;
        epsilon = next;
        if (!(epsilon < kLargestEpsilon)) break;
    }
    if (!near_zero && epsilon < kNearZero && delta(0.0, direction).upper <= target) return {0.0, 0.0};
    if (!(epsilon < kLargestEpsilon)) return proven;
    const Bracket here = delta(epsilon, direction);
    if (!is_narrow(here, kWide)) return proven;
    const double least = 4.0 * kUnitRoundoff * epsilon, steep = std::max(-slope, 1e-300);
    double up = 1.1 * std::max(here.upper - target, 0.0) / steep + least;
    double down = 1.1 * std::max(target - here.lower, 0.0) / steep + least;
    for (int turn = 0; turn < kMostOutward && epsilon + up < proven.upper; ++turn, up *= 2.0) {
        if (!(delta(epsilon + up, direction).upper <= target)) continue;
        proven.upper = epsilon + up;
    }
    for (int turn = 0; turn < kMostOutward && epsilon - down > proven.lower; ++turn, down *= 2.0) {
        if (!(delta(epsilon - down, direction).lower >= target)) continue;
        proven.lower = epsilon - down;
    }
    return proven;
}

namespace {

// Tuning: these affect width and time, not validity.
constexpr double kCell = 0.003;      // width of cells, relative to the standard deviation of the loss
constexpr double kFar = 0.0015;      // width of far cells, at most, relative to the loss
constexpr double kCellsEnd = 1e-32;  // the cells end where H is below this
constexpr double kValueWidth = 1e-10, kAbsolute = 1e-17;  // widths of values, relative and absolute
constexpr double kLooser = 1.5;
constexpr double kAhead = 1.3;  // factor by which a sum is placed farther out, to serve both sides
constexpr int kMostPoints = 50000;
constexpr double kLargestLoss = 200.0, kSmallestLoss = -30.0;  // slopes at small r are differences of 1 - r
constexpr double kUseless = 0.1;                               // relative width

// H at r, for r below 1 less 1 - r: E[(R - r)_+] or E[(r - R)_+], with both ends; r = e^loss to 2u.
struct Point {
    double loss, r;
    Bracket value;
};

// The points on one side of r = 1 outwards, 1 included: losses 0, h, ... with cells of 1, 2, 4 ... times a power of 2,
// so that the losses are exact and lie on one lattice.
std::vector<Point> side_of(AllocationCurve& curve, double spread, bool reversed) {
    const double t = curve.batches(), step = std::exp2(std::floor(std::log2(kCell * spread)));
    std::vector<Point> found;
    double loss = 0.0, cell = step, allowed = kValueWidth;
    const auto serves = [&](const SplitSum::Value& v) {
        return v.upper < kInfinity && v.upper - v.lower <= std::max(allowed * v.upper, kAbsolute * t);
    };
    for (int i = 0; i < kMostPoints && loss < (reversed ? -kSmallestLoss : kLargestLoss); ++i) {
        const double r = std::exp(reversed ? -loss : loss);
        const double x = t * (reversed ? 1.0 - r : r - 1.0);
        SplitSum::Value v = curve.known_excess(x, reversed);
        if (!serves(v)) {
            // Place the sum ahead, so that it serves both sides; later points ask for no more accuracy than was found.
            if (i > 0) curve.place(reversed ? std::min(kAhead * x, 0.5 * (x + t)) : kAhead * x, reversed);
            v = curve.known_excess(x, reversed);
            if (!serves(v)) v = curve.excess(x, reversed, kValueWidth, kAbsolute * t);
            allowed = std::max(kValueWidth, kLooser * (v.upper - v.lower) / v.upper);
        }
        if (!(v.upper - v.lower <= kUseless * v.upper)) break;
        // x = t (r - 1) to 3u: 1 - r is exact for r >= 1/2, and H' >= -1.
        const double rounding =
            8.0 * kUnitRoundoff * (std::fabs(x) * std::min(std::fabs(v.slope) * 2.0, 1.0) + v.upper);
        const Bracket value{std::max(v.lower - rounding, 0.0) / t, (v.upper + rounding) / t};
        found.push_back({reversed ? -loss : loss, r, value});
        if (value.upper < kCellsEnd * (reversed ? r : 1.0)) break;
        // The next cell is twice as wide only where it starts at a multiple of its width.
        if (2.0 * cell <= kFar * loss && std::fmod(loss, 2.0 * cell) == 0.0) cell *= 2.0;
        loss += cell;
    }
    return found;
}

// A vertex of a polygon: its loss, r and height H.
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

// The largest height of the chord from b to c above a convex function that is at most a and d and at least b and c at
// their places: the function lies above the lines through (a, b) and (c, d), and the chord is farthest from both where
// these meet.
double sag(const Vertex& a, const Vertex& b, const Vertex& c, const Vertex& d) noexcept {
    const DoubleDouble chord = slope(b, c);
    const double left = (chord - slope(a, b)).hi, right = (slope(c, d) - chord).hi;
    if (!(left > 0.0 && right > 0.0)) return 0.0;
    return left * right / (left + right) * (c.r - b.r) * (1.0 + 8.0 * kUnitRoundoff);
}

DoubleDouble least_at(const Vertex& v) noexcept { return v.r < 1.0 ? two_sum(1.0, -v.r) : DoubleDouble{0.0, 0.0}; }

// Lowers every point by the larger sag of the two cells beside it, so that chords fall by at least their own sag.
// Points that are then not above 1 - r or 0 are dropped, except the last one below r = 1; the first and the last point
// that remain are moved onto 1 - r and 0.
std::vector<Vertex> lowered(const std::vector<Vertex>& lower, const std::vector<Vertex>& upper) {
    const std::size_t n = lower.size();
    std::vector<double> sags(n, 0.0);
    for (std::size_t i = 1; i + 1 < n; ++i) {
        // Beyond the last point H is at most its value there.
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
    constexpr double kError = 4.0 * kUnitRoundoff;  // error of p against q e^loss, and of the loss against log r
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
        // The loss is nearly the mean ratio less 1, and never spreads farther than that of a known batch.
        const double of_sum = SplitSum::of_ratios(batches_, sigma_, SampledPair::ratio).spread();
        const double spread = std::min(of_sum / batches_, 1.0 / sigma_);
        const std::vector<Point> below = side_of(curve, spread, true), above = side_of(curve, spread, false);
        if (below.size() < 2 || above.size() < 2) {
            upper_ = gaussian_noise(1.0 / sigma_);  // the batch of the record is revealed
            lower_ = discrete_pair({1.0}, {1.0});
            return;
        }
        // H itself, which is 1 - r + E[(r - R)_+] for r below 1, from the vertex (0, 1) on.
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
