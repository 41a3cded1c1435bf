#include "renyi/transform/windowed_kernels.hpp"

#include "renyi/fp/multiversion.hpp"
#include "renyi/special/circular.hpp"

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

RENYI_MULTIVERSION
void add_circular(const double* weight, const double* d, std::size_t n, double first, double step, double* cosine,
                  double* sine) noexcept {
    for (int j = 0; j < kLanes; ++j) {
        const double y = (first + static_cast<double>(j)) * step;
        double re[kLanes] = {}, im[kLanes] = {};
        for (std::size_t block = 0; block < n; block += kLanes) {
            for (int i = 0; i < kLanes; ++i) {
                const double t = y * d[block + i];
                const CircularExcess e = circular_excess(t);
                re[i] += weight[block + i] * (1.0 + e.cosine);
                im[i] += weight[block + i] * (t + e.sine);
            }
        }
        cosine[j] = total(re);
        sine[j] = total(im);
    }
}

}  // namespace renyi::windowed
