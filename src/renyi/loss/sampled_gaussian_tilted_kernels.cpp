// See the header.
#include "renyi/loss/sampled_gaussian_tilted_kernels.hpp"

#include <cmath>

#include "renyi/fp/multiversion.hpp"
#include "renyi/special/circular.hpp"

namespace renyi::tilted {

namespace {

constexpr double kFarLogit = 600.0;

RENYI_MULTIVERSION
void fill_rows(Node at, std::size_t count, const double* __restrict v, double* __restrict weight, double* __restrict t,
               double* __restrict posterior) noexcept {
    for (std::size_t k = 0; k < count; k += kLanes) {
        for (int i = 0; i < kLanes; ++i) {
            const double x = v[k + i];
            const double w = x * at.c;
            const double clamped = w < 700.0 ? (w > -708.0 ? w : -708.0) : 700.0;
            const ExpReduction e = reduce_exp(clamped);
            const double sampled = at.p * exp_of(e);
            const double y = at.one_minus_p + sampled;
            const double l = log_of(reduce_log(y, at.p * expm1_of(e))) + (w > 700.0 ? w - 700.0 : 0.0);
            t[k + i] = l;
            weight[k + i] *= lane_exp((at.alpha * l - at.mode * x) - 0.5 * (x * x));
            posterior[k + i] = sampled / y;
        }
    }
}

// The same where the mode has posterior odds e^logit beyond e^+-600: with s = w + logit, y is e^-logit (1 + e^s) or 1 +
// e^s to 2^-800. Where s > 40, log(1 + e^s) is s to 2^-57, and w stays free of the rounding of logit.
RENYI_MULTIVERSION
void fill_far_rows(Node at, std::size_t count, const double* __restrict v, double* __restrict weight,
                   double* __restrict t, double* __restrict posterior) noexcept {
    const double origin = at.logit > 0.0 ? at.logit : 0.0;
    for (std::size_t k = 0; k < count; k += kLanes) {
        for (int i = 0; i < kLanes; ++i) {
            const double x = v[k + i];
            const double w = x * at.c, s = w + at.logit;
            const double e = lane_exp(s < 0.0 ? s : -s);
            const double l = s > 40.0 ? w + (at.logit - origin) : (s > 0.0 ? s : 0.0) + lane_log1p(e) - origin;
            t[k + i] = l;
            weight[k + i] *= lane_exp((at.alpha * l - at.mode * x) - 0.5 * (x * x));
            posterior[k + i] = (s < 0.0 ? e : 1.0) / (1.0 + e);
        }
    }
}

RENYI_MULTIVERSION
void shift_rows(const double* __restrict v, const double* __restrict weight, const double* __restrict t,
                const double* __restrict posterior, std::size_t count, double alpha, double mode, Line line,
                Shifted out) noexcept {
    double* __restrict out_re = out.re, * __restrict out_im = out.im;
    double* __restrict out_argument = out.argument, * __restrict out_loss = out.loss;
    for (std::size_t k = 0; k < count; k += kLanes) {
        for (int i = 0; i < kLanes; ++i) {
            const double r = posterior[k + i];
            const double modulus = 0.5 * lane_log1p(2.0 * r * line.versine * (r - 1.0));
            const double argument = lane_argument(r * line.sine, 1.0 - r * line.versine);
            const double size = weight[k + i] * lane_exp(alpha * modulus + 0.5 * line.height * line.height);
            const double phase = alpha * argument - line.height * (mode + v[k + i]);
            const CircularExcess e = circular_excess(phase);
            out_re[k + i] = size * (1.0 + e.cosine);
            out_im[k + i] = size * (phase + e.sine);
            out_argument[k + i] = argument;
            out_loss[k + i] = t[k + i] + modulus;
        }
    }
}

RENYI_MULTIVERSION
double decay_of_rows(const double* weight, const double* posterior, std::size_t count, double alpha, double y,
                     Line line) noexcept {
    double sum[kLanes] = {};
    for (std::size_t k = 0; k < count; k += kLanes) {
        for (int i = 0; i < kLanes; ++i) {
            const double r = posterior[k + i];
            const double re = 1.0 - r * line.versine, im = r * line.sine;
            const double norm_excess = 2.0 * r * line.versine * (r - 1.0);  // m^2 - 1
            const double argument = 3.0 * im / (re + 2.0 * __builtin_sqrt(1.0 + norm_excess));
            const double exponent = 0.5 * (line.height * line.height + alpha * lane_log1p(norm_excess)) - y * argument;
            sum[i] += weight[k + i] * lane_expm1(exponent < 700.0 ? exponent : 700.0);
        }
    }
    return total(sum);
}

RENYI_MULTIVERSION
double sum_of(const double* a, std::size_t count) noexcept {
    double sum[kLanes] = {};
    for (std::size_t k = 0; k < count; k += kLanes)
        for (int i = 0; i < kLanes; ++i) sum[i] += a[k + i];
    return total(sum);
}

RENYI_MULTIVERSION
double sum_of_products(const double* a, const double* b, std::size_t count) noexcept {
    double sum[kLanes] = {};
    for (std::size_t k = 0; k < count; k += kLanes)
        for (int i = 0; i < kLanes; ++i) sum[i] += a[k + i] * b[k + i];
    return total(sum);
}

}  // namespace

Line::Line(double b, double c) noexcept : height(b), sine(std::sin(b * c)) {
    const double half_sine = std::sin(0.5 * b * c);
    versine = 2.0 * half_sine * half_sine;
}

void Nodes::resize(std::size_t count) {
    for (std::vector<double>* row : {&v, &weight, &t, &posterior}) row->resize(count);
}

void fill(const Node& at, Nodes& nodes) noexcept {
    const auto rows = at.logit > kFarLogit || at.logit < -kFarLogit ? fill_far_rows : fill_rows;
    rows(at, nodes.count(), nodes.v.data(), nodes.weight.data(), nodes.t.data(), nodes.posterior.data());
}

void shift(const Nodes& nodes, double alpha, double mode, const Line& line, Shifted out) noexcept {
    shift_rows(nodes.v.data(), nodes.weight.data(), nodes.t.data(), nodes.posterior.data(), nodes.count(), alpha, mode,
               line, out);
}

double sum_weights(const Nodes& nodes) noexcept { return sum_of(nodes.weight.data(), nodes.count()); }

double sum_losses(const Nodes& nodes) noexcept {
    return sum_of_products(nodes.weight.data(), nodes.t.data(), nodes.count());
}

double sum_posterior(const Nodes& nodes) noexcept {
    return sum_of_products(nodes.weight.data(), nodes.posterior.data(), nodes.count());
}

double sum_decay(const Nodes& nodes, double alpha, double y, const Line& line) noexcept {
    return decay_of_rows(nodes.weight.data(), nodes.posterior.data(), nodes.count(), alpha, y, line);
}

}  // namespace renyi::tilted
