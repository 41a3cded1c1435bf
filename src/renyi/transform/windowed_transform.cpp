#include "renyi/transform/windowed_transform.hpp"

#include <algorithm>
#include <cmath>

#include "renyi/transform/windowed_kernels.hpp"

namespace renyi {

namespace {

void pad(std::vector<double>& a) { a.resize((a.size() + kLanes - 1) / kLanes * kLanes, 0.0); }

double sum_of(const std::vector<double>& a) {
    double sum[kLanes] = {};
    for (std::size_t block = 0; block < a.size(); block += kLanes)
        for (int i = 0; i < kLanes; ++i) sum[i] += a[block + i];
    return total(sum);
}

}  // namespace

WindowedTransform::WindowedTransform(const WindowedNodes& nodes, double tilt, double mean, double step, double last)
    : step_(step) {
    double sum = 0.0;
    nodes.tilt_weights(tilt, sum);
    const std::size_t n = nodes.size();
    std::vector<double> weight(n), d(n);
    const double additions = static_cast<double>(n / kLanes) + 16.0;
    const windowed::TransformErrors e =
        windowed::centre({nodes.weight_.data(), nodes.loss_.data(), nodes.rounding_.data(), nodes.loss_error_.data()},
                         n, {sum, mean, std::fabs(tilt), additions}, weight.data(), d.data());
    quadratic_ = e.quadratic;
    linear_ = e.linear;
    constant_ = e.constant;
    separate(weight, d, last);
    const std::size_t count = moving_.size();
    row_cosine_ = std::make_unique_for_overwrite<double[]>(count * kLanes);
    row_sine_ = std::make_unique_for_overwrite<double[]>(count * kLanes);
    block_cosine_.resize(count);
    block_sine_.resize(count);
    windowed::turn_rows(moving_weight_.data(), moving_.data(), count, step, row_cosine_.get(), row_sine_.get(), row_re_,
                        row_im_);
}

void WindowedTransform::separate(const std::vector<double>& weight, const std::vector<double>& d, double last) {
    std::vector<double> still_weight, still;
    for (auto* a : {&still_weight, &still, &moving_weight_, &moving_}) a->reserve(d.size() + kLanes);
    const double reach = 1.0 / last;
    for (std::size_t i = 0; i < d.size(); ++i) {
        if (weight[i] == 0.0) continue;
        const bool is_still = std::fabs(d[i]) <= reach;
        (is_still ? still_weight : moving_weight_).push_back(weight[i]);
        (is_still ? still : moving_).push_back(d[i]);
        if (!is_still) moving_absolute_ += weight[i] * std::fabs(d[i]);
    }
    for (auto* a : {&still_weight, &still, &moving_weight_, &moving_}) pad(*a);
    additions_ = static_cast<double>((still.size() + moving_.size()) / kLanes) + 8.0;
    still_mass_ = sum_of(still_weight);
    moving_mass_ = sum_of(moving_weight_);
    still_mean_ = windowed::first_moment(still_weight.data(), still.data(), still.size());
    moving_mean_ = windowed::first_moment(moving_weight_.data(), moving_.data(), moving_.size());
    windowed::sum_moments(still_weight.data(), still.data(), still.size(), moments_);
}

// sum over the still nodes of e^{i t} - 1 - i t.
void WindowedTransform::add_still(double y, double& re, double& im) const noexcept {
    double even = 0.0, odd = 0.0;
    for (int m = windowed::kMoments - 2; m >= 0; m -= 2) {
        even = moments_[m] - y * y * even;
        odd = moments_[m + 1] - y * y * odd;
    }
    re -= y * y * even;
    im -= y * y * y * odd;
}

// sum over the moving nodes of e^{i t} - 1.
void WindowedTransform::moving(double first, double* re, double* im) const {
    double block_re = 0.0, block_im = 0.0;
    windowed::turn_block(moving_weight_.data(), moving_.data(), moving_.size(), first * step_, block_cosine_.data(),
                         block_sine_.data(), block_re, block_im);
    windowed::join(block_cosine_.data(), block_sine_.data(), row_cosine_.get(), row_sine_.get(), moving_.size(), re,
                   im);
    for (int j = 0; j < kLanes; ++j) {
        re[j] += block_re + row_re_[j];
        im[j] += block_im + row_im_[j];
    }
}

void WindowedTransform::excess(double first, double* re, double* im) const {
    moving(first, re, im);
    for (int j = 0; j < kLanes; ++j) {
        const double y = (first + j) * step_;
        im[j] -= y * moving_mean_;
        add_still(y, re[j], im[j]);
    }
}

void WindowedTransform::whole(double first, double* re, double* im) const {
    moving(first, re, im);
    for (int j = 0; j < kLanes; ++j) {
        const double y = (first + j) * step_;
        re[j] += still_mass_ + moving_mass_;
        im[j] += y * still_mean_;
        add_still(y, re[j], im[j]);
    }
}

namespace {

// u: of cos - 1 and sin at both angles 6 + 4|t|, of the angles 3|t|, of the products 20; all in |t| where that is
// small. To them come the additions of the block, of its rows, of their products and of the mean, each of parts below 2
// and |t|.
constexpr double kTurned = 32.0, kTurnedByAngle = 8.0, kTurnedSmall = 48.0;

}  // namespace

double WindowedTransform::excess_error(double y) const noexcept {
    const double angle = y * moving_absolute_;
    const double turned = std::min((kTurned + 4.0 * additions_) * moving_mass_ + (kTurnedByAngle + additions_) * angle,
                                   (kTurnedSmall + 4.0 * additions_) * angle);
    return kUnitRoundoff * (std::min(y * y * quadratic_, 4.0 * constant_ + y * linear_) + turned);
}

double WindowedTransform::whole_error(double y) const noexcept {
    return kUnitRoundoff * (2.0 * constant_ + 8.0 + kTurned + 6.0 * additions_ +
                            y * (linear_ + (kTurnedByAngle + additions_) * moving_absolute_));
}

}  // namespace renyi
