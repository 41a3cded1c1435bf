#include "renyi/mechanism/composed_curve.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace renyi {

ComposedCurve::ComposedCurve(std::vector<CountedCurve> parts) : parts_(std::move(parts)) {
    for (const CountedCurve& part : parts_) {
        largest_order_ = std::min(largest_order_, part.curve->largest_order());
        largest_loss_ += part.count * part.curve->largest_loss();
    }
    largest_loss_ *= 1.0 + (static_cast<double>(parts_.size()) + 2.0) * 2.0 * kUnitRoundoff;
}

LogMoment ComposedCurve::log_moment(double alpha) const noexcept {
    LogMoment total{{}, 0.0, 0.0};
    CertifiedSum sum;
    for (const CountedCurve& part : parts_) {
        const LogMoment m = part.curve->log_moment(alpha);
        sum.add(part.count, m.value);
        total.first += part.count * m.first;
        total.second += part.count * m.second;
    }
    total.value = sum.total();
    return total;
}

Certified ComposedCurve::divergence(double alpha) const noexcept {
    CertifiedSum sum;
    for (const CountedCurve& part : parts_) sum.add(part.count, part.curve->divergence(alpha));
    return sum.total();
}

}  // namespace renyi
