// Sums over the nodes of a line against the same sums term by term in long double.
#include "renyi/transform/node_sum.hpp"

#include <cmath>
#include <complex>
#include <random>
#include <vector>

#include "check.hpp"
#include "renyi/fp/certified.hpp"

using namespace renyi;

namespace {

using Long = std::complex<long double>;

struct Line {
    double t, step;
    std::vector<Long> nodes;
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
    for (const Long& node : line.nodes)
        sum.add(static_cast<double>(node.real()), static_cast<double>(node.imag()), error);
    return sum;
}

void agrees(const Line& line, double drift) {
    const long double t = line.t;
    long double value = 0.5L, slope = -0.5L * t, size = 0.0L;
    for (std::size_t j = 0; j < line.nodes.size(); ++j) {
        const long double y = static_cast<long double>(j + 1) * line.step;
        const Long z{t, y};
        const Long term = line.nodes[j] * std::polar(1.0L, y * drift) * t * (t + 1.0L) / (z * (z + 1.0L));
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
    for (const std::size_t count : {0, 16, 240, 256, 272, 4096})
        for (const double t : {1e-3, 1.0, 300.0})
            for (const double step : {1e-4, 0.2, 5.0})
                for (const double drift : {0.0, 1e-7, -0.3, 2.0, -17.0}) agrees(random_line(count, t, step), drift);
    errors_add_up();
    return check::finish();
}
