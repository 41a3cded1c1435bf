// Correlated noise: recurrences against plain sums, gradients against differences, selections against every pattern,
// and streams against the matrix they are the inverse of.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "check.hpp"
#include "renyi/matrix/toeplitz.hpp"
#include "renyi/matrix/stream.hpp"
#include "renyi/sgd/rounded_noise.hpp"

using namespace renyi;

namespace {

using Numbers = std::vector<double>;

Numbers bands(std::size_t count) {
    Numbers c{1.0};
    for (std::size_t k = 1; k < count; ++k) c.push_back(c.back() * (1.0 - 0.5 / static_cast<double>(k)));
    return c;
}

void recurrences() {
    for (const std::size_t count : {1u, 2u, 17u, 40u, 100u}) {
        const Numbers c = bands(count);
        const std::size_t n = 83;
        Numbers x(n);
        for (std::size_t t = 0; t < n; ++t) x[t] = std::sin(static_cast<double>(3 * t + 1));
        Numbers solved = x, transposed = x;
        solve_toeplitz({c.data(), std::min(count, n)}, solved.data(), n);
        solve_toeplitz_transposed({c.data(), std::min(count, n)}, transposed.data(), n);
        double worst = 0.0;
        for (std::size_t t = 0; t < n; ++t) {
            double row = 0.0, column = 0.0;
            for (std::size_t j = 0; j < std::min(count, n); ++j) {
                if (j <= t) row += c[j] * solved[t - j];
                if (t + j < n) column += c[j] * transposed[t + j];
            }
            worst = std::max({worst, std::fabs(row - x[t]), std::fabs(column - x[t])});
        }
        CHECK_THAT(worst, <, 1e-13);
    }
}

void buffered_recurrence() {
    const double weights[] = {0.2, 0.3}, decays[] = {0.9, 0.5};
    Numbers x(30, 1.0), buffers(2);
    solve_buffered(weights, decays, 2, buffers.data(), x.data(), x.size());
    for (std::size_t t = 0; t < x.size(); ++t) {
        double row = x[t];
        for (std::size_t j = 1; j <= t; ++j) {
            const auto power = static_cast<double>(j - 1);
            row += (weights[0] * std::pow(decays[0], power) + weights[1] * std::pow(decays[1], power)) * x[t - j];
        }
        CHECK_THAT(std::fabs(row - 1.0), <, 1e-14);
    }
}

void gradients() {
    const std::size_t n = 5000, count = 5;
    Numbers c = bands(count), a(n, 1.0), w(n), work(2 * n), slope(count), unused(count);
    for (std::size_t t = 0; t < n; ++t) w[t] = 1.0 - static_cast<double>(t) / static_cast<double>(n);
    toeplitz_error({c.data(), count}, a.data(), w.data(), n, work.data(), slope.data());
    for (std::size_t j = 0; j < count; ++j) {
        const double h = 1e-6, kept = c[j];
        double ends[2];
        for (const int side : {0, 1}) {
            c[j] = kept + (side ? h : -h);
            ends[side] = toeplitz_error({c.data(), count}, a.data(), w.data(), n, work.data(), unused.data());
        }
        c[j] = kept;
        CHECK_THAT(std::fabs((ends[1] - ends[0]) / (2.0 * h) - slope[j]), <, 1e-6 * std::fabs(slope[j]));
    }
}

// The closed forms against sums over every step, and their slopes against differences.
void buffered_losses() {
    const std::size_t m = 3;
    for (const bool mean : {false, true}) {
        for (const auto& [apart, most] : {std::pair{60.0, 1u}, {7.0, 3u}, {7.0, 9u}, {1.0, 4u}}) {
            const BufferedSetting setting{m, 60.0, apart, most, mean};
            double p[] = {2.5, 1.0, 3.0, 0.5, 1.5, -0.5}, slope[2 * m], unused[2 * m], theta[m], omega[m];
            const double loss = buffered_loss(setting, p, slope);
            buffered_nodes(m, p, theta, omega);
            Numbers c(60), b(60, 1.0), total(60, 0.0), buffers(m);
            for (std::size_t t = 0; t < 60; ++t) {
                c[t] = t == 0;
                for (std::size_t i = 0; i < m && t > 0; ++i)
                    c[t] += omega[i] * std::pow(theta[i], static_cast<double>(t - 1));
            }
            solve_buffered(omega, theta, m, buffers.data(), b.data(), 60);
            double error = 0.0, square = 0.0;
            for (std::size_t t = 0; t < 60; ++t) {
                error += b[t] * b[t] * (mean ? 1.0 - static_cast<double>(t) / 60.0 : 1.0);
                for (std::size_t j = 0; j < most && static_cast<double>(j) * apart <= static_cast<double>(t); ++j)
                    total[t] += c[t - j * static_cast<std::size_t>(apart)];
                square += total[t] * total[t];
            }
            CHECK_THAT(std::fabs(loss - std::log(error * square)), <, 1e-12);
            for (std::size_t j = 0; j < 2 * m; ++j) {
                const double h = 1e-5, kept = p[j];
                p[j] = kept + h;
                const double above = buffered_loss(setting, p, unused);
                p[j] = kept - h;
                const double below = buffered_loss(setting, p, unused);
                p[j] = kept;
                CHECK_THAT(std::fabs((above - below) / (2.0 * h) - slope[j]), <, 1e-7);
            }
        }
    }
}

void selections() {
    const Numbers x{3.0, 1.0, 4.0, 1.0, 5.0, 9.0, 2.0, 6.0, 5.0, 3.0};
    Numbers work(2 * (x.size() + 1));
    for (std::size_t apart = 1; apart <= x.size() + 1; ++apart) {
        for (unsigned most = 0; most <= x.size(); ++most) {
            double best = 0.0;
            for (unsigned chosen = 0; chosen < 1u << x.size(); ++chosen) {
                double sum = 0.0;
                unsigned count = 0;
                std::size_t next = 0;
                bool permitted = true;
                for (std::size_t i = 0; i < x.size(); ++i) {
                    if (!(chosen >> i & 1u)) continue;
                    permitted = permitted && i >= next;
                    next = i + apart, sum += x[i], ++count;
                }
                if (permitted && count <= most) best = std::max(best, sum);
            }
            CHECK_THAT(best_selection(x.data(), x.size(), apart, most, work.data()), ==, best);
        }
    }
}

template <class Real>
void streams() {
    const std::size_t size = 2500, steps = 12, slots = 3;
    const double taps_by_lag[] = {0.0, 0.5, 0.375, 0.3125};
    std::vector<Real> kept(slots * size), one(size), many(size), again = kept;
    std::vector<std::vector<Real>> released;
    for (std::size_t t = 0; t < steps; ++t) {
        double taps[slots] = {};
        for (std::size_t lag = 1; lag <= slots && lag <= t; ++lag) taps[(t - lag) % slots] = taps_by_lag[lag];
        NoiseStep step{{{static_cast<std::uint32_t>(t + 1)}, 0}, 0, 2.0, size, 1};
        std::fill(one.begin(), one.end(), Real{0});
        many = one;
        add_banded_noise(step, taps, slots, t % slots, false, kept.data(), one.data());
        step.threads = 3;
        add_banded_noise(step, taps, slots, t % slots, false, again.data(), many.data());
        CHECK(one == many && kept == again);
        released.push_back(one);
        // The matrix times what was released is the noise of this step by itself, but for one rounding.
        std::vector<Real> alone(size);
        add_noise(NoiseLaw::gaussian, step.stream, 0, NoiseLattice(2.0), alone.data(), size, 1);
        double worst = 0.0;
        for (std::size_t i = 0; i < size; ++i) {
            double sum = static_cast<double>(one[i]) - static_cast<double>(alone[i]);
            for (std::size_t lag = 1; lag <= slots && lag <= t; ++lag)
                sum += taps_by_lag[lag] * static_cast<double>(released[t - lag][i]);
            worst = std::max(worst, std::fabs(sum));
        }
        CHECK_THAT(worst, <=, 1.01 * NoiseLattice(2.0).spacing);
    }
}

// A tree whose second leaf takes back what the first was off by, and no more than its root.
void nodes() {
    const std::size_t size = 1500;
    Numbers kept(2 * size), first(size), second(size);
    const NoiseStep step{{{9}, 0}, 0, 1.0, size, 2};
    const double leaf[] = {1.0}, chain[] = {0.0, 1.0};
    const bool alone[] = {false}, joined[] = {true, false};
    add_tree_noise(step, leaf, alone, 1, 0, kept.data(), first.data());
    CHECK(std::equal(first.begin(), first.end(), kept.begin()));
    const NoiseStep next{{{10}, 0}, 0, 1.0, size, 2};
    add_tree_noise(next, chain, joined, 2, 1, kept.data(), second.data());
    double worst = 0.0;
    for (std::size_t i = 0; i < size; ++i) worst = std::max(worst, std::fabs(first[i] + second[i] - kept[size + i]));
    CHECK_THAT(worst, <, 1e-15);
}

}  // namespace

int main() {
    recurrences();
    buffered_recurrence();
    gradients();
    buffered_losses();
    selections();
    streams<float>();
    streams<double>();
    nodes();
    return check::finish();
}
