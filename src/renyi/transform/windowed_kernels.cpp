#include "renyi/transform/windowed_kernels.hpp"

#include "renyi/fp/multiversion.hpp"
#include "renyi/special/elementary.hpp"
#include "renyi/transform/sampled_loss.hpp"

namespace renyi::windowed {

RENYI_MULTIVERSION
TransformErrors centre(const NodeArrays& nodes, std::size_t n, const Centre& at, double* weight, double* d) noexcept {
    const Centre k = at;
    const double scale = 1.0 / k.sum, mean_size = __builtin_fabs(k.mean);
    double quadratic[kLanes] = {}, linear[kLanes] = {}, constant[kLanes] = {}, moved[kLanes] = {};
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
            moved[i] += w * off;
        }
    }
    return {total(quadratic), total(linear), total(constant), total(moved)};
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

RENYI_MULTIVERSION
double tilt_weights(const double* log_weight, const double* loss, std::size_t n, double tilt, double top,
                    double* weight) noexcept {
    double sum[kLanes] = {};
    for (std::size_t block = 0; block < n; block += kLanes) {
        for (int i = 0; i < kLanes; ++i) {
            weight[block + i] = lane_exp((log_weight[block + i] - top) + tilt * loss[block + i]);
            sum[i] += weight[block + i];
        }
    }
    return total(sum);
}

RENYI_MULTIVERSION
double largest_exponent(const double* log_weight, const double* loss, std::size_t n, double tilt) noexcept {
    double largest[kLanes];
    for (int i = 0; i < kLanes; ++i) largest[i] = -1e300;
    for (std::size_t block = 0; block < n; block += kLanes) {
        for (int i = 0; i < kLanes; ++i) {
            const double e = log_weight[block + i] + tilt * loss[block + i];
            largest[i] = e > largest[i] ? e : largest[i];
        }
    }
    double result = largest[0];
    for (int i = 1; i < kLanes; ++i) result = largest[i] > result ? largest[i] : result;
    return result;
}

RENYI_MULTIVERSION
double first_moment(const double* weight, const double* loss, std::size_t n) noexcept {
    double sum[kLanes] = {};
    for (std::size_t block = 0; block < n; block += kLanes)
        for (int i = 0; i < kLanes; ++i) sum[i] += weight[block + i] * loss[block + i];
    return total(sum);
}

RENYI_MULTIVERSION
double second_moment(const double* weight, const double* loss, std::size_t n, double centre) noexcept {
    double sum[kLanes] = {};
    for (std::size_t block = 0; block < n; block += kLanes) {
        for (int i = 0; i < kLanes; ++i) {
            const double d = loss[block + i] - centre;
            sum[i] += weight[block + i] * (d * d);
        }
    }
    return total(sum);
}

RENYI_MULTIVERSION
Spread sum_spread(const double* weight, const double* loss, const double* rounding, const double* loss_error,
                  std::size_t n, double mean, double additions, double tilt) noexcept {
    double second[kLanes] = {}, error[kLanes] = {}, mean_error[kLanes] = {};
    for (std::size_t block = 0; block < n; block += kLanes) {
        for (int i = 0; i < kLanes; ++i) {
            const double w = weight[block + i], off = loss_error[block + i], d = loss[block + i] - mean;
            const double relative = rounding[block + i] + additions + tilt * off;
            second[i] += w * (d * d);
            error[i] += w * relative;
            mean_error[i] += w * (relative * __builtin_fabs(d) + off);
        }
    }
    return {total(second), total(error), total(mean_error)};
}

constexpr double kFar = 60.0;  // (1 + t) e^-t < 2^-80

template <bool kCentred>
RENYI_INLINE Excess add_excess(const double* log_weight, const double* loss, const double* rounding,
                               const double* loss_error, std::size_t n, double tilt) noexcept {
    double value[kLanes] = {}, slope[kLanes] = {}, error[kLanes] = {}, slope_error[kLanes] = {};
    const double additions = static_cast<double>(n / kLanes) + 8.0, size = __builtin_fabs(tilt);
    for (std::size_t block = 0; block < n; block += kLanes) {
        for (int i = 0; i < kLanes; ++i) {
            const double v = loss[block + i], w = lane_exp(log_weight[block + i]), t = tilt * v;
            const double up = t < kFar ? (t > -708.0 ? t : -708.0) : kFar;
            const double down = -v < 700.0 ? (-v > -708.0 ? -v : -708.0) : 700.0;
            const ExpReduction e = reduce_exp(up), f = reduce_exp(down);
            // Far out phi and expm1 are the exponential, which may overflow without its weight.
            const double whole = lane_exp(log_weight[block + i] + t);
            const double phi = select(t < kFar, w * (phi_of(e) + (up - t)), whole);
            const double grown = select(t < kFar, w * expm1_of(e), whole);
            const double back = kCentred ? 0.0 : w * (phi_of(f) + (down + v));
            const double back_steep = kCentred ? 0.0 : w * __builtin_fabs(expm1_of(f));
            const double term = phi + tilt * back, rise = v * grown + back, steep = __builtin_fabs(grown);
            value[i] += term;
            slope[i] += rise;
            // phi to 16u, the rest to less; what a loss is off by its derivatives.
            const double relative = rounding[block + i] + additions + 40.0, off = loss_error[block + i];
            error[i] += relative * term + off * size * (steep + back_steep);
            slope_error[i] += relative * rise + off * (steep + size * __builtin_fabs(v) * (steep + w) + back_steep);
        }
    }
    return {total(value), total(slope), total(error), total(slope_error)};
}

RENYI_MULTIVERSION
Excess sum_excess(const double* log_weight, const double* loss, const double* rounding, const double* loss_error,
                  std::size_t n, double tilt) noexcept {
    return add_excess<false>(log_weight, loss, rounding, loss_error, n, tilt);
}

RENYI_MULTIVERSION
Excess sum_centred_excess(const double* log_weight, const double* loss, const double* rounding,
                          const double* loss_error, std::size_t n, double tilt) noexcept {
    return add_excess<true>(log_weight, loss, rounding, loss_error, n, tilt);
}

RENYI_MULTIVERSION
void bound_losses(const LossFacts& law, const double* x, const double* v, std::size_t n, double* loss_error,
                  double* rounding) noexcept {
    const double c = law.c, half = 0.5 * c * c, least = law.least;
    if (law.ratio) {
        for (std::size_t i = 0; i < n; ++i)
            loss_error[i] = 8.0 * __builtin_fabs(v[i]) + 4.0 * (c * __builtin_fabs(x[i]) + half) * (1.0 + v[i]);
        for (std::size_t i = 0; i < n; ++i)
            rounding[i] = kBasic + x[i] * x[i] + 4.0 * (c * __builtin_fabs(x[i]) + half);
        return;
    }
    if (law.two_sided && !law.known) {
        for (std::size_t i = 0; i < n; ++i)
            loss_error[i] = (7.0 + 2.0 * (c * __builtin_fabs(x[i]) + half)) * (__builtin_fabs(v[i]) + 2.0 * least);
    } else if (!law.known) {
        for (std::size_t i = 0; i < n; ++i) {
            const double risen = v[i] + least, share = risen < 1.0 ? risen : 1.0;
            loss_error[i] = 6.0 * __builtin_fabs(v[i]) + 2.0 * __builtin_fabs(c * x[i] - half) * share;
        }
    }
    for (std::size_t i = 0; i < n; ++i) rounding[i] = kBasic + x[i] * x[i] + loss_error[i];
}

RENYI_MULTIVERSION
void add_windows(const double* v, const double* loss_error, std::size_t n, const StepAt* steps, int count,
                 double* log_weight, double* rounding) noexcept {
    for (int s = 0; s < count; ++s) {
        const StepAt step = steps[s];
        for (std::size_t i = 0; i < n; ++i) {
            const double u = step.sign * (v[i] - step.level) * step.scale, size = __builtin_fabs(u);
            const double cdf = log_normal_cdf(u), hazard = select(u < 0.0, 1.0 + size, lane_exp(-0.5 * (u * u)));
            const bool is_open = u > kOpen;
            log_weight[i] += select(is_open, 0.0, cdf);
            rounding[i] += select(is_open, 0.0, 20.0 + hazard * (loss_error[i] * step.scale + 3.0 * size));
        }
    }
}

}  // namespace renyi::windowed
