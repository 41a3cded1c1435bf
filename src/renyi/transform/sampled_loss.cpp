#include "renyi/transform/sampled_loss.hpp"

#include <cmath>

#include "renyi/fp/certified.hpp"
#include "renyi/fp/lanes.hpp"
#include "renyi/special/elementary.hpp"

namespace renyi {

namespace {

RENYI_INLINE double loss_above(double q, double one_minus_q, double w) noexcept {
    const double clamped = w < 700.0 ? (w > -708.0 ? w : -708.0) : 700.0;
    const ExpReduction e = reduce_exp(clamped);
    const double y = one_minus_q + q * exp_of(e);
    return log_of(reduce_log(y, q * expm1_of(e))) + (w > 700.0 ? w - 700.0 : 0.0);
}

}  // namespace

double SampledLoss::least() const noexcept { return is_ratio() ? -1.0 : two_sided() ? -kInfinity : std::log1p(-q); }

RENYI_MULTIVERSION
static void fill_one_sided(double q, double one_minus_q, double c, double weight, const double* x, std::size_t n,
                           double* v, double* log_density) noexcept {
    const double half = 0.5 * c * c;
    for (std::size_t i = 0; i < n; ++i) {
        const double loss = loss_above(q, one_minus_q, c * x[i] - half);
        v[i] = loss;
        log_density[i] = weight * loss - 0.5 * (x[i] * x[i]);
    }
}

RENYI_MULTIVERSION
static void fill_two_sided(double q, double one_minus_q, double c, const double* x, std::size_t n, double* v,
                           double* log_density) noexcept {
    const double half = 0.5 * c * c;
    for (std::size_t i = 0; i < n; ++i) {
        const double above = loss_above(q, one_minus_q, c * x[i] - half);
        v[i] = above - loss_above(q, one_minus_q, -c * x[i] - half);
        log_density[i] = above - 0.5 * (x[i] * x[i]);
    }
}

RENYI_MULTIVERSION
static void fill_ratio(double c, double weight, const double* x, std::size_t n, double* v,
                       double* log_density) noexcept {
    const double half = 0.5 * c * c;
    for (std::size_t i = 0; i < n; ++i) {
        const double w = c * x[i] - half;
        v[i] = lane_expm1(w < kLogLargestRatio ? w : kLogLargestRatio);
        log_density[i] = weight * w - 0.5 * (x[i] * x[i]);
    }
}

void evaluate(const SampledLoss& law, std::span<const double> x, double* v, double* log_density) noexcept {
    if (law.is_ratio()) {
        fill_ratio(law.c, law.weighted() ? 1.0 : 0.0, x.data(), x.size(), v, log_density);
    } else if (law.two_sided()) {
        fill_two_sided(law.q, law.one_minus_q, law.c, x.data(), x.size(), v, log_density);
    } else {
        fill_one_sided(law.q, law.one_minus_q, law.c, law.weighted() ? 1.0 : 0.0, x.data(), x.size(), v, log_density);
    }
}

Rotation rotation(const SampledLoss& law, double angle) noexcept {
    const double half_sine = std::sin(0.5 * angle);
    return {angle / law.c, std::sin(angle), 2.0 * half_sine * half_sine, std::tan(angle)};
}

double output_at(const SampledLoss& law, double loss) noexcept {
    if (law.is_ratio()) return loss > -1.0 ? std::log1p(loss) / law.c + 0.5 * law.c : -kInfinity;
    // e^w = 1 + expm1(loss)/q
    if (loss > 600.0) return (loss - std::log(law.q)) / law.c + 0.5 * law.c;
    const double ratio = std::expm1(loss) / law.q;
    if (!(ratio > -1.0)) return -kInfinity;
    return std::log1p(ratio) / law.c + 0.5 * law.c;
}

}  // namespace renyi
