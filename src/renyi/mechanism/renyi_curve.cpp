// K/(alpha-1) costs two roundings. At alpha = 1 it is the slope of K, which a curve knows as well as it knows K nearby:
// those that know it better say so themselves.
#include "renyi/mechanism/renyi_curve.hpp"

#include <algorithm>

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

}  // namespace renyi
