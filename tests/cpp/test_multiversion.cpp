// The kernels return the same bits whatever instruction set they run with, wherever a block begins and however many
// blocks are done at once. The other instruction set is the baseline without vectorisation (kernels_baseline.cpp).
#include "renyi/fp/multiversion.hpp"  // first: clones must not depend on what was included before

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <random>
#include <vector>

#include "baseline.hpp"
#include "check.hpp"
#include "renyi/fp/environment.hpp"
#include "renyi/loss/sampled_gaussian_kernels.hpp"
#include "renyi/loss/sampled_gaussian_quadrature.hpp"

#if defined(__x86_64__) && defined(__GLIBC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__) && !defined(RENYI_HAS_CLONES)
#error "kernels are compiled for one instruction set only"
#endif

using namespace renyi;

namespace {

constexpr std::size_t kBlocks = 7, kCount = kBlocks * kLanes;

bool same_bits(double a, double b) { return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b); }

template <class Left, class Right>
bool same_bits(const Left& a, const Right& b) {
    return std::equal(std::begin(a), std::end(a), std::begin(b), std::end(b),
                      [](double x, double y) { return same_bits(x, y); });
}

struct Nodes {
    std::vector<double> l, g, m;
    explicit Nodes(std::size_t count = kCount) : l(count), g(count), m(count) {}
    NodeArrays at(std::size_t first) { return {l.data() + first, g.data() + first, m.data() + first}; }
    bool operator==(const Nodes& other) const {
        return same_bits(l, other.l) && same_bits(g, other.g) && same_bits(m, other.m);
    }
};

void nodes(double q, double sigma, double h, double j0, bool remove) {
    const Grid grid = make_grid(q, sigma, h);
    const Direction direction = remove ? Direction::remove : Direction::add;
    Nodes all, one_by_one, scalar;
    fill_nodes(grid, direction, j0, kBlocks, all.at(0));
    for (std::size_t b = 0; b < kBlocks; ++b)
        fill_nodes(grid, direction, j0 + static_cast<double>(b * kLanes), 1, one_by_one.at(b * kLanes));
    CHECK(all == one_by_one);
    baseline::fill_nodes({q, sigma, h}, remove, j0, kBlocks, scalar.l.data(), scalar.g.data(), scalar.m.data());
    CHECK(all == scalar);
    // The same nodes in other lanes, at addresses with another alignment.
    for (const std::size_t shift : {1u, 3u, 8u}) {
        Nodes moved(kCount + shift);
        fill_nodes(grid, direction, j0 - static_cast<double>(shift), kBlocks, moved.at(0));
        for (std::size_t i = shift; i < kCount; ++i) {
            CHECK(same_bits(moved.l[i], all.l[i - shift]) && same_bits(moved.g[i], all.g[i - shift]) &&
                  same_bits(moved.m[i], all.m[i - shift]));
        }
    }
}

void sums(const Nodes& nodes, double s, double center) {
    const double value = sum_phi(nodes.l.data(), nodes.m.data(), kBlocks, s);
    const NodeSums all = sum_phi_derivatives(nodes.l.data(), nodes.m.data(), kBlocks, s, center);
    CHECK(same_bits(value, all.value));
    CHECK(same_bits(value, baseline::sum_phi(nodes.l.data(), nodes.m.data(), kBlocks, s)));
    double scalar[4];
    baseline::sum_phi_derivatives(nodes.l.data(), nodes.m.data(), kBlocks, s, center, scalar);
    CHECK(same_bits(std::array{all.value, all.slope, all.first, all.second}, scalar));
    CHECK(same_bits(sum_plain(nodes.g.data(), kBlocks), baseline::sum_plain(nodes.g.data(), kBlocks)));

    // Blocks of weight zero in front, behind and in between leave the order of the summation as it is.
    constexpr std::size_t kLonger = kCount + 4 * kLanes;
    Nodes longer(kLonger + 1);
    std::size_t to = kLanes + 1;  // another alignment too
    for (std::size_t b = 0; b < kBlocks; ++b, to += kLanes) {
        if (b == 2 || b == 5) to += kLanes;
        std::copy_n(&nodes.l[b * kLanes], kLanes, &longer.l[to]);
        std::copy_n(&nodes.m[b * kLanes], kLanes, &longer.m[to]);
    }
    CHECK(same_bits(value, sum_phi(&longer.l[1], &longer.m[1], kBlocks + 4, s)));
    const NodeSums with_gaps = sum_phi_derivatives(&longer.l[1], &longer.m[1], kBlocks + 4, s, center);
    CHECK(with_gaps.slope == all.slope && with_gaps.first == all.first && with_gaps.second == all.second);
}

FarPeak peak_at(std::mt19937_64& generator, bool remove, bool unit_tilt) {
    std::uniform_real_distribution<double> unit(0.0, 1.0);
    const SampledGaussianLaw law(std::pow(10.0, -9.0 * unit(generator)), std::pow(10.0, 1.5 * unit(generator) - 1.5));
    FarPeak k{};
    k.alpha = remove ? 1.0 + std::pow(10.0, 3.0 * unit(generator) - 1.0) : -std::pow(10.0, 3.0 * unit(generator));
    k.beta = k.alpha - 1.0;
    k.tilt = unit_tilt ? 1.0 : k.alpha;
    k.c = law.c;
    k.h = round_step(0.05 + 0.2 * unit(generator));
    k.u = far_mode(law, k.tilt, std::max(k.tilt, 0.0) * law.c) + unit(generator) - 0.5;
    k.drift = k.u - k.tilt * k.c;
    k.p = law.posterior(k.u);
    k.one_minus_p = 1.0 - k.p;
    k.logit = law.logit(k.u);
    k.extreme = std::fabs(k.logit) > 500.0;
    k.l = law.log_ratio(k.u);
    k.center = k.l + unit(generator);
    return k;
}

void far(const FarPeak& k, bool remove) {
    const Direction direction = remove ? Direction::remove : Direction::add;
    const double plain[12] = {k.alpha, k.beta, k.tilt,        k.c,     k.h, k.u,
                              k.drift, k.p,    k.one_minus_p, k.logit, k.l, k.center};
    const auto bits = [](const FarSums& f) {
        return std::array{f.value, f.slope, f.first, f.second, f.exponent, f.last};
    };
    for (const int count : {1, 7, 16}) {
        for (const double step : {1.0, -1.0}) {
            double scalar[6];
            baseline::sum_far(plain, k.extreme, remove, 3.0, step, count, scalar);
            CHECK(same_bits(bits(sum_far(k, direction, 3.0, step, count)), scalar));
        }
    }
    // One node is the same from either side.
    for (const double i : {0.0, 5.0, -17.0}) {
        const FarSums up = sum_far(k, direction, i, 1.0, 1), down = sum_far(k, direction, i, -1.0, 1);
        CHECK(std::isfinite(up.value));
        CHECK(same_bits(up.value, down.value) && same_bits(up.first, down.first) &&
              same_bits(up.exponent, down.exponent));
    }
}

}  // namespace

int main() {
    std::fprintf(stderr, "instruction set of the kernels: %s\n", active_instruction_set());
    std::mt19937_64 generator(8);
    std::uniform_real_distribution<double> unit(0.0, 1.0);
    for (int i = 0; i < 400; ++i) {
        const double q = i % 3 ? std::pow(10.0, -12.0 * unit(generator)) : unit(generator);
        const double sigma = std::pow(10.0, i % 2 ? 8.0 * unit(generator) - 2.0 : 2.0 * unit(generator) - 1.0);
        const double h = round_step(0.02 + 0.4 * unit(generator));
        const double j0 = std::floor((30.0 * unit(generator) - 20.0) / h);
        for (const bool remove : {true, false}) {
            nodes(q, sigma, h, j0, remove);
            Nodes made;
            fill_nodes(make_grid(q, sigma, h), remove ? Direction::remove : Direction::add, j0, kBlocks, made.at(0));
            const double largest = *std::max_element(made.l.begin(), made.l.end(),
                                                     [](double a, double b) { return std::fabs(a) < std::fabs(b); });
            sums(made, (remove ? 1.0 : -1.0) * 600.0 * unit(generator) / std::fabs(largest), made.l[kCount / 2]);
            far(peak_at(generator, remove, remove && i % 2), remove);
        }
    }
    return check::finish();
}
