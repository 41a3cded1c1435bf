// See the header. Fixed summation order.
#include "renyi/loss/exponential_sums.hpp"

#include <algorithm>

#include "renyi/special/circular.hpp"

namespace renyi {

namespace {

// E = e^{y z} - 1 at every node; returns the weighted sum of E - y z.
RENYI_MULTIVERSION
ComplexSum first_power(const double* __restrict weight, const double* __restrict frequency, std::size_t count, double y,
                       double* __restrict out_re, double* __restrict out_im) noexcept {
    double sum_re[kLanes] = {}, sum_im[kLanes] = {};
    for (std::size_t k = 0; k < count; k += kLanes) {
        for (int i = 0; i < kLanes; ++i) {
            const double angle = y * frequency[k + i];
            const CircularExcess e = circular_excess(angle);
            sum_re[i] += weight[k + i] * e.cosine;
            sum_im[i] += weight[k + i] * e.sine;
            out_re[k + i] = e.cosine;
            out_im[k + i] = angle + e.sine;
        }
    }
    return {total(sum_re), total(sum_im)};
}

RENYI_MULTIVERSION
ComplexSum first_power_damped(const double* __restrict weight, const double* __restrict weight_im,
                              const double* __restrict damping, const double* __restrict frequency, std::size_t count,
                              double y, double* __restrict out_re, double* __restrict out_im) noexcept {
    double sum_re[kLanes] = {}, sum_im[kLanes] = {};
    for (std::size_t k = 0; k < count; k += kLanes) {
        for (int i = 0; i < kLanes; ++i) {
            const double fall = -y * damping[k + i], angle = y * frequency[k + i];
            const double re = weight[k + i], im = weight_im[k + i];
            const ComplexLane f = lane_phi(fall, angle);
            sum_re[i] += re * f.re - im * f.im;
            sum_im[i] += re * f.im + im * f.re;
            out_re[k + i] = fall + f.re;
            out_im[k + i] = angle + f.im;
        }
    }
    return {total(sum_re), total(sum_im)};
}

// E_{a+b} of two rows.
RENYI_MULTIVERSION
void multiply(const double* a_re, const double* a_im, const double* b_re, const double* b_im, std::size_t count,
              double* __restrict out_re, double* __restrict out_im) noexcept {
    for (std::size_t k = 0; k < count; k += kLanes) {
        for (int i = 0; i < kLanes; ++i) {
            const double re = a_re[k + i] * b_re[k + i] - a_im[k + i] * b_im[k + i];
            const double im = a_re[k + i] * b_im[k + i] + a_im[k + i] * b_re[k + i];
            out_re[k + i] = (a_re[k + i] + b_re[k + i]) + re;
            out_im[k + i] = (a_im[k + i] + b_im[k + i]) + im;
        }
    }
}

RENYI_MULTIVERSION
void scale(const double* __restrict weight, std::size_t count, double* __restrict re, double* __restrict im) noexcept {
    for (std::size_t k = 0; k < count; k += kLanes) {
        for (int i = 0; i < kLanes; ++i) {
            re[k + i] *= weight[k + i];
            im[k + i] *= weight[k + i];
        }
    }
}

RENYI_MULTIVERSION
void turn(const double* __restrict weight, const double* __restrict weight_im, std::size_t count, double* __restrict re,
          double* __restrict im) noexcept {
    for (std::size_t k = 0; k < count; k += kLanes) {
        for (int i = 0; i < kLanes; ++i) {
            const double x = re[k + i], y = im[k + i];
            re[k + i] = weight[k + i] * x - weight_im[k + i] * y;
            im[k + i] = weight[k + i] * y + weight_im[k + i] * x;
        }
    }
}

// The sum of a_k b_k.
RENYI_MULTIVERSION
ComplexSum inner(const double* a_re, const double* a_im, const double* b_re, const double* b_im,
                 std::size_t count) noexcept {
    double sum_re[kLanes] = {}, sum_im[kLanes] = {};
    for (std::size_t k = 0; k < count; k += kLanes) {
        for (int i = 0; i < kLanes; ++i) {
            sum_re[i] += a_re[k + i] * b_re[k + i] - a_im[k + i] * b_im[k + i];
            sum_im[i] += a_re[k + i] * b_im[k + i] + a_im[k + i] * b_re[k + i];
        }
    }
    return {total(sum_re), total(sum_im)};
}

ComplexSum operator+(ComplexSum a, ComplexSum b) noexcept { return {a.re + b.re, a.im + b.im}; }

}  // namespace

void ExponentialSums::resize(std::size_t count, bool damped) {
    weight.resize(count);
    frequency.resize(count);
    weight_im.resize(damped ? count : 0);
    damping.resize(damped ? count : 0);
    table_.resize(2 * kPowers * count);
}

// Row 0 is that of the group at hand, weighted.
ExponentialSums::Row ExponentialSums::row(int b) noexcept {
    double* re = table_.data() + static_cast<std::size_t>(2 * b) * count();
    return {re, re + count()};
}

ComplexSum ExponentialSums::fill(Row row, double y) noexcept {
    if (damping.empty()) return first_power(weight.data(), frequency.data(), count(), y, row.re, row.im);
    return first_power_damped(weight.data(), weight_im.data(), damping.data(), frequency.data(), count(), y, row.re,
                              row.im);
}

void ExponentialSums::weigh(Row row) noexcept {
    if (damping.empty()) return scale(weight.data(), count(), row.re, row.im);
    turn(weight.data(), weight_im.data(), count(), row.re, row.im);
}

ComplexSum ExponentialSums::product(Row a, Row b) const noexcept { return inner(a.re, a.im, b.re, b.im, count()); }

void ExponentialSums::set_step(double step) noexcept {
    step_ = step;
    sums_[1] = fill(row(1), step);
    for (int b = 2; b < kPowers; ++b) {
        const Row half = row(b / 2), rest = row(b - b / 2), out = row(b), weighted = row(0);
        multiply(half.re, half.im, rest.re, rest.im, count(), out.re, out.im);
        std::copy(half.re, half.re + 2 * count(), weighted.re);
        weigh(weighted);
        sums_[b] = (sums_[b / 2] + sums_[b - b / 2]) + product(weighted, rest);
    }
}

void ExponentialSums::at(double first, double* re, double* im) noexcept {
    const Row group = row(0);
    for (int j = 0; j < kLanes; j += kPowers) {
        const ComplexSum start = fill(group, (first + j) * step_);
        weigh(group);
        for (int b = 0; b < kPowers; ++b) {
            const ComplexSum sum = b > 0 ? (start + sums_[b]) + product(group, row(b)) : start;
            re[j + b] = sum.re;
            im[j + b] = sum.im;
        }
    }
}

}  // namespace renyi
