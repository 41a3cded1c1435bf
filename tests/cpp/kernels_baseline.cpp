// The kernels of the quadrature a second time: for the baseline instruction set only, without vectorisation (see
// CMakeLists.txt), in a namespace of their own.
#include "baseline.hpp"

#include "renyi/fp/multiversion.hpp"

#undef RENYI_MULTIVERSION
#define RENYI_MULTIVERSION
#define renyi renyi_baseline
#include "renyi/loss/sampled_gaussian_expansion.cpp"
#include "renyi/loss/sampled_gaussian_kernels.cpp"
#undef renyi

namespace baseline {

namespace {

using renyi_baseline::Direction;

Direction direction_of(bool remove) { return remove ? Direction::remove : Direction::add; }

}  // namespace

void fill_nodes(const double (&grid)[3], bool remove, double j0, std::size_t blocks, double* l, double* g, double* m) {
    renyi_baseline::fill_nodes(renyi_baseline::make_grid(grid[0], grid[1], grid[2]), direction_of(remove), j0, blocks,
                               {l, g, m});
}

double sum_phi(const double* l, const double* m, std::size_t blocks, double s) {
    return renyi_baseline::sum_phi(l, m, blocks, s);
}

void sum_phi_derivatives(const double* l, const double* m, std::size_t blocks, double s, double center,
                         double (&out)[4]) {
    const auto sums = renyi_baseline::sum_phi_derivatives(l, m, blocks, s, center);
    out[0] = sums.value, out[1] = sums.slope, out[2] = sums.first, out[3] = sums.second;
}

double sum_plain(const double* g, std::size_t blocks) { return renyi_baseline::sum_plain(g, blocks); }

void sum_far(const double (&peak)[12], bool extreme, bool remove, double i0, double step, int count, double (&out)[6]) {
    renyi_baseline::FarPeak p{};
    p.alpha = peak[0], p.beta = peak[1], p.tilt = peak[2], p.c = peak[3], p.h = peak[4], p.u = peak[5];
    p.drift = peak[6], p.p = peak[7], p.one_minus_p = peak[8], p.logit = peak[9], p.l = peak[10], p.center = peak[11];
    p.extreme = extreme;
    const auto sums = renyi_baseline::sum_far(p, direction_of(remove), i0, step, count);
    out[0] = sums.value, out[1] = sums.slope, out[2] = sums.first, out[3] = sums.second, out[4] = sums.exponent,
    out[5] = sums.last;
}

int expansion_of(double q, double sigma, double alpha) {
    return static_cast<int>(renyi_baseline::expansion_of(q, sigma, alpha));
}

void log_a_expanded(int expansion, double q, double sigma, double alpha, double (&out)[2]) {
    const auto c = renyi_baseline::log_a_expanded(static_cast<renyi_baseline::Expansion>(expansion), q, sigma, alpha);
    out[0] = c.value, out[1] = c.relative_error;
}

}  // namespace baseline
