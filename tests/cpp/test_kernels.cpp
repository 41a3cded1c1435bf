// The error of every number that the kernels of the quadrature make at a node, as stated at the head of
// loss/sampled_gaussian_kernels.cpp, against a table made in ball arithmetic; and the sums against their terms.
#include <algorithm>
#include <array>
#include <cmath>
#include <random>

#include "check.hpp"
#include "measure.hpp"
#include "renyi/loss/sampled_gaussian_kernels.hpp"
#include "tables.hpp"

using namespace renyi;
using check::Worst;

namespace {

using Block = std::array<double, kLanes>;

struct Nodes {
    Block l{}, g{}, m{};
};

Nodes fill(const Grid& grid, Direction direction, double j0) {
    Nodes nodes;
    fill_nodes(grid, direction, j0, 1, {nodes.l.data(), nodes.g.data(), nodes.m.data()});
    return nodes;
}

void nodes() {
    Worst l{"l", 11.0}, n{"n", 3.0}, m{"m = n y", 13.0}, g_add{"g, alpha < 0", 48.0},
        g_remove{"g, alpha > 1, per 48 + 3|l|", 1.0};
    Worst phi_add{"m phi(s l), alpha < 0", 1.0},
        phi_remove{"m phi(s l), alpha > 1", 1.0};  // per (60 + 12 max(s l, 0)) u
    for (const auto& row : table::rows<table::Node>()) {
        const Grid grid = make_grid(row.q, row.sigma, row.h);
        for (const int lane : {0, 5, 15}) {
            const Nodes add = fill(grid, Direction::add, row.j - lane),
                        remove = fill(grid, Direction::remove, row.j - lane);
            const auto i = static_cast<std::size_t>(lane);
            l.relative(add.l[i], row.l_hi, row.l_lo, row.j);
            l.relative(remove.l[i], row.l_hi, row.l_lo, row.j);
            n.relative(add.m[i], row.n_hi, row.n_lo, row.j);
            m.relative(remove.m[i], row.m_hi, row.m_lo, row.j);
            g_add.relative(add.g[i], row.g_add_hi, row.g_add_lo, row.j);
            g_remove.unit = 0x1p-53 * (48.0 + 3.0 * std::max(-row.l_hi, 0.0));
            g_remove.relative(remove.g[i], row.g_remove_hi, row.g_remove_lo, row.j);

            Block one{};  // the node alone
            one[i] = add.m[i];
            phi_add.unit = 0x1p-53 * (60.0 + 12.0 * std::max(row.s_add * row.l_hi, 0.0));
            phi_add.relative(sum_phi(add.l.data(), one.data(), 1, row.s_add), row.phi_add_hi, row.phi_add_lo, row.j);
            one[i] = remove.m[i];
            phi_remove.unit = 0x1p-53 * (60.0 + 12.0 * std::max(row.s_remove * row.l_hi, 0.0));
            phi_remove.relative(sum_phi(remove.l.data(), one.data(), 1, row.s_remove), row.phi_remove_hi,
                                row.phi_remove_lo, row.j);
        }
    }
    for (const Worst& worst : {l, n, m, g_add, g_remove, phi_add, phi_remove}) REPORT(worst);
}

// phi, expm1 and exp of the C library, where they do not cancel.
void sums() {
    std::mt19937_64 generator(7);
    std::uniform_real_distribution<double> any(-3.0, 3.0), positive(0.1, 1.0), order(-40.0, 40.0);
    constexpr std::size_t kBlocks = 5, kCount = kBlocks * kLanes;
    for (int round = 0; round < 500; ++round) {
        std::array<double, kCount> l, m;
        for (double& x : l) x = any(generator);
        if (round % 4 == 0)
            for (double& x : l) x = -10.0 * std::fabs(x);  // s l down to -1200, where phi is linear
        for (double& x : m) x = positive(generator);
        const double s = round % 4 == 0 ? std::fabs(order(generator)) : order(generator), center = any(generator);
        long double value = 0, slope = 0, first = 0, second = 0, slope_size = 0, first_size = 0, plain = 0;
        for (std::size_t i = 0; i < kCount; ++i) {
            const long double t = static_cast<long double>(s) * l[i], weight = m[i] * std::exp(t),
                              d = static_cast<long double>(l[i]) - center;
            value += m[i] * (std::expm1(t) - t);
            slope += m[i] * l[i] * std::expm1(t);
            slope_size += std::fabs(m[i] * l[i] * std::expm1(t));
            first += weight * d;
            first_size += std::fabs(weight * d);
            second += weight * d * d;
            plain += m[i];
        }
        // 16u for phi and 1u per |t| for the rounding of s l, 5 additions per lane and 4 across
        const long double tolerance = 0x1p-53L * (40.0L + 4.0L * std::fabs(s) * (round % 4 == 0 ? 30.0L : 3.0L));
        const NodeSums sums = sum_phi_derivatives(l.data(), m.data(), kBlocks, s, center);
        CHECK(std::fabs(sums.value - value) <= tolerance * value);
        CHECK(std::fabs(sums.slope - slope) <= tolerance * slope_size);
        CHECK(std::fabs(sums.first - first) <= tolerance * first_size);
        CHECK(std::fabs(sums.second - second) <= tolerance * second);
        CHECK_THAT(sum_phi(l.data(), m.data(), kBlocks, s), ==, sums.value);
        CHECK(std::fabs(sum_plain(m.data(), kBlocks) - plain) <= 0x1p-53L * 10.0L * plain);
    }
}

// 1 + x >= 1 - q > 0 and every piece is >= 0, far out as well, where the density is 0.
void far_out() {
    for (const double q : {1e-12, 0.3, 1.0 - 0x1p-53}) {
        for (const double sigma : {0.02, 0.3, 1.0, 1e6}) {
            const Grid grid = make_grid(q, sigma, 0x1p-2);
            for (double j0 = -1600.0; j0 <= 160.0; j0 += kLanes) {
                for (const Direction direction : {Direction::remove, Direction::add}) {
                    const Nodes nodes = fill(grid, direction, j0);
                    for (std::size_t i = 0; i < kLanes; ++i) {
                        const double u = (j0 + static_cast<double>(i)) * 0.25;
                        if (u / sigma > 690.0) continue;
                        CHECK(nodes.g[i] >= 0.0 && nodes.m[i] >= 0.0 && std::isfinite(nodes.l[i]));
                        CHECK_THAT(nodes.l[i], >=, std::log1p(-q) * (1.0 + 0x1p-49));
                        CHECK((nodes.m[i] == 0.0) == (std::fabs(u) > 37.6) || nodes.m[i] < 1e-290);
                    }
                }
            }
        }
    }
    CHECK_THAT(round_step(0.35), <=, 0.35);
    for (const double h : {0.35, 1e-5, 3.9999999, 0x1.001p-3, 0x1p-9}) {
        const double rounded = round_step(h);
        CHECK(rounded <= h && rounded >= h * (1.0 - 0x1p-11) &&
              std::fmod(std::ldexp(rounded, 12 - std::ilogb(rounded)), 2.0) == 0.0);
        for (const double j : {16383.0, -16383.0, 9973.0}) {
            const double u = j * rounded;  // exact, and so is its square
            CHECK(two_prod(j, rounded).lo == 0.0 && two_prod(u, u).lo == 0.0);
        }
    }
}

}  // namespace

int main() {
    nodes();
    sums();
    far_out();
    return check::finish();
}
