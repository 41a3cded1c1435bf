// The sums on a line of the transform: e^{yz} - 1 - yz against long double within the bound that is claimed, however
// small yz is; the kernels of a line return the same bits without vectors. Sums over the nodes of a line against the
// same sums term by term in long double.
#include <bit>
#include <cmath>
#include <complex>
#include <cstdint>
#include <random>
#include <vector>

#include "baseline.hpp"
#include "check.hpp"
#include "random.hpp"
#include "renyi/curve/contour_sum.hpp"
#include "renyi/fp/certified.hpp"
#include "renyi/loss/sampled_gaussian_tilted.hpp"
#include "renyi/transform/node_sum.hpp"

using namespace renyi;
using check::uniform;

namespace {

using Real = long double;
using Complex = std::complex<Real>;

constexpr double kU = 0x1p-53;
constexpr std::size_t kCount = 5 * kLanes;

bool same_bits(double a, double b) { return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b); }

Complex excess(Complex z) {
    if (std::abs(z) > 0.5L) return std::exp(z) - Complex(1) - z;
    Complex term = z, sum = 0;
    for (int k = 2; k < 24; ++k) sum += term *= z / static_cast<Real>(k);
    return sum;
}

ExponentialSums nodes(bool damped, double size) {
    ExponentialSums sums;
    sums.resize(kCount, damped);
    for (std::size_t k = 0; k < kCount; ++k) {
        sums.weight[k] = std::exp(-uniform(0.0, 30.0));
        sums.frequency[k] = size * uniform(-1.0, 1.0);
        if (!damped) continue;
        sums.weight_im[k] = sums.weight[k] * uniform(-1.0, 1.0);
        sums.damping[k] = size * uniform(0.0, 1.5);
    }
    return sums;
}

void sums_are_right(bool damped, double size, double step, double first) {
    ExponentialSums sums = nodes(damped, size);
    double re[kLanes], im[kLanes], plain_re[kLanes], plain_im[kLanes];
    sums.set_step(step);
    sums.at(first, re, im);
    for (int j = 0; j < kLanes; ++j) {
        const Real y = (static_cast<Real>(first) + j) * step;
        Complex truth = 0;
        Real scale = 0;
        for (std::size_t k = 0; k < kCount; ++k) {
            const Complex w(sums.weight[k], damped ? sums.weight_im[k] : 0.0);
            const Complex z(damped ? -sums.damping[k] : 0.0, sums.frequency[k]);
            const Real x = std::abs(y * z);
            truth += w * excess(y * z);
            scale += std::abs(w) * std::min(x * x / 2, 2 + 2 * x);
        }
        const double bound = (kPowerRounding + kCount / kLanes) * kU * static_cast<double>(scale);
        CHECK_THAT(std::fabs(re[j] - static_cast<double>(truth.real())), <=, bound);
        CHECK_THAT(std::fabs(im[j] - static_cast<double>(truth.imag())), <=, bound);
    }
    baseline::exponential_sums({sums.weight.data(), sums.frequency.data(), damped ? sums.weight_im.data() : nullptr,
                                damped ? sums.damping.data() : nullptr},
                               kCount, step, first, plain_re, plain_im);
    for (int j = 0; j < kLanes; ++j) CHECK(same_bits(re[j], plain_re[j]) && same_bits(im[j], plain_im[j]));
}

void line_has_the_same_bits() {
    std::vector<double> modulus[2], phase[2];
    for (int g = 0; g < 2; ++g)
        for (std::size_t k = 0; k < kCount; ++k) {
            modulus[g].push_back(-uniform(0.0, 400.0));
            phase[g].push_back(uniform(-9.0, 9.0));
        }
    const double terms[9] = {3.0, uniform(1.0, 5.0), 0.3, uniform(-1.0, 1.0), 200.0, 2.0, 1e4, 200.0, 50.0};
    const double* const rows[4] = {modulus[0].data(), modulus[1].data(), phase[0].data(), phase[1].data()};
    const LineSums found = sum_line(baseline::line_terms<LineTerms>(rows, kCount, terms));
    double plain[3];
    baseline::sum_line(rows, kCount, terms, plain);
    CHECK(same_bits(found.value, plain[0]) && same_bits(found.slope, plain[1]) && same_bits(found.error, plain[2]));
}

void nodes_have_the_same_bits() {
    tilted::Nodes nodes;
    nodes.resize(kCount);
    std::vector<double> weight(kCount, 1.0), t(kCount), posterior(kCount);
    for (std::size_t k = 0; k < kCount; ++k) {
        nodes.v[k] = uniform(-12.0, 12.0);
        nodes.weight[k] = 1.0;
    }
    const double p = uniform(0.0, 1.0), law[5] = {uniform(1.0, 9.0), uniform(0.2, 2.0), uniform(0.0, 3.0), p, 1.0 - p};
    tilted::fill({law[0], law[1], law[2], law[3], law[4], std::log(law[3] / law[4])}, nodes);
    const double height = uniform(0.1, 0.7), y = uniform(0.0, 9.0);
    const double decay = tilted::sum_decay(nodes, law[0], y, tilted::Line(height, law[1]));
    const double plain =
        baseline::tilted_nodes(law, nodes.v.data(), weight.data(), t.data(), posterior.data(), kCount, y, height);
    CHECK(same_bits(decay, plain));
    for (std::size_t k = 0; k < kCount; ++k)
        CHECK(same_bits(nodes.weight[k], weight[k]) && same_bits(nodes.t[k], t[k]) &&
              same_bits(nodes.posterior[k], posterior[k]));
}

struct Line {
    double t, step;
    std::vector<Complex> nodes;
};

Line random_line(std::size_t count, double t, double step) {
    std::mt19937_64 bits(count);
    std::uniform_real_distribution<double> uniform(-1.0, 1.0);
    Line line{t, step, {}};
    for (std::size_t j = 0; j < count; ++j) line.nodes.emplace_back(uniform(bits), uniform(bits));
    return line;
}

NodeSum read(const Line& line, double error) {
    NodeSum sum;
    sum.begin(line.t, line.step);
    for (const Complex& node : line.nodes)
        sum.add(static_cast<double>(node.real()), static_cast<double>(node.imag()), error);
    return sum;
}

void agrees(const Line& line, double drift) {
    const long double t = line.t;
    long double value = 0.5L, slope = -0.5L * t, size = 0.0L;
    for (std::size_t j = 0; j < line.nodes.size(); ++j) {
        const long double y = static_cast<long double>(j + 1) * line.step;
        const Complex z{t, y};
        const Complex term = line.nodes[j] * std::polar(1.0L, y * drift) * t * (t + 1.0L) / (z * (z + 1.0L));
        value += term.real();
        slope -= (z * term).real();
        size += std::abs(term);
    }
    const NodeSum::Sum found = read(line, 0.0).at(drift, std::fabs(drift));
    CHECK_THAT(std::fabs(static_cast<double>(found.value - value)), <=, found.error);
    CHECK_THAT(found.error, <=, 1e-9 * static_cast<double>(size + 1.0L));
    const double steep = static_cast<double>(size) * (line.t + static_cast<double>(line.nodes.size()) * line.step);
    CHECK_THAT(std::fabs(static_cast<double>(found.slope - slope)), <=, 1e-9 * (steep + line.t));
}

void errors_add_up() {
    const Line line = random_line(64, 2.0, 0.3);
    const double least = read(line, 0.0).at(0.1, 0.1).error, kernel = read(line, 0.0).at(0.1, 0.1).kernel;
    CHECK_THAT(read(line, 1e-3).at(0.1, 0.1).error, >=, least + 1e-3 * (kernel - 0.5));
    // Angles without a cosine leave nothing known.
    CHECK(read(line, 0.0).at(1e6, 1e6).error == kInfinity);
}

}  // namespace

int main() {
    check::generator.seed(11);
    for (int i = 0; i < 40; ++i) {
        for (const double size : {1e-9, 1e-3, 0.05, 1.0, 30.0})
            for (const double first : {1.0, 17.0, 801.0})
                for (const bool damped : {false, true}) sums_are_right(damped, size, uniform(0.001, 0.6), first);
        line_has_the_same_bits();
        nodes_have_the_same_bits();
    }
    for (const std::size_t count : {0, 16, 240, 256, 272, 4096})
        for (const double t : {1e-3, 1.0, 300.0})
            for (const double step : {1e-4, 0.2, 5.0})
                for (const double drift : {0.0, 1e-7, -0.3, 2.0, -17.0}) agrees(random_line(count, t, step), drift);
    errors_add_up();
    return check::finish();
}
