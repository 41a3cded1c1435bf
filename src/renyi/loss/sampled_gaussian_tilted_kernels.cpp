// See the header.
#include "renyi/loss/sampled_gaussian_tilted_kernels.hpp"

#include "renyi/fp/multiversion.hpp"
#include "renyi/special/circular.hpp"

namespace renyi::tilted {

RENYI_MULTIVERSION
void fill(const Node& at, Chunk& out) noexcept {
    const Node k = at;
    for (int i = 0; i < kChunk; ++i) {
        const double v = out.v[i];
        const double w = v * k.c;
        const double clamped = w < 700.0 ? (w > -708.0 ? w : -708.0) : 700.0;
        const ExpReduction e = reduce_exp(clamped);
        const double sampled = k.p * exp_of(e);
        const double y = k.one_minus_p + sampled;
        const double t = log_of(reduce_log(y, k.p * expm1_of(e))) + (w > 700.0 ? w - 700.0 : 0.0);
        out.t[i] = t;
        out.weight[i] *= lane_exp((k.alpha * t - k.mode * v) - 0.5 * (v * v));
        out.posterior[i] = sampled / y;
    }
}

RENYI_MULTIVERSION
void add_circular(const Chunk& chunk, double centre, double first, double step, double* cosine, double* sine) noexcept {
    for (int j = 0; j < kLanes; ++j) {
        const double y = (first + static_cast<double>(j)) * step;
        double re[kLanes] = {}, im[kLanes] = {};
        for (int block = 0; block < kChunk; block += kLanes) {
            for (int i = 0; i < kLanes; ++i) {
                const CircularExcess e = circular_excess(y * (chunk.t[block + i] + centre));
                re[i] += chunk.weight[block + i] * e.cosine;
                im[i] += chunk.weight[block + i] * e.sine;
            }
        }
        cosine[j] += total(re);
        sine[j] += total(im);
    }
}

RENYI_MULTIVERSION
void shift_nodes(const Chunk& chunk, double alpha, double mode, double shift, double versine, double sine,
                 Shifted& out) noexcept {
    for (int i = 0; i < kChunk; ++i) {
        const double r = chunk.posterior[i];
        const double modulus = 0.5 * lane_log1p(2.0 * r * versine * (r - 1.0));
        const double argument = lane_argument(r * sine, 1.0 - r * versine);
        const double size = chunk.weight[i] * lane_exp(alpha * modulus + 0.5 * shift * shift);
        const double phase = alpha * argument - shift * (mode + chunk.v[i]);
        const CircularExcess e = circular_excess(phase);
        out.re[i] = size * (1.0 + e.cosine);
        out.im[i] = size * (phase + e.sine);
        out.loss[i] = chunk.t[i] + modulus;
        out.argument[i] = argument;
    }
}

RENYI_MULTIVERSION
void add_shifted(const Shifted& nodes, double centre, double first, double step, double* cosine,
                 double* sine) noexcept {
    for (int j = 0; j < kLanes; ++j) {
        const double y = (first + static_cast<double>(j)) * step;
        double re[kLanes] = {}, im[kLanes] = {};
        for (int block = 0; block < kChunk; block += kLanes) {
            for (int i = 0; i < kLanes; ++i) {
                const int n = block + i;
                const ComplexLane f = lane_phi(-y * nodes.argument[n], y * (nodes.loss[n] + centre));
                re[i] += nodes.re[n] * f.re - nodes.im[n] * f.im;
                im[i] += nodes.re[n] * f.im + nodes.im[n] * f.re;
            }
        }
        cosine[j] += total(re);
        sine[j] += total(im);
    }
}

RENYI_MULTIVERSION
double sum_weights(const Chunk& chunk) noexcept {
    double sum[kLanes] = {};
    for (int block = 0; block < kChunk; block += kLanes)
        for (int i = 0; i < kLanes; ++i) sum[i] += chunk.weight[block + i];
    return total(sum);
}

RENYI_MULTIVERSION
double sum_decay(const Chunk& chunk, double alpha, double y, double shift, double versine, double sine) noexcept {
    double sum[kLanes] = {};
    for (int block = 0; block < kChunk; block += kLanes) {
        for (int i = 0; i < kLanes; ++i) {
            const double r = chunk.posterior[block + i];
            const double re = 1.0 - r * versine, im = r * sine;
            const double norm_excess = 2.0 * r * versine * (r - 1.0);  // m^2 - 1
            const double argument = 3.0 * im / (re + 2.0 * __builtin_sqrt(1.0 + norm_excess));
            const double exponent = 0.5 * (shift * shift + alpha * lane_log1p(norm_excess)) - y * argument;
            sum[i] += chunk.weight[block + i] * lane_expm1(exponent < 700.0 ? exponent : 700.0);
        }
    }
    return total(sum);
}

RENYI_MULTIVERSION
double sum_losses(const Chunk& chunk) noexcept {
    double sum[kLanes] = {};
    for (int block = 0; block < kChunk; block += kLanes)
        for (int i = 0; i < kLanes; ++i) sum[i] += chunk.weight[block + i] * chunk.t[block + i];
    return total(sum);
}

RENYI_MULTIVERSION
double sum_posterior(const Chunk& chunk) noexcept {
    double sum[kLanes] = {};
    for (int block = 0; block < kChunk; block += kLanes)
        for (int i = 0; i < kLanes; ++i) sum[i] += chunk.weight[block + i] * chunk.posterior[block + i];
    return total(sum);
}

}  // namespace renyi::tilted
