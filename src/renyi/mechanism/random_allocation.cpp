#include "renyi/mechanism/random_allocation.hpp"

#include <algorithm>

#include "renyi/mechanism/allocation.hpp"
#include "renyi/mechanism/linear_curve.hpp"
#include "renyi/mechanism/polygon_segment.hpp"

namespace renyi {

namespace {

constexpr int kLastOrderComputed = 256;
constexpr double kSmallestSigma = 1.0 / 16;

}  // namespace

RandomAllocationCurve::RandomAllocationCurve(double sigma, std::int64_t steps)
    : rho_(0.5 / (sigma * sigma)), largest_order_(kInfinity) {
    if (steps == 1 || !(sigma >= kSmallestSigma) || rho_ < 0x1p-500) return;
    const double c = 1.0 / sigma;
    k_ = allocation_remove(c, steps, kLastOrderComputed);
    const std::vector<double> add = allocation_add(c, steps, k_);
    for (std::size_t n = 2; n < k_.size(); ++n) {
        const double order = static_cast<double>(n), k = k_[n].value;
        // 1/sigma is right to 1u; d log(E - 1)/d log c <= 2 + c^2 n (n-1), twice the largest exponent.
        k_[n].relative_error += (2.0 + c * c * order * (order - 1.0)) * kUnitRoundoff * std::min(1.0, 1.0 / k);
        if (add[n] > upper(k_[n])) k_[n] = {add[n], 4.0 * kUnitRoundoff};
    }
    largest_order_ = kLastOrderComputed;
}

LogMoment RandomAllocationCurve::log_moment(double alpha) const noexcept {
    if (k_.empty()) return LinearCurve(rho_).log_moment(alpha);
    return polygon_segment(alpha, largest_order_, [this](double n) { return k_[static_cast<std::size_t>(n)]; });
}

Certified RandomAllocationCurve::divergence(double alpha) const noexcept {
    if (k_.empty()) return LinearCurve(rho_).divergence(alpha);
    return RenyiCurve::divergence(alpha == 1.0 ? 2.0 : alpha);
}

}  // namespace renyi
