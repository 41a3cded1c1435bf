// What is neither of included records nor of others, against a much finer rule in long double, and its bounds; the
// curve on the line against split sums, which take other windows and other nodes, and against binomial means of
// Gaussian curves where outputs nearly tell inclusion.
#include "renyi/curve/inclusion_line.hpp"

#include <cmath>
#include <complex>
#include <random>

#include "check.hpp"
#include "renyi/curve/placed_splits.hpp"
#include "renyi/curve/included_records.hpp"
#include "renyi/fp/lanes.hpp"

using namespace renyi;

namespace {

using Real = long double;
using Complex = std::complex<Real>;

constexpr Real kRootTwoPi = 2.506628274631000502415765284811L;

// The integral of phi(x) ((1 + e^v)^a (1 + e^v')^-z - 1 - e^{a v}), v' at -x of replaced records, else nothing, from
// where both are -60 to far beyond the peak.
Complex overlap(const InclusionOverlap& s, Real t, Real y) {
    const Real c = s.c, h = 0.01L / c, centre = (-s.log_odds) / c + 0.5L * c;
    const Complex a{1 + t, y};
    Complex sum{};
    const Real first = s.replaces ? std::fmin(-60.0L, 2 * s.log_odds - c * c - 60 - 10 * c) : -60.0L;
    for (long j = static_cast<long>(first / (c * h)); j < static_cast<long>((60 + 2 * c * c * (1 + t)) / (c * h)); ++j) {
        const Real x = centre + static_cast<Real>(j) * h, v = c * static_cast<Real>(j) * h;
        const Real l = std::log1p(std::exp(-std::fabs(v))),
                   other = s.replaces ? std::log1p(std::exp(2 * Real{s.log_odds} - c * c - v)) : 0;
        // grown = e^{a l - z other} - 1
        const Real half = std::sin(y * (l - other) / 2), more = std::expm1((1 + t) * l - t * other);
        const Complex grown{more - 2 * (more + 1) * half * half, (more + 1) * std::sin(y * (l - other))},
            tilted = std::exp(a * v);
        const Complex term = v < 0 ? grown - tilted : tilted * grown - Real{1};
        sum += h * std::exp(-x * x / 2) / kRootTwoPi * term;
    }
    return sum;
}

// Of the densities of both losses, the part at which that of included records is larger.
Real negative_part(const InclusionOverlap& s, Real t) {
    const Real c = s.c, h = 1e-3L;
    const auto output = [&](Real v) { return (v - s.log_odds) / c + 0.5L * c; };
    Real sum = 0;
    for (Real v = -60; v < 6; v += h) {  // of T - log(1-q); beyond, both are too near each other
        const Real x = output(v), with = std::exp(-x * x / 2 + (1 + t) * v) / (kRootTwoPi * c);
        Real all = 0;
        if (s.replaces) {
            // (1 + a)/(1 + k/a) = e^v, a^2 + a (1 - e^v) - k e^v = 0
            const Real k = std::exp(2 * Real{s.log_odds} - c * c), b = std::expm1(v) / 2;
            const Real root = std::sqrt(b * b + k * std::exp(v)), a = b > 0 ? b + root : k * std::exp(v) / (root - b);
            const Real at = output(std::log(a));
            all = std::exp(-at * at / 2 + t * v) * (1 + a) / (a / (1 + a) + k / (a + k)) / (kRootTwoPi * c);
        } else if (v > 0) {
            const Real odds = std::log(std::expm1(v)), at = output(odds);
            all = std::exp(-at * at / 2 + (1 + t) * v + v - odds) / (kRootTwoPi * c);
        }
        sum += h * std::fmax(with - all, 0);
    }
    return sum;
}

// V of InclusionOverlap::change.
Real change(const InclusionOverlap& s, Real t) {
    const Real c = s.c, h = 0.01L / c;
    Real sum = 0;
    for (Real x = s.replaces ? -12 - 2 * c : -12; x < 12 + 2 * c; x += h) {
        const Real w = std::exp(c * x - c * c / 2 + s.log_odds),
                   other = s.replaces ? std::log1p(std::exp(-c * x - c * c / 2 + s.log_odds)) : 0;
        const Real loss = std::log1p(w) - other, beyond = std::log1p(1 / w) - other;  // of 0 and of log w
        const Real without = std::sqrt(std::exp(t * std::fmax(loss, 0)) * std::fabs(std::expm1(t * loss)));
        const Real with = std::sqrt(std::exp(t * loss) * std::pow(w, t) * std::expm1(t * std::fmax(beyond, 0)));
        sum += h * std::exp(-x * x / 2) / kRootTwoPi * (without + w * with);
    }
    return sum;
}

void compare_overlaps(SampledPair pair) {
    std::mt19937_64 random(1);
    std::uniform_real_distribution<double> unit(0.0, 1.0);
    for (int i = 0; i < check::cases(12); ++i) {
        const double sigma = std::exp(std::log(0.06) + unit(random) * std::log(8.0)),
                     q = std::exp(-14.0 * unit(random) - 0.1);
        InclusionOverlap s({q, sigma, std::exp(20.0 * unit(random))}, pair);
        if (!s.is_little()) continue;
        const double tilt = 0.4 * unit(random) + (sigma > 0.2 ? 1.5 * unit(random) : 0.0), last = 8.0 * sigma;
        if (!s.place(tilt, last)) continue;
        s.set_tilt(tilt);
        double y[kLanes], re[kLanes], im[kLanes];
        for (int j = 0; j < kLanes; ++j) y[j] = last * j / (kLanes - 1);
        s.at_ordinates(y, re, im);
        const double error = s.error(tilt, last),
                     small = 1e-14 / s.count * (1.0 + std::exp(s.log_included(tilt))) + 1e-10 * s.above(tilt);
        CHECK_THAT(error, <, small);
        for (int j = 0; j < kLanes; j += 5) {
            const Complex truth = overlap(s, tilt, y[j]);
            CHECK_THAT(static_cast<double>(std::abs(truth - Complex{re[j], im[j]})), <=, error * (1.0 + 1e-9));
            const Complex a{1 + Real{tilt}, y[j]};
            const Complex included = std::exp(a * (Real{s.log_odds} + Real{s.c} * s.c * (a - Real{1}) / Real{2}));
            const double all = static_cast<double>(std::abs(Real{1} + truth + included));
            for (int i = 0; i <= j; ++i)
                CHECK_THAT(all, <=, (1.0 + s.at(tilt) + error + s.decayed(tilt, y[i])) * (1.0 + 1e-12));
        }
        const Real real = overlap(s, tilt, 0).real();
        CHECK_THAT(std::fabs(static_cast<double>(real - Real{s.at(tilt)})), <=, s.error(tilt, 0.0));
        CHECK_THAT(static_cast<double>(std::fabs(real)), <=, s.above(tilt));
        const double part = unit(random);
        CHECK_THAT(static_cast<double>(change(s, part)), <=, s.change(part));
        const Real d = 1e-5L, slope = (overlap(s, tilt + d, 0).real() - overlap(s, tilt - d, 0).real()) / (2 * d);
        CHECK_THAT(std::fabs(static_cast<double>(slope) - s.slope_at(tilt)), <=,
                   1e-5 * std::fabs(s.slope_at(tilt)) + 10.0 * small);
        CHECK_THAT(static_cast<double>(negative_part(s, tilt)), <=,
                   s.negative_part(tilt) * (1.0 + 1e-3));  // of the rule
    }
}

void compare_with_sums(SampledPair pair) {
    for (const double q : {1e-3, 0.05, 0.4})
        for (const double sigma : {0.12, 0.18, 0.25})
            for (const double count : {3.0, 700.0}) {
                if (!check::is_tried()) continue;
                const SampledStep step{q, sigma, count};
                const SortedSteps c = sorted_steps({&step, 1});
                InclusionLine line(c, pair);
                PlacedSplits sums(c, pair);
                for (const double delta : {1e-30, 1e-6, 1e-3}) {
                    const Bracket a = line.epsilon(delta), b = sums.epsilon(delta, 0.0);
                    if (!(b.lower > 0.0) || !(a.upper < kInfinity)) continue;
                    CHECK_THAT(a.lower, <=, b.upper);
                    CHECK_THAT(b.lower, <=, a.upper);
                    const Bracket at = line.delta(b.upper);
                    CHECK_THAT(at.lower, <=, delta);
                }
            }
}

void compare_with_means() {
    for (const double q : {1e-4, 0.03, 0.9})
        for (const double sigma : {0.004, 0.009, 0.02, 0.045})
            for (const double count : {1.0, 7.0, 3000.0, 1e6}) {
                if (!check::is_tried()) continue;
                const SampledStep step{q, sigma, count};
                const SortedSteps c = sorted_steps({&step, 1});
                const Inclusions revealed = revealed_inclusions(c, SampledPair::remove, kLeastGoal);
                if (sigma > 0.01 && revealed == Inclusions::unknown) continue;
                CHECK(revealed != Inclusions::unknown);
                InclusionLine line(c, SampledPair::remove);
                for (const double delta : {1e-40, 1e-7, 0.2 * q}) {
                    const Bracket a = line.epsilon(delta), b = included_records_epsilon(step, SampledPair::remove, delta);
                    CHECK(b.upper - b.lower <= 1e-9 * b.upper);
                    CHECK_THAT(a.lower, <=, b.upper);
                    CHECK_THAT(b.lower, <=, a.upper);
                    CHECK_THAT(included_records_delta(step, SampledPair::remove, b.upper).lower, <=, delta);
                }
            }
}

// 1 - (1-q)^2, next to which delta is from some epsilon below 0 to several hundred.
void stand_on_a_plateau() {
    const SampledStep step{0.5, 0.02, 2.0};
    const SortedSteps c = sorted_steps({&step, 1});
    InclusionLine line(c, SampledPair::remove);
    const double below = line.epsilon(0.75 * (1.0 - 1e-9)).lower;
    CHECK_THAT(line.epsilon(0.75).upper, >=, below - 120.0);
    CHECK_THAT(line.epsilon(0.75).upper, <=, below);
    CHECK_THAT(below, >, 700.0);
}

}  // namespace

int main() {
    compare_overlaps(SampledPair::remove);
    compare_overlaps(SampledPair::replace_one);
    compare_with_sums(SampledPair::remove);
    compare_with_sums(SampledPair::replace_one);
    compare_with_means();
    stand_on_a_plateau();
    return check::finish();
}
