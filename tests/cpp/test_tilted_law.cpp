// The characteristic function of the tilted loss against a plain fine rule in long double, with the limit of the losses
// anywhere: beyond all peaks, between two, on the flank of one; and the bound of what it is further on.
#include <algorithm>
#include <cmath>
#include <vector>

#include "check.hpp"
#include "renyi/fp/certified.hpp"
#include "renyi/fp/lanes.hpp"
#include "renyi/loss/sampled_gaussian_tilted.hpp"
#include "renyi/special/gauss_legendre.hpp"

using namespace renyi;

namespace {

using Real = long double;

constexpr double kRounding = 400.0 * 0x1p-53;

struct Loss {
    Real weight, value;
};

// The losses up to the limit at Gauss-Legendre nodes, with their weights under the tilted law, which sum to one.
std::vector<Loss> losses_of(double q, double sigma, double alpha, double limit) {
    const Real end = std::min<Real>(limit, std::max(alpha / sigma, 0.0) + 14);
    const Real first = -14 + std::min<Real>(alpha / sigma, 0);
    const long panels = static_cast<long>(std::ceil(8 * (end - first)));
    const Real half = (end - first) / (2 * panels);
    std::vector<Loss> losses;
    std::vector<Real> exponents;
    for (long k = 0; k < 16 * panels; ++k) {
        const int i = k % 16, n = i % 8;
        const Real node = i < 8 ? -kLegendreNode[n] : kLegendreNode[n];
        const Real u = first + (2 * (k / 16) + 1 + node) * half;
        const Real w = u / sigma - 0.5L / (static_cast<Real>(sigma) * sigma);
        const Real loss = w < 4000 ? std::log1p(q * std::expm1(w)) : w + std::log(static_cast<Real>(q));
        losses.push_back({kLegendreWeight[n], loss});
        exponents.push_back(alpha * loss - 0.5L * u * u);
    }
    const Real most = *std::max_element(exponents.begin(), exponents.end());
    Real total = 0;
    for (std::size_t k = 0; k < losses.size(); ++k) total += losses[k].weight *= std::exp(exponents[k] - most);
    for (Loss& loss : losses) loss.weight /= total;
    return losses;
}

// The largest modulus of the characteristic function from y on must be below the bound there.
void decays(const TiltedLaw& law, const std::vector<Loss>& losses) {
    TiltedLine line;
    for (const double y : {0.5, 5.0}) {
        law.lay(y, y / kLanes, line);
        const double bound = law.log_decay(line, y);
        CHECK_THAT(bound, <=, 0.0);
        for (const double further : {1.0, 2.3}) {
            Real re = 0, im = 0;
            for (const Loss& loss : losses) {
                re += loss.weight * std::cos(further * y * loss.value);
                im += loss.weight * std::sin(further * y * loss.value);
            }
            CHECK_THAT(static_cast<double>(std::log(std::hypot(re, im))), <=, bound + 1e-15);
        }
    }
}

void agrees(double q, double sigma, Direction direction, double alpha, double limit) {
    const std::vector<Loss> losses = losses_of(q, sigma, alpha, limit);
    Real mean = 0, variance = 0;
    for (const Loss& loss : losses) mean += loss.weight * loss.value;
    for (const Loss& loss : losses) variance += loss.weight * (loss.value - mean) * (loss.value - mean);
    TiltedLaw law(q, sigma, direction, alpha, static_cast<double>(mean), 0.0, limit);
    TiltedLine line;
    CHECK_THAT(std::fabs(law.recentre(line) - static_cast<double>(mean)), <=, 1e-13 * (1.0 + std::fabs(alpha)));
    decays(law, losses);
    const double sign = direction == Direction::remove ? 1.0 : -1.0;
    const Real centre = law.recentre(line);
    for (const double step : {0.01, 0.3, 2.0}) {
        double modulus[kLanes] = {}, phase[kLanes] = {};
        law.lay(kLanes * step, step, line);
        law.add_log_characteristic(line, 1.0, 1.0, modulus, phase);
        for (int j = 0; j < kLanes; j += 5) {
            const Real y = (1 + j) * static_cast<Real>(step);
            Real re = 0, im = 0;
            for (const Loss& loss : losses) {
                const Real d = loss.value - centre;
                re += loss.weight * -2 * std::sin(0.5L * y * d) * std::sin(0.5L * y * d);
                im += loss.weight * (std::sin(y * d) - y * d);
            }
            const double size = std::exp(modulus[j]);
            const double error = std::hypot(size * std::cos(phase[j]) - static_cast<double>(1 + re),
                                            sign * size * std::sin(phase[j]) - static_cast<double>(im));
            CHECK_THAT(
                error, <=,
                kRounding * (1.0 + std::fabs(alpha)) * static_cast<double>(std::min<Real>(y * y * variance, 4) + 1));
        }
    }
}

}  // namespace

int main() {
    for (const double sigma : {0.7, 1.5, 4.0})
        for (const double q : {0.5, 0.01, 1e-4})
            for (const double alpha : {1.5, 6.0, 30.0, 150.0}) {
                for (const double limit : {kInfinity, 60.0, 31.5, 22.0, 12.0, 9.0})
                    if (alpha / sigma < 120.0 && check::is_tried()) agrees(q, sigma, Direction::remove, alpha, limit);
                if (check::is_tried()) agrees(q, sigma, Direction::add, -alpha, kInfinity);
            }
    for (const double sigma : {0.3, 0.7, 4.0})  // 1 - delta
        for (const double alpha : {0.05, 0.6, 0.99})
            for (const Direction direction : {Direction::remove, Direction::add})
                if (check::is_tried()) agrees(0.01, sigma, direction, alpha, kInfinity);
    // A flank at the limit, apart from the peak near the origin.
    agrees(0.01, 4.0, Direction::remove, 149.91891353017965, 31.540199);
    return check::finish();
}
