// K/(alpha-1) costs two roundings. At alpha = 1 it is the slope of K, taken to be as accurate as K nearby; curves with
// a more accurate divergence override the function.
//
// For a mixture, K' is the mean of K_i' under the shares w_i A_i / A, and K'' is the mean of K_i'' + K_i'^2 minus the
// square of K'.
#include "renyi/pair/renyi_curve.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "renyi/special/elementary.hpp"
#include "renyi/special/elementary_dd.hpp"

namespace renyi {

Certified RenyiCurve::divergence(double alpha) const noexcept {
    if (alpha > 1.0) {
        const Certified k = log_moment(alpha).value;
        return {k.value / (alpha - 1.0), k.relative_error == 0.0 ? 0.0 : k.relative_error + 3.0 * kUnitRoundoff};
    }
    if (!(alpha == 1.0)) return kOutsideDomain;
    const double nearby = std::min(2.0, largest_order());
    return {log_moment(1.0).first, log_moment(nearby).value.relative_error + 8.0 * kUnitRoundoff};
}

LogMoment LinearCurve::log_moment(double alpha) const noexcept {
    const Certified d = divergence(alpha);
    const double beta = alpha - 1.0;
    return {{beta * d.value, beta == 0.0 ? 0.0 : d.relative_error + 2.0 * kUnitRoundoff},
            xi_ + rho_ * (alpha + beta),
            2.0 * rho_};
}

Certified LinearCurve::divergence(double alpha) const noexcept {
    const double value = xi_ + rho_ * alpha;
    return {value, value == 0.0 ? 0.0 : 2.0 * kUnitRoundoff};
}

namespace {

class LabelledMixtureCurve final : public RenyiCurve {
public:
    explicit LabelledMixtureCurve(std::vector<WeightedPart> parts) : parts_(std::move(parts)) {
        std::erase_if(parts_, [](const WeightedPart& part) { return part.weight == 0.0; });
        for (const WeightedPart& part : parts_) {
            largest_order_ = std::min(largest_order_, part.curve->largest_order());
            largest_loss_ = std::max(largest_loss_, part.curve->largest_loss());
        }
    }

    LogMoment log_moment(double alpha) const noexcept override {
        Excess excess;
        Certified farthest{0.0, 0.0};  // beyond the range of the excess the largest part dominates
        std::vector<LogMoment> moments;
        for (const WeightedPart& part : parts_) {
            moments.push_back(part.curve->log_moment(alpha));
            const Certified k = moments.back().value;
            if (!(k.value > 0.0)) continue;
            if (!(k.value < kLargestExponent)) {
                const Certified alone = log_mixture(part.weight, k);
                if (alone.value > farthest.value) farthest = alone;
                continue;
            }
            excess.add(scaled(part.weight) * scaled_expm1({k.value, 0.0}), log_error(k));
        }
        LogMoment found{excess.log_moment(12.0 * kUnitRoundoff), 0.0, 0.0};
        if (farthest.value > 0.0) found.value = {farthest.value, farthest.relative_error + 0x1p-40};
        double square = 0.0;
        for (std::size_t i = 0; i < parts_.size(); ++i) {
            const LogMoment& m = moments[i];
            const double exponent = m.value.value - found.value.value + lane_log(parts_[i].weight);
            const double share = std::exp(std::min(exponent, 0.0));
            found.first += share * m.first;
            square += share * (m.second + m.first * m.first);
        }
        found.second = std::max(square - found.first * found.first, 0.0);
        return found;
    }
    Certified divergence(double alpha) const noexcept override {
        if (alpha > 1.0) return RenyiCurve::divergence(alpha);
        CertifiedSum sum;
        for (const WeightedPart& part : parts_) sum.add(part.weight, part.curve->divergence(alpha));
        return sum.total();
    }
    bool convex() const noexcept override {
        return std::all_of(parts_.begin(), parts_.end(), [](const WeightedPart& p) { return p.curve->convex(); });
    }
    double largest_order() const noexcept override { return largest_order_; }
    double largest_loss() const noexcept override { return largest_loss_; }

private:
    std::vector<WeightedPart> parts_;
    double largest_order_ = kInfinity, largest_loss_ = 0.0;
};

}  // namespace

CurvePointer labelled_mixture(std::vector<WeightedPart> parts) {
    return std::make_shared<const LabelledMixtureCurve>(std::move(parts));
}

}  // namespace renyi
