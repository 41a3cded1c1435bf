// Guarantees of compositions with Renyi curves in them: ends that hold each other, corners of polygons, largest orders
// and largest losses. Orders by trial are in Python.
#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "check.hpp"
#include "pairs.hpp"
#include "renyi/curve/rdp_guarantee.hpp"
#include "renyi/pair/noise/normal_moment.hpp"
#include "renyi/pair/renyi_curve.hpp"
#include "renyi/transform/renyi_curves.hpp"

using namespace renyi;

namespace {

constexpr Conversion kAll[] = {Conversion::mironov, Conversion::balle, Conversion::asoodeh, Conversion::optimal};

template <class Curve>
CurvePointer curve_of(Curve curve) {
    return std::make_shared<const Curve>(std::move(curve));
}

CurvePointer chords(double rho, double largest, double ratio) {
    std::vector<Corner> points;
    for (double a = 1.0 + ratio; a <= largest; a = 1.0 + (a - 1.0) * (1.0 + ratio))
        points.push_back({a, rho * a * (a - 1.0)});
    return polygon(std::move(points));
}

struct Mix {
    std::vector<SampledStep> steps;
    std::vector<CountedCurve> curves;

    operator Composition() const { return {steps, {}, curves}; }
};

std::vector<Mix> some_mixes() {
    const CurvePointer laplace = pairs::moment(pairs::laplace(2.0)),
                       answers = pairs::moment(renyi::randomized_response(0.6, 3)),
                       sampled = pairs::sampled_moment(pairs::laplace(0.5), 0.01), range = bounded_range_curve(0.2),
                       gumbel = pairs::gumbel(0.05), linear = curve_of(LinearCurve(0.02)),
                       bound = poisson_bound(curve_of(LinearCurve(0.5)), 0.01, PoissonBoundKind::general);
    std::vector<Mix> mixes;
    mixes.emplace_back(Mix{{}, {{laplace, 1.0}}});
    mixes.emplace_back(Mix{{}, {{laplace, 40.0}, {answers, 5.0}}});
    mixes.emplace_back(Mix{{}, {{sampled, 1000.0}}});
    mixes.emplace_back(Mix{{}, {{range, 30.0}}});
    mixes.emplace_back(Mix{{}, {{gumbel, 10.0}}});
    mixes.emplace_back(Mix{{}, {{linear, 10.0}, {gumbel, 1.0}}});
    mixes.emplace_back(Mix{{{0.01, 1.0, 1000.0}}, {{laplace, 3.0}, {sampled, 20.0}}});
    mixes.emplace_back(Mix{{}, {{bound, 300.0}}});
    mixes.emplace_back(Mix{{}, {{chords(0.02, 300.0, 0.1), 3.0}}});
    mixes.emplace_back(Mix{{}, {{chords(0.3, 4.0, 0.3), 1.0}, {linear, 1.0}}});
    mixes.emplace_back(Mix{{{0.001, 0.8, 500.0}}, {{chords(1e-4, 1e5, 1.0), 1.0}}});
    // Rare parts that rule from some order on, and curves that cross.
    const CurvePointer rare = labelled_mixture({{1e-130, curve_of(LinearCurve(1e4))}, {1e-6, linear}});
    mixes.emplace_back(Mix{{}, {{rare, 1.0}}});
    const CurvePointer steep = curve_of(LinearCurve(0.5)), sampled_steep = mixture_bound(steep, 0.01);
    const CurvePointer crossing = smaller_curve(bound, sampled_steep);
    mixes.emplace_back(Mix{{}, {{crossing, 1.0}}});
    mixes.emplace_back(Mix{{{0.01, 1.0, 100.0}}, {{crossing, 30.0}}});
    return mixes;
}

// That no list of orders does better is tested in Python.
void guarantees_are_consistent() {
    for (const Mix& mix : some_mixes()) {
        const double loss = largest_loss(mix);
        for (const Conversion c : kAll) {
            for (const double delta : {1e-10, 1e-5, 0.01}) {
                if (!check::is_tried()) continue;
                const RdpGuarantee g = rdp_epsilon(mix, delta, c, {});
                CHECK(g.floor <= g.value && g.value <= loss * (1.0 + 1e-14));
                const RdpGuarantee d =
                    rdp_delta(mix, std::isfinite(g.value) && g.value > 0.0 ? 0.9 * g.value : 0.5, c, {});
                CHECK(d.floor <= d.value && d.value <= 1.0);
                // The way back.
                if (g.value > 0.0 && g.order < kInfinity && c != Conversion::mironov)
                    CHECK_THAT(rdp_delta(mix, g.value, c, {}).floor, <=, delta * (1.0 + 1e-8));
            }
        }
    }
}

// Curves whose values are compared in Python.
void bounds_of_samples_selection_and_allocation() {
    const CurvePointer linear = curve_of(LinearCurve(0.02)), laplace = pairs::moment(pairs::laplace(2.0));
    const CurvePointer curves[] = {repeat_and_select(linear, 10.0, 0.5), repeat_and_select(linear, 10.0, kInfinity),
                                   random_allocation_curve(2.0, 100), fixed_size_bound(laplace, 0.01, true),
                                   poisson_bound(linear, 0.01, PoissonBoundKind::tight)};
    for (const CurvePointer& curve : curves) {
        const Mix mix{{}, {{curve, 3.0}}};
        const RdpGuarantee g = rdp_epsilon(mix, 1e-6, Conversion::optimal, {});
        CHECK(g.floor <= g.value && g.value <= largest_loss(mix));
        for (double t = 1e-3; t < 1e3; t *= 1.5) {
            const Certified k = log_moment(mix, 1.0 + t);
            if (!std::isfinite(k.value)) continue;
            const double one = epsilon_from_rdp(Conversion::optimal, 1.0 + t, upper(k), std::log(1e-6), Rounding::up);
            CHECK_THAT(g.value, <=, std::max(one, 0.0) * (1.0 + 1e-10));
        }
    }
}

// A table over its own orders: the corners are found, the last of them too.
void corners_of_polygons() {
    for (const double rho : {1e-3, 0.02, 0.7, 5.0}) {
        std::vector<Corner> points;
        std::vector<double> orders;
        for (const double a : {1.25, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 16.0, 32.0}) {
            points.push_back({a, rho * a * (a - 1.0)});
            orders.push_back(a);
        }
        const Mix mix{{}, {{polygon(points), 1.0}}};
        for (const Conversion c : {Conversion::mironov, Conversion::balle}) {
            for (const double delta : {1e-12, 1e-6, 0.1}) {
                const double list = rdp_epsilon(mix, delta, c, orders).value;
                const RdpGuarantee free = rdp_epsilon(mix, delta, c, {});
                CHECK_THAT(free.value, <=, list * (1.0 + 1e-12) + 1e-15);
                // K is linear between corners: mironov's best order is one of them
                if (c == Conversion::mironov) CHECK_THAT(free.value, >=, list * (1.0 - 1e-12));
            }
        }
    }
}

void orders_beyond_the_largest_are_infinite() {
    const CurvePointer table = polygon({{2.0, 0.1}, {4.0, 0.9}});
    const Mix mix{{{1.0, 5.0, 3.0}}, {{table, 2.0}}};
    const std::vector<double> all{1.5, 3.0, 5.0, 64.0}, beyond{5.0, 64.0};
    CHECK(largest_order(mix) == 4.0);
    CHECK(log_moment(mix, 4.5).value == kInfinity && rdp(mix, 4.5).value == kInfinity);
    CHECK_THAT(log_moment(mix, 4.0).value, <, 3.0);
    for (const Conversion c : kAll) {
        CHECK(rdp_epsilon(mix, 1e-6, c, {}).order <= 4.0);
        CHECK(rdp_epsilon(mix, 1e-6, c, all).order == 3.0);
        CHECK(rdp_epsilon(mix, 1e-6, c, beyond).value == kInfinity);
        CHECK(rdp_delta(mix, 1.0, c, beyond).value == 1.0);
        CHECK(rdp_delta(mix, 1.0, c, all).value < 1.0);
    }
    // Only the divergence is finite: Gumbel noise that is far too small.
    const Mix hopeless{{}, {{pairs::gumbel(60.0), 1.0}}};
    for (const Conversion c : kAll) {
        CHECK(rdp_epsilon(hopeless, 1e-6, c, {}).value == kInfinity);
        CHECK(rdp_delta(hopeless, 1.0, c, {}).value == 1.0);
    }
    const Mix nothing_known{{}, {{polygon({}), 1.0}}};
    CHECK(rdp_epsilon(nothing_known, 1e-6, Conversion::optimal, {}).value == kInfinity);
    CHECK(rdp_delta(nothing_known, 1.0, Conversion::optimal, {}).value == 1.0);
}

}  // namespace

int main() {
    guarantees_are_consistent();
    bounds_of_samples_selection_and_allocation();
    corners_of_polygons();
    orders_beyond_the_largest_are_infinite();
    return check::finish();
}
