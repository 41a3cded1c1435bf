#include "renyi/transform/windowed_kernels.hpp"

#include "renyi/fp/multiversion.hpp"
#include "renyi/special/circular.hpp"
#include "renyi/transform/loss_window.hpp"

namespace renyi::windowed {

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
Excess sum_excess(const double* log_weight, const double* loss, std::size_t n, double tilt) noexcept {
    double value[kLanes] = {}, slope[kLanes] = {}, size[kLanes] = {};
    for (std::size_t block = 0; block < n; block += kLanes) {
        for (int i = 0; i < kLanes; ++i) {
            const double v = loss[block + i], w = lane_exp(log_weight[block + i]);
            const double up = tilt * v < 700.0 ? (tilt * v > -708.0 ? tilt * v : -708.0) : 700.0;
            const double down = -v < 700.0 ? (-v > -708.0 ? -v : -708.0) : 700.0;
            const ExpReduction e = reduce_exp(up);
            const double back = phi_of(reduce_exp(down)) + (down + v), grown = expm1_of(e);
            value[i] += w * ((phi_of(e) + (up - tilt * v)) + tilt * back);
            slope[i] += w * (v * grown + back);
            size[i] += w * __builtin_fabs(v);
        }
    }
    return {total(value), total(slope), total(size)};
}

RENYI_MULTIVERSION
void add_excess(const double* weight, const double* d, std::size_t n, double first, double step, double* cosine,
                double* sine) noexcept {
    for (int j = 0; j < kLanes; ++j) {
        const double y = (first + static_cast<double>(j)) * step;
        double re[kLanes] = {}, im[kLanes] = {};
        for (std::size_t block = 0; block < n; block += kLanes) {
            for (int i = 0; i < kLanes; ++i) {
                const CircularExcess e = circular_excess(y * d[block + i]);
                re[i] += weight[block + i] * e.cosine;
                im[i] += weight[block + i] * e.sine;
            }
        }
        cosine[j] = total(re);
        sine[j] = total(im);
    }
}

namespace {

// Excess: e^{i t} - 1 - i t, else e^{i t}; both from cos t - 1 and sin t, which the turning keeps.
template <bool kExcess>
RENYI_INLINE void turn(const double* weight, const double* d, std::size_t n, double first, double step, double* cosine,
                       double* sine) noexcept {
    double re[kLanes][kLanes] = {}, im[kLanes][kLanes] = {};  // [ordinate][lane]
    for (std::size_t block = 0; block < n; block += kLanes) {
        double c[kLanes], s[kLanes], turn_c[kLanes], turn_s[kLanes], t[kLanes];
        for (int i = 0; i < kLanes; ++i) {
            const double at = first * step * d[block + i], by = step * d[block + i];
            const CircularExcess e = circular_excess(at), r = circular_excess(by);
            c[i] = e.cosine;
            s[i] = at + e.sine;
            turn_c[i] = r.cosine;
            turn_s[i] = by + r.sine;
            t[i] = at;
        }
        for (int j = 0; j < kLanes; ++j) {
            for (int i = 0; i < kLanes; ++i) {
                const double w = weight[block + i];
                re[j][i] += w * (kExcess ? c[i] : 1.0 + c[i]);
                im[j][i] += w * (kExcess ? s[i] - t[i] : s[i]);
                // (1 + c + i s)(1 + turn_c + i turn_s) - 1
                const double real = c[i] + (turn_c[i] + (c[i] * turn_c[i] - s[i] * turn_s[i]));
                s[i] = s[i] + (turn_s[i] + (c[i] * turn_s[i] + s[i] * turn_c[i]));
                c[i] = real;
                t[i] += step * d[block + i];
            }
        }
    }
    for (int j = 0; j < kLanes; ++j) {
        cosine[j] = total(re[j]);
        sine[j] = total(im[j]);
    }
}

}  // namespace

RENYI_MULTIVERSION
void turn_excess(const double* weight, const double* d, std::size_t n, double first, double step, double* cosine,
                 double* sine) noexcept {
    turn<true>(weight, d, n, first, step, cosine, sine);
}

RENYI_MULTIVERSION
void turn_whole(const double* weight, const double* d, std::size_t n, double first, double step, double* cosine,
                double* sine) noexcept {
    turn<false>(weight, d, n, first, step, cosine, sine);
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
double sum_decay(const double* weight, const double* above, const double* below, std::size_t n, const DecayLine& at,
                 const DecayStep* steps, int count) noexcept {
    const DecayLine k = at;
    double sum[kLanes] = {};
    for (std::size_t block = 0; block < n; block += kLanes) {
        double exponent[kLanes], re[kLanes], im[kLanes];
        for (int i = 0; i < kLanes; ++i) {
            const double p = above[block + i], r = below[block + i];
            const double up = 0.5 * lane_log1p(2.0 * p * k.versine * (p - 1.0));
            const double down = 0.5 * lane_log1p(2.0 * r * k.versine * (r - 1.0));
            re[i] = up - down;
            im[i] = lane_argument(p * k.sine, 1.0 - p * k.versine) + lane_argument(r * k.sine, 1.0 - r * k.versine);
            exponent[i] = 0.5 * k.a * k.a + k.weighted * up + k.slope * re[i] - k.y * im[i];
        }
        for (int s = 0; s < count; ++s) {
            const DecayStep step = steps[s];
            const double scale = 1.0 / step.width;
            for (int i = 0; i < kLanes; ++i) {
                const double v = im[i] * scale, u = step.argument[block + i] + step.sign * (re[i] * scale);
                exponent[i] += 0.5 * (v * v) + (log_normal_cdf(u) - step.log_cdf[block + i]);
            }
        }
        for (int i = 0; i < kLanes; ++i)
            sum[i] += weight[block + i] * lane_expm1(exponent[i] < 700.0 ? exponent[i] : 700.0);
    }
    return total(sum);
}

}  // namespace renyi::windowed
