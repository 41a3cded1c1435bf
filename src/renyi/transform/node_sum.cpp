// See the header. Fixed summation order: the same bits on every instruction set.
#include "renyi/transform/node_sum.hpp"

#include <cmath>
#include <complex>

#include "renyi/fp/certified.hpp"
#include "renyi/fp/lanes.hpp"
#include "renyi/special/elementary.hpp"

namespace renyi {

namespace {

constexpr double kLargestAngle = 0x1p20;  // of circular_excess

struct TurnedSums {
    double real, by_y;  // sum Re(c e^{iyd}), sum y Im(c e^{iyd})
};

RENYI_MULTIVERSION
TurnedSums sum_turned(const double* re, const double* im, std::size_t count, double step, double drift) noexcept {
    // Sums of c_j e^{i y_g d} over the groups, without and with the factor y_g, one for each place r in a group.
    double sum_re[kLanes] = {}, sum_im[kLanes] = {}, far_re[kLanes] = {}, far_im[kLanes] = {};
    double cosine[kLanes], sine[kLanes], start[kLanes];
    for (std::size_t k = 0; k < count; k += kLanes) {
        const std::size_t turn = (k / kLanes) % kLanes;
        if (turn == 0) {  // the turns of the next kLanes groups
            for (int g = 0; g < kLanes; ++g) {
                start[g] = static_cast<double>(k + static_cast<std::size_t>(g * kLanes)) * step;
                const double angle = start[g] * drift;
                const CircularExcess e = circular_excess(angle);
                cosine[g] = 1.0 + e.cosine;
                sine[g] = angle + e.sine;
            }
        }
        const double c = cosine[turn], s = sine[turn], y = start[turn];
        for (int r = 0; r < kLanes; ++r) {
            const double turned_re = c * re[k + r] - s * im[k + r], turned_im = c * im[k + r] + s * re[k + r];
            sum_re[r] += turned_re;
            sum_im[r] += turned_im;
            far_re[r] += y * turned_re;
            far_im[r] += y * turned_im;
        }
    }
    double real[kLanes], by_y[kLanes];
    for (int r = 0; r < kLanes; ++r) {
        const double y = static_cast<double>(r + 1) * step, angle = y * drift;
        const CircularExcess e = circular_excess(angle);
        const double turn_re = 1.0 + e.cosine, turn_im = angle + e.sine;
        real[r] = turn_re * sum_re[r] - turn_im * sum_im[r];
        by_y[r] = turn_re * (far_im[r] + y * sum_im[r]) + turn_im * (far_re[r] + y * sum_re[r]);
    }
    return {total(real), total(by_y)};
}

}  // namespace

void NodeSum::begin(double t, double step, double shift) {
    *this = {};
    t_ = t;
    step_ = step;
    shift_ = shift;
}

void NodeSum::add(double re, double im, double error) {
    const double y = static_cast<double>(re_.size() + 1) * step_;
    const std::complex<double> z{t_, y}, part = t_ * (t_ + shift_) / (z * (z + shift_));
    const std::complex<double> c = std::complex<double>{re, im} * part;
    re_.push_back(c.real());
    im_.push_back(c.imag());
    const double factor = std::abs(part), size = std::abs(c);
    kernel_ += factor;
    error_ += factor * error;
    size_ += size;
    size_by_y_ += y * size;
}

NodeSum::Reading NodeSum::read(double centre, double epsilon, double log_value, double log_error, double quadrature,
                               double log_tail) const noexcept {
    const Sum nodes = at(centre - epsilon, std::fabs(epsilon));
    const LineFactor factor = line_factor(t_, step_, shift_);
    const double y = static_cast<double>(size()) * step_, scale = std::exp(log_value + factor.log);
    const double tail = std::exp(log_tail) * t_ * (t_ + shift_) / (step_ * y);
    const double relative = (log_error + factor.rounding) * std::fabs(nodes.value);
    return {scale * nodes.value, nodes.slope / nodes.value,
            scale * (nodes.error + quadrature * nodes.kernel + tail + relative)};
}

// Errors in units of u |c_j|: 24 of c_j itself; of either turn 4 of its angle and 8 (circular_excess), and 4 more of
// the angle for the rounding of the angle and of d; 8 of their products; one a group and 8 of the sums; for 1/2 one of
// the value. The errors of |c_j| are covered by 1 + 2^-30.
NodeSum::Sum NodeSum::at(double drift, double from) const noexcept {
    const std::size_t n = re_.size();
    const double angle = std::fabs(drift) + 0.5 * from;
    const TurnedSums sum = sum_turned(re_.data(), im_.data(), n, step_, drift);
    const double value = 0.5 + sum.real;
    const double groups = static_cast<double>(n / kLanes);
    const double rounding = kUnitRoundoff * ((groups + 64.0) * size_ + 8.0 * angle * size_by_y_ + std::fabs(value));
    const bool held = static_cast<double>(n + kLanes * kLanes) * step_ * std::fabs(drift) < kLargestAngle;
    return {value, -t_ * value + sum.by_y, held ? (error_ + rounding) * (1.0 + 0x1p-30) : kInfinity, kernel_};
}

}  // namespace renyi
