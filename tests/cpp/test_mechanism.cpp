// Renyi curves of mechanisms: containment of ball arithmetic, limits and edges by name, derivatives by differences.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <vector>

#include "check.hpp"
#include "measure.hpp"
#include "pairs.hpp"
#include "renyi/pair/noise/exponential_loss.hpp"
#include "renyi/pair/noise/normal_moment.hpp"
#include "renyi/pair/renyi_curve.hpp"
#include "renyi/transform/renyi_curves.hpp"
#include "renyi/transform/sampling_bounds.hpp"
#include "tables.hpp"

using namespace renyi;
using check::Worst;

namespace {

template <class Curve>
CurvePointer curve_of(Curve curve) {
    return std::make_shared<const Curve>(std::move(curve));
}

PairPointer pair_of(const table::Sampled& row) {
    if (row.family == 0.0) return pairs::laplace(row.first);
    if (row.family == 1.0) return pairs::bounded_range(row.first);
    if (row.family == 2.0) return renyi::randomized_response(row.first, static_cast<std::int64_t>(row.second));
    return renyi::discrete_laplace(row.first, static_cast<std::int64_t>(row.second));
}

Certified at(const RenyiCurve& curve, double alpha) {
    return alpha == 1.0 ? curve.divergence(1.0) : curve.log_moment(alpha).value;
}

bool contains(Certified c, double hi, double lo) {
    return lower(c) <= hi && upper(c) >= hi && (lower(c) - hi) - lo <= 0.0 && (upper(c) - hi) - lo >= 0.0;
}

bool close(double a, double b, double tolerance) {
    return a == b || std::fabs(a - b) <= tolerance * std::max(std::fabs(a), std::fabs(b));
}

void pairs_contain_the_truth() {
    Worst error{"pairs and their samples", 200.0}, claimed{"what they claim", 10000.0};
    for (const table::Sampled& row : table::rows<table::Sampled>()) {
        const PairPointer pair = pair_of(row);
        std::vector<Certified> values{at(*pairs::sampled_moment(pair, row.q), row.alpha)};
        if (row.q == 1.0) values.push_back(at(*pairs::moment(pair), row.alpha));
        for (const Certified c : values) {
            CHECK(contains(c, row.hi, row.lo));
            error.relative(c.value, row.hi, row.lo, row.alpha);
            claimed.note_error(c.relative_error / kUnitRoundoff, row.alpha);
        }
    }
    REPORT(error);
    REPORT(claimed);
}

void closed_forms_contain_the_truth() {
    Worst claimed{"bounded range, Gumbel", 200000.0};
    for (const table::Closed& row : table::rows<table::Closed>()) {
        const CurvePointer curve =
            row.family == 0.0 ? curve_of(BoundedRangeCurve(row.first)) : pairs::gumbel(row.first);
        const Certified c = at(*curve, row.alpha);
        CHECK(contains(c, row.hi, row.lo));
        claimed.note_error(c.relative_error / kUnitRoundoff, row.alpha);
    }
    REPORT(claimed);
}

std::vector<CurvePointer> some_curves() {
    std::vector<CurvePointer> curves{curve_of(LinearCurve(0.3)),
                                     curve_of(LinearCurve(0.01, 0.2)),
                                     pairs::moment(pairs::laplace(0.2)),
                                     pairs::moment(pairs::laplace(5.0)),
                                     pairs::moment(pairs::bounded_range(2.0)),
                                     pairs::moment(renyi::randomized_response(0.8, 4)),
                                     pairs::moment(pairs::pure_dp(0.1)),
                                     pairs::moment(renyi::discrete_laplace(2.0, 3)),
                                     curve_of(BoundedRangeCurve(0.01)),
                                     curve_of(BoundedRangeCurve(3.0)),
                                     pairs::gumbel(0.02),
                                     curve_of(SampledGaussianCurve(0.01, 1.0))};
    for (const double q : {1e-4, 0.1, 0.7}) {
        curves.push_back(pairs::sampled_moment(pairs::laplace(0.5), q));
        curves.push_back(pairs::sampled_moment(pairs::bounded_range(1.0), q));
        curves.push_back(pairs::sampled_moment(renyi::randomized_response(0.7, 2), q));
    }
    return curves;
}

void derivatives_are_those_of_k() {
    for (const CurvePointer& curve : some_curves()) {
        for (const double alpha : {1.001, 1.5, 2.0, 7.0, 30.0}) {
            if (alpha * 1.001 > curve->largest_order()) continue;
            const double h = 1e-4 * (alpha - 1.0);
            const LogMoment m = curve->log_moment(alpha), up = curve->log_moment(alpha + h),
                            down = curve->log_moment(alpha - h);
            CHECK(close(m.first, (up.value.value - down.value.value) / (2.0 * h), 1e-5));
            CHECK(close(m.second, (up.first - down.first) / (2.0 * h), 1e-5) || m.second < 1e-6 * m.first);
            CHECK(m.first * (alpha - 1.0) >= m.value.value * (1.0 - 1e-12));  // convex, 0 at 1
            CHECK(close(curve->divergence(alpha).value, m.value.value / (alpha - 1.0), 1e-13));
        }
        const Certified divergence = curve->divergence(1.0);
        CHECK(close(divergence.value, curve->log_moment(1.0).first, 1e-13));
        CHECK(close(divergence.value, curve->divergence(1.0 + 0x1p-40).value, 1e-9));
        CHECK(curve->log_moment(1.0).value.value == 0.0);
    }
}

// D rises with the order to the largest loss.
void divergences_rise_to_the_largest_loss() {
    for (const CurvePointer& curve : some_curves()) {
        double last = 0.0;
        for (double alpha = 1.0; alpha <= std::min(curve->largest_order(), 1e6); alpha = 1.0 + 3.0 * (alpha - 0.99)) {
            const Certified d = curve->divergence(alpha);
            CHECK_THAT(upper(d), >=, last);
            CHECK_THAT(lower(d), <=, curve->largest_loss());
            last = lower(d);
        }
        if (curve->largest_loss() < kInfinity)
            CHECK_THAT(upper(curve->divergence(1e6)), >=, 0.99 * curve->largest_loss() - 1e-4);
    }
}

// The expansion of Zhu and Wang at whole orders is a second way to the same number.
void samples_agree_with_the_expansion() {
    const std::vector<PairPointer> bases{pairs::laplace(0.1),
                                         pairs::laplace(2.0),
                                         pairs::bounded_range(1.0),
                                         renyi::randomized_response(0.9, 2),
                                         renyi::randomized_response(0.3, 8),
                                         renyi::discrete_laplace(3.0, 2)};
    for (const PairPointer& pair : bases) {
        for (const double q : {1e-6, 0.01, 0.3, 0.99}) {
            const CurvePointer sampled = pairs::sampled_moment(pair, q);
            const PoissonBound expansion(pairs::moment(pair), q, PoissonBoundKind::tight);
            for (const double alpha : {2.0, 3.0, 8.0, 100.0})
                CHECK(close(sampled->log_moment(alpha).value.value, expansion.log_moment(alpha).value.value, 1e-11));
            CHECK(close(sampled->largest_loss(), expansion.largest_loss(), 1e-12));
        }
    }
}

void limits_of_pairs() {
    for (const double alpha : {1.0, 1.5, 2.0, 1e6}) {
        CHECK(pairs::sampled_moment(pairs::laplace(0.5), 0.0)->log_moment(alpha).value.value == 0.0);
        CHECK(pairs::sampled_moment(renyi::randomized_response(0.9, 2), 0.0)->log_moment(alpha).value.value == 0.0);
        CHECK(pairs::moment(pairs::bounded_range(0.0))->log_moment(alpha).value.value == 0.0);
        CHECK(BoundedRangeCurve(0.0).log_moment(alpha).value.value == 0.0);
        CHECK(pairs::gumbel(0.0)->log_moment(alpha).value.value == 0.0);
    }
    CHECK(
        close(pairs::moment(pairs::laplace(1e-3))->log_moment(1e6).value.value, 999999.0 * 1e3 - std::log(2.0), 1e-14));
    // Randomized response of two answers is the worst pair of pure differential privacy.
    const double p = 0.8, epsilon = std::log(p / (1.0 - p));
    for (const double alpha : {1.3, 2.0, 50.0}) {
        CHECK(close(pairs::moment(renyi::randomized_response(p, 2))->log_moment(alpha).value.value,
                    pairs::moment(pairs::pure_dp(epsilon))->log_moment(alpha).value.value, 1e-13));
        CHECK(close(pairs::moment(renyi::randomized_response(1.0 - p, 2))->log_moment(alpha).value.value,
                    pairs::moment(pairs::pure_dp(epsilon))->log_moment(alpha).value.value, 1e-13));
        // Fine steps of noise on the integers are Laplace noise.
        CHECK(close(pairs::moment(renyi::discrete_laplace(2000.0, 1000))->log_moment(alpha).value.value,
                    pairs::moment(pairs::laplace(2.0))->log_moment(alpha).value.value, 1e-6));
        // The worst pair of every order is below the pair that dominates at all of them.
        CHECK_THAT(BoundedRangeCurve(1.0).log_moment(alpha).value.value, <,
                   pairs::moment(pairs::bounded_range(1.0))->log_moment(alpha).value.value);
    }
    // An atom of Q alone: P never gives that answer.
    const PairPointer missing = discrete_pair({1.0, 0.0}, {0.5, 0.5});
    CHECK(close(pairs::moment(missing)->log_moment(3.0).value.value, 2.0 * std::log(2.0), 1e-15));
    CHECK(close(pairs::moment(missing)->divergence(1.0).value, std::log(2.0), 1e-15));
    CHECK(close(pairs::sampled_moment(missing, 0.25)->log_moment(2.0).value.value, std::log(1.0 + 0.0625), 1e-15));
}

// Losses whose squares leave the range of double: a bound stands for them, never 0.
void underflow_is_a_bound() {
    const std::vector<CurvePointer> curves{pairs::moment(pairs::laplace(1e200)), pairs::moment(pairs::pure_dp(1e-160)),
                                           pairs::sampled_moment(pairs::laplace(1e150), 1e-100),
                                           curve_of(BoundedRangeCurve(1e-170)), pairs::gumbel(1e-180)};
    for (const CurvePointer& curve : curves) {
        for (const double alpha : {1.0, 1.0 + 1e-9, 2.0, 100.0}) {
            const Certified d = curve->divergence(alpha);
            CHECK(upper(d) > 0.0 && upper(d) < 1e-200 && lower(d) <= 0.0);
        }
        CHECK(curve->log_moment(1.0).value.value == 0.0);
    }
}

void gumbel_ends_at_its_largest_order() {
    for (const double shift : {1e-4, 0.1, 1.0, 20.0, 40.0, 1e3}) {
        const CurvePointer curve = pairs::gumbel(shift);
        const double largest = curve->largest_order();
        CHECK_THAT(largest, >=, 1.0);
        CHECK_THAT(largest, <=, 1.0 / -std::expm1(-shift));
        if (largest > 1.0 && largest <= 1e6) CHECK(std::isfinite(upper(curve->log_moment(largest).value)));
        CHECK(curve->largest_loss() == kInfinity);
    }
}

void polygons_are_the_lower_hull() {
    // The point at 3 lies above the chord, the one at 6 is infinite.
    const Polygon polygon({{5.0, 8.0}, {2.0, 1.0}, {3.0, 5.0}, {6.0, kInfinity}, {2.0, 1.5}});
    CHECK(polygon.largest_order() == 5.0);
    CHECK(polygon.largest_loss() == kInfinity);
    const double orders[] = {1.0, 1.5, 2.0, 3.0, 4.5, 5.0}, values[] = {0.0, 0.5, 1.0, 10.0 / 3.0, 41.0 / 6.0, 8.0};
    for (int i = 0; i < 6; ++i) {
        const LogMoment m = polygon.log_moment(orders[i]);
        CHECK_THAT(lower(m.value), <=, values[i]);
        CHECK_THAT(upper(m.value), >=, values[i]);
        CHECK(close(m.first, orders[i] < 2.0 ? 1.0 : 7.0 / 3.0, 1e-15));
        CHECK(m.second == 0.0);
    }
    CHECK(polygon.divergence(1.0).value == 1.0);
    CHECK(polygon.log_moment(5.1).value.value == kInfinity);
    // A convex curve through many points: every one is a corner, and the polygon is above in between.
    std::vector<PolygonPoint> points;
    for (int n = 40; n >= 2; --n) points.push_back({static_cast<double>(n), 0.5 * n * (n - 1.0)});
    const Polygon chords(points);
    for (double alpha = 1.25; alpha < 40.0; alpha += 0.25) {
        const double truth = 0.5 * alpha * (alpha - 1.0), value = chords.log_moment(alpha).value.value;
        CHECK(alpha == std::floor(alpha) ? close(value, truth, 1e-14) : value > truth && value < truth + 0.13);
    }
    CHECK(Polygon({}).largest_order() == 1.0);
    CHECK(Polygon({}).divergence(1.0).value == kInfinity);
}

void compositions_add_and_the_smaller_wins() {
    const CurvePointer linear = curve_of(LinearCurve(0.5)), laplace = pairs::moment(pairs::laplace(1.0)),
                       table = curve_of(Polygon({{2.0, 0.1}, {9.0, 3.0}}));
    const ComposedCurve sum({{linear, 2.0}, {laplace, 3.0}, {table, 1.0}});
    const SmallerCurve smaller(laplace, table);
    CHECK(sum.largest_order() == 9.0 && sum.largest_loss() == kInfinity);
    CHECK(smaller.largest_order() == kInfinity && smaller.largest_loss() == laplace->largest_loss());
    for (const double alpha : {1.0, 1.5, 2.0, 8.5}) {
        const auto first = [&](const RenyiCurve& c) { return c.log_moment(alpha).first; };
        const auto value = [&](const RenyiCurve& c) { return at(c, alpha).value; };
        CHECK(close(value(sum), 2.0 * value(*linear) + 3.0 * value(*laplace) + value(*table), 1e-15));
        CHECK(close(first(sum), 2.0 * first(*linear) + 3.0 * first(*laplace) + first(*table), 1e-15));
        CHECK(close(value(smaller), std::min(value(*laplace), value(*table)), 1e-15));
    }
    CHECK(smaller.log_moment(20.0).value.value == laplace->log_moment(20.0).value.value);
    const ComposedCurve pure({{laplace, 10.0}, {pairs::moment(pairs::pure_dp(0.1)), 3.0}});
    CHECK_THAT(pure.largest_loss(), >=, 10.3);
    CHECK_THAT(pure.largest_loss(), <=, 10.3 * (1.0 + 1e-14));
}

}  // namespace

int main() {
    pairs_contain_the_truth();
    closed_forms_contain_the_truth();
    derivatives_are_those_of_k();
    divergences_rise_to_the_largest_loss();
    samples_agree_with_the_expansion();
    limits_of_pairs();
    underflow_is_a_bound();
    gumbel_ends_at_its_largest_order();
    polygons_are_the_lower_hull();
    compositions_add_and_the_smaller_wins();
    return check::finish();
}
