#include "renyi/transform/transform_kernels.hpp"

#include "renyi/fp/multiversion.hpp"
#include "renyi/special/circular.hpp"

namespace renyi::windowed {

RENYI_MULTIVERSION
TransformErrors centre(const NodeArrays& nodes, std::size_t n, const Centre& at, double* weight, double* d) noexcept {
    const Centre k = at;
    const double scale = 1.0 / k.sum, mean_size = __builtin_fabs(k.mean);
    double quadratic[kLanes] = {}, linear[kLanes] = {}, constant[kLanes] = {};
    for (std::size_t block = 0; block < n; block += kLanes) {
        for (int i = 0; i < kLanes; ++i) {
            const double w = nodes.weight[block + i] * scale, gap = nodes.loss[block + i] - k.mean;
            const double size = __builtin_fabs(gap), off = 1.2 * nodes.loss_error[block + i] + mean_size;
            const double relative = nodes.rounding[block + i] + k.additions + k.tilt * off;
            weight[block + i] = w;
            d[block + i] = gap;
            quadratic[i] += w * (relative * size + off) * size;
            linear[i] += w * (2.0 * relative * size + off);
            constant[i] += w * relative;
        }
    }
    return {total(quadratic), total(linear), total(constant)};
}

RENYI_MULTIVERSION
void sum_moments(const double* weight, const double* d, std::size_t n, double* moments) noexcept {
    double sum[kMoments][kLanes] = {};
    for (std::size_t block = 0; block < n; block += kLanes) {
        for (int i = 0; i < kLanes; ++i) {
            double power = weight[block + i] * d[block + i];
            for (int m = 0; m < kMoments; ++m) {
                power *= d[block + i] * (1.0 / (m + 2));
                sum[m][i] += power;
            }
        }
    }
    for (int m = 0; m < kMoments; ++m) moments[m] = total(sum[m]);
}

RENYI_MULTIVERSION
void turn_block(const double* weight, const double* d, std::size_t n, double y, double* cosine, double* sine,
                double& re, double& im) noexcept {
    double sum_re[kLanes] = {}, sum_im[kLanes] = {};
    for (std::size_t block = 0; block < n; block += kLanes) {
        for (int i = 0; i < kLanes; ++i) {
            const double t = y * d[block + i], w = weight[block + i];
            const CircularExcess e = circular_excess(t);
            const double c = w * e.cosine, s = w * (t + e.sine);
            cosine[block + i] = c;
            sine[block + i] = s;
            sum_re[i] += c;
            sum_im[i] += s;
        }
    }
    re = total(sum_re);
    im = total(sum_im);
}

RENYI_MULTIVERSION
void turn_rows(const double* weight, const double* d, std::size_t n, double step, double* cosine, double* sine,
               double* re, double* im) noexcept {
    for (int j = 0; j < kLanes; ++j) {
        const double y = static_cast<double>(j) * step;
        double *const c = cosine + static_cast<std::size_t>(j) * n, *const s = sine + static_cast<std::size_t>(j) * n;
        double sum_re[kLanes] = {}, sum_im[kLanes] = {};
        for (std::size_t block = 0; block < n; block += kLanes) {
            for (int i = 0; i < kLanes; ++i) {
                const double t = y * d[block + i];
                const CircularExcess e = circular_excess(t);
                c[block + i] = e.cosine;
                s[block + i] = t + e.sine;
                sum_re[i] += weight[block + i] * c[block + i];
                sum_im[i] += weight[block + i] * s[block + i];
            }
        }
        re[j] = total(sum_re);
        im[j] = total(sum_im);
    }
}

RENYI_MULTIVERSION
void join(const double* cosine, const double* sine, const double* row_cosine, const double* row_sine, std::size_t n,
          double* re, double* im) noexcept {
    for (int j = 0; j < kLanes; ++j) {
        const double *const c = row_cosine + static_cast<std::size_t>(j) * n, *const s =
                                                                                  row_sine +
                                                                                  static_cast<std::size_t>(j) * n;
        double sum_re[kLanes] = {}, sum_im[kLanes] = {};
        for (std::size_t block = 0; block < n; block += kLanes) {
            for (int i = 0; i < kLanes; ++i) {
                sum_re[i] += cosine[block + i] * c[block + i] - sine[block + i] * s[block + i];
                sum_im[i] += cosine[block + i] * s[block + i] + sine[block + i] * c[block + i];
            }
        }
        re[j] = total(sum_re);
        im[j] = total(sum_im);
    }
}

}  // namespace renyi::windowed
