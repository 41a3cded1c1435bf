#include "renyi/transform/lattice/lattice_kernels.hpp"

#include <algorithm>

#include "renyi/fp/double_double.hpp"
#include "renyi/fp/lanes.hpp"
#include "renyi/special/elementary.hpp"

namespace renyi::lattice {

namespace {

constexpr std::size_t kBlock = 256;

RENYI_INLINE double larger(double a, double b) noexcept { return a > b ? a : b; }
RENYI_INLINE double smaller(double a, double b) noexcept { return a < b ? a : b; }

}  // namespace

RENYI_MULTIVERSION void log_masses(const double* masses, std::size_t n, double* out) noexcept {
    for (std::size_t i = 0; i < n; ++i) out[i] = lane_log(larger(masses[i], 0x1p-1022));
}

RENYI_MULTIVERSION TiltedPeak tilted_peak(const double* logs, const double* losses, std::size_t n, double t) noexcept {
    double best[kLanes], at[kLanes];
    for (int l = 0; l < kLanes; ++l) best[l] = -kInfinity, at[l] = 0.0;
    std::size_t i = 0;
    for (; i + kLanes <= n; i += kLanes) {
        for (int l = 0; l < kLanes; ++l) {
            const double exponent = logs[i + l] + t * losses[i + l];
            const bool higher = exponent > best[l];
            at[l] = select(higher, losses[i + l], at[l]);
            best[l] = select(higher, exponent, best[l]);
        }
    }
    TiltedPeak peak{-kInfinity, 0.0};
    for (int l = 0; l < kLanes; ++l) {
        if (best[l] > peak.exponent) peak = {best[l], at[l]};
    }
    for (; i < n; ++i) {
        const double exponent = logs[i] + t * losses[i];
        if (exponent > peak.exponent) peak = {exponent, losses[i]};
    }
    return peak;
}

RENYI_MULTIVERSION TiltedSums tilted_sums(const double* logs, const double* losses, std::size_t n, double t,
                                          TiltedPeak peak) noexcept {
    double mass[kLanes] = {}, first[kLanes] = {}, second[kLanes] = {};
    std::size_t i = 0;
    for (; i + kLanes <= n; i += kLanes) {
        for (int l = 0; l < kLanes; ++l) {
            const double apart = losses[i + l] - peak.loss;
            const double w = lane_exp((logs[i + l] + t * losses[i + l]) - peak.exponent);
            mass[l] += w;
            first[l] += w * apart;
            second[l] += w * apart * apart;
        }
    }
    for (int l = 0; i < n; ++i, ++l) {
        const double apart = losses[i] - peak.loss;
        const double w = lane_exp((logs[i] + t * losses[i]) - peak.exponent);
        mass[l] += w;
        first[l] += w * apart;
        second[l] += w * apart * apart;
    }
    return {total(mass), total(first), total(second)};
}

RENYI_MULTIVERSION void tilted_weights(const double* masses, std::size_t n, double theta, double centre,
                                       double* out) noexcept {
    for (std::size_t i = 0; i < n; ++i) {
        // The centre makes the exponents of positive masses at most 745.
        const double half = smaller(0.5 * (theta * static_cast<double>(i) - centre), 400.0);
        const double part = lane_exp(half);
        out[i] = masses[i] * part * part;
    }
}

RENYI_MULTIVERSION double sum_of(const double* a, std::size_t n) noexcept {
    DoubleDouble sum{0.0, 0.0};
    for (std::size_t start = 0; start < n; start += kBlock) {
        const std::size_t stop = start + kBlock < n ? start + kBlock : n;
        double lane[kLanes] = {};
        std::size_t i = start;
        for (; i + kLanes <= stop; i += kLanes) {
            for (int l = 0; l < kLanes; ++l) lane[l] += a[i + l];
        }
        for (int l = 0; i < stop; ++i, ++l) lane[l] += a[i];
        sum = sum + total(lane);
    }
    return sum.hi;
}

RENYI_MULTIVERSION double exponential_sum(const double* a, std::size_t n, double slope, double first, double step,
                                          double top) noexcept {
    DoubleDouble sum{0.0, 0.0};
    for (std::size_t start = 0; start < n; start += kBlock) {
        const std::size_t stop = start + kBlock < n ? start + kBlock : n;
        double lane[kLanes] = {};
        std::size_t i = start;
        for (; i + kLanes <= stop; i += kLanes) {
            for (int l = 0; l < kLanes; ++l) {
                const double loss = first + step * static_cast<double>(i + l);
                lane[l] += a[i + l] * exp_of(reduce_exp(larger(slope * loss - top, -708.0)));
            }
        }
        for (int l = 0; i < stop; ++i, ++l) {
            const double loss = first + step * static_cast<double>(i);
            lane[l] += a[i] * exp_of(reduce_exp(larger(slope * loss - top, -708.0)));
        }
        sum = sum + total(lane);
    }
    return sum.hi;
}

RENYI_MULTIVERSION TwoSums two_products(const double* a, const double* w, const double* v, std::size_t n) noexcept {
    double first[kLanes] = {}, second[kLanes] = {};
    std::size_t i = 0;
    for (; i + kLanes <= n; i += kLanes) {
        for (int l = 0; l < kLanes; ++l) {
            first[l] += a[i + l] * w[i + l];
            second[l] += a[i + l] * v[i + l];
        }
    }
    for (int l = 0; i < n; ++i, ++l) {
        first[l] += a[i] * w[i];
        second[l] += a[i] * v[i];
    }
    return {total(first), total(second)};
}

}  // namespace renyi::lattice
