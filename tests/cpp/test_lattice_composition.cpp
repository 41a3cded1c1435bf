// Sums over the nodes of a composed law, in long double, against both ways to make them; spectra with their errors.
#include <algorithm>
#include <cmath>
#include <complex>
#include <random>
#include <vector>

#include "check.hpp"
#include "radix_two.hpp"
#include "renyi/transform/lattice/spectrum.hpp"
#include "renyi/transform/lattice/lattice.hpp"
#include "renyi/transform/lattice/loss_composition.hpp"
#include "renyi/transform/lattice/tilted_law.hpp"
#include "renyi/transform/lattice/composed_sides.hpp"

using namespace renyi;
using namespace renyi::lattice;

namespace {

RadixTwo fourier;
using LongComplex = std::complex<long double>;

// Tilted weights of sum 1 with a bell shape, so that they have few frequencies when they are composed.
std::vector<double> bell(std::size_t n) {
    std::vector<double> weights(n);
    double sum = 0.0;
    for (std::size_t i = 0; i < n; ++i) {
        const double x = (static_cast<double>(i) - 0.4 * static_cast<double>(n)) / (0.15 * static_cast<double>(n));
        sum += weights[i] = std::exp(-0.5 * x * x) * (1.0 + 0.3 * std::sin(static_cast<double>(i)));
    }
    for (double& w : weights) w /= sum;
    return weights;
}

std::vector<long double> power(const std::vector<double>& weights, int count) {
    std::vector<long double> all{1.0L};
    for (int use = 0; use < count; ++use) {
        std::vector<long double> next(all.size() + weights.size() - 1, 0.0L);
        for (std::size_t i = 0; i < all.size(); ++i) {
            for (std::size_t j = 0; j < weights.size(); ++j) next[i + j] += all[i] * weights[j];
        }
        all = std::move(next);
    }
    return all;
}

long double tail(const std::vector<long double>& masses, std::int64_t start, double distance, double step,
                 double theta) {
    long double sum = 0.0L;
    for (std::size_t k = static_cast<std::size_t>(std::max<std::int64_t>(start, 0)); k < masses.size(); ++k) {
        const long double beyond = static_cast<long double>(k) - static_cast<long double>(start);
        sum += masses[k] * -std::expm1(-(distance + step * beyond)) * std::exp(-theta * beyond);
    }
    return sum;
}

void tails_of_nodes() {
    for (const double theta : {0x1p-20, 0.001, 0.3, 20.0}) {
        for (const double step : {1e-6, 0.01, 3.0}) {
            const std::vector<double> weights = bell(40);
            const std::vector<long double> exact = power(weights, 30);
            const Window window{0, 2048};
            const auto law = compose({{weights, 30, 0}}, window, 0, step, theta, fourier);
            for (const std::int64_t start : {0, 1, 255, 256, 257, 480, 700, 1170, 1171, 2047}) {
                for (const double share : {1e-9, 0.5, 1.0}) {
                    const long double truth = tail(exact, start, share * step, step, theta);
                    const WeightedSum found = law->sum_from(start, share * step);
                    CHECK_THAT(std::fabs(static_cast<double>(found.value - truth)), <=, found.error);
                    CHECK_THAT(found.error, <=, 1e-9 * (sum_of_weights(theta, step, share * step) + 1.0));
                }
            }
        }
    }
}

void tails_of_frequencies() {
    const std::vector<double> weights = bell(40);
    const std::vector<long double> exact = power(weights, 400);
    const Window window{2000, 1 << 14};  // all but the lowest nodes, of next to no mass
    int served = 0;
    for (const double theta : {1e-4, 0.003, 0.1}) {
        for (const double step : {1e-5, 0.02}) {
            const auto law = low_frequencies({{weights, 400, 0}}, window, 0, step, theta, fourier);
            if (!law) continue;
            ++served;
            for (const std::int64_t start : {2000, 6200, 6300, 7000}) {
                const long double truth = tail(exact, start, 0.3 * step, step, theta);
                const WeightedSum found = law->sum_from(start, 0.3 * step);
                CHECK_THAT(std::fabs(static_cast<double>(found.value - truth)), <=, found.error);
                CHECK_THAT(found.error, <=, 1e-8 * sum_of_weights(theta, step, 0.3 * step));
            }
        }
    }
    CHECK(served == 6);
}

// Outcomes all in the bulk are left out: two parts, against all pairs of masses.
void without_bulk() {
    const std::vector<double> a = bell(24), b = bell(31);
    std::vector<double> small_a(a.begin(), a.begin() + 10), small_b(b.begin(), b.begin() + 17);
    const auto times = [](const std::vector<long double>& x, const std::vector<long double>& y) {
        std::vector<long double> z(x.size() + y.size() - 1, 0.0L);
        for (std::size_t i = 0; i < x.size(); ++i) {
            for (std::size_t j = 0; j < y.size(); ++j) z[i + j] += x[i] * y[j];
        }
        return z;
    };
    std::vector<long double> exact = times(power(a, 3), power(b, 2));
    const std::vector<long double> bulk = times(power(small_a, 3), power(small_b, 2));
    for (std::size_t i = 0; i < bulk.size(); ++i) exact[i] -= bulk[i];
    const std::vector<TiltedPart> parts{{a, 3, 10}, {b, 2, 17}};
    const double step = 0.1, theta = 0.05;
    const auto law = compose(parts, {0, 256}, 0, step, theta, fourier);
    for (const std::int64_t start : {0, 20, 60, 100}) {
        const WeightedSum found = law->sum_from(start, step);
        const long double truth = tail(exact, start, step, step, theta);
        CHECK_THAT(std::fabs(static_cast<double>(found.value - truth)), <=, found.error);
        CHECK_THAT(found.error, <=, 1e-11);
    }
    // What is beyond a node, by Markov's inequality.
    for (const std::int64_t node : {30, 60, 100}) {
        long double beyond = 0.0L, below = 0.0L;
        for (std::size_t i = 0; i < exact.size(); ++i) {
            (static_cast<std::int64_t>(i) >= node ? beyond : below) += exact[i];
            if (static_cast<std::int64_t>(i) == node) below += exact[i];
        }
        for (const double s : {0.01, 0.2, 1.0, 50.0}) {
            CHECK_THAT(mass_beyond(parts, 0, node, s), >=, static_cast<double>(beyond) * (1.0 - 1e-12));
            CHECK_THAT(mass_beyond(parts, 0, node, -s), >=, static_cast<double>(below) * (1.0 - 1e-12));
        }
    }
}

void spectra() {
    std::mt19937_64 random(3);
    std::uniform_real_distribution<double> uniform(-0.7, 0.7);
    Spectrum z(37), b(37);
    for (std::size_t i = 0; i < z.size(); ++i) {
        z.value[i] = {uniform(random), uniform(random)};
        b.value[i] = {uniform(random), uniform(random)};
    }
    z.value[5] = b.value[7] = 0.0;
    z.set_error(0.0);
    b.set_error(0.0);
    for (const std::int64_t count : {1, 2, 3, 7, 64, 1001, 1000000}) {
        const Spectrum raised = power_of(z, count), sum = geometric_sum(z, b, count);
        for (std::size_t i = 0; i < z.size(); ++i) {
            const LongComplex x = z.value[i], y = b.value[i];
            const LongComplex truth = std::pow(x, static_cast<long double>(count));
            CHECK_THAT(static_cast<double>(std::abs(LongComplex(raised.value[i]) - truth)), <=,
                       raised.error[i] + 1e-18);
            CHECK_THAT(static_cast<double>(std::abs(truth)), <=, raised.reach[i]);
            if (count > 2000) continue;
            LongComplex series = 0.0L, term = 1.0L;
            for (std::int64_t k = 0; k < count; ++k) {
                series = series * y + term;
                term *= x;
            }
            CHECK_THAT(static_cast<double>(std::abs(LongComplex(sum.value[i]) - series)), <=, sum.error[i] + 1e-15);
            CHECK_THAT(static_cast<double>(std::abs(series)), <=, sum.reach[i]);
        }
    }
}

void kernels() {
    std::mt19937_64 random(5);
    std::uniform_real_distribution<double> uniform(0.0, 1.0);
    for (const std::size_t n : {1u, 15u, 16u, 257u, 5000u}) {
        std::vector<double> a(n), out(n);
        for (double& x : a) x = uniform(random);
        long double sum = 0.0L, moved = 0.0L;
        for (std::size_t i = 0; i < n; ++i) {
            sum += a[i];
            moved += a[i] * std::exp(0.25L * (1.0L + 0.5L * i) - 3.0L - 0.125L * n);
        }
        CHECK_THAT(std::fabs(static_cast<double>(sum_of(a.data(), n) / sum - 1.0L)), <=, kSumError);
        const double found = exponential_sum(a.data(), n, 0.25, 1.0, 0.5, 3.0 + 0.125 * static_cast<double>(n));
        if (n < 5000) CHECK_THAT(std::fabs(static_cast<double>(found / moved - 1.0L)), <=, 1e-13);
        tilted_weights(a.data(), n, 0x1p-6, 0x1p-3, out.data());
        for (std::size_t i = 0; i < n; ++i) {
            const long double truth = a[i] * std::exp(0x1p-6L * i - 0x1p-3L);
            CHECK_THAT(std::fabs(static_cast<double>(out[i] / truth - 1.0L)), <=, 10.0 * kUnitRoundoff);
        }
    }
}

void crossings() {
    const auto curve = [](double x) { return std::exp(-x * x * x - x); };
    for (const double delta : {0.9, 1e-3, 1e-200}) {
        const Crossing found = log_crossing(curve, delta, 0.3, 0.01, 1e-13);
        CHECK(curve(found.low) > delta && curve(found.high) <= delta);
        CHECK_THAT(found.high - found.low, <=, 1e-12 * std::fabs(found.high));
    }
    CHECK_THAT(log_crossing([](double) { return 0.5; }, 0.1, 0.0, 1.0, 1e-13).high, ==, kInfinity);
    CHECK_THAT(log_crossing([](double) { return 0.5; }, 0.6, 0.0, 1.0, 1e-13).low, ==, -kInfinity);
}

}  // namespace

int main() {
    kernels();
    spectra();
    tails_of_nodes();
    tails_of_frequencies();
    without_bulk();
    crossings();
    return check::finish();
}
