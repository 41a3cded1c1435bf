// See the header. The order of summation is fixed. The error of a term of the value is 24 u of the term, 4 u of its
// angle from the rounding of the angle, and 4 u of its angle from circular_excess, which holds up to 2^20.
#include "renyi/curve/contour_sum.hpp"

#include <cmath>

#include "renyi/fp/lanes.hpp"
#include "renyi/special/elementary.hpp"

namespace renyi {

namespace {

constexpr double kLargestAngle = 0x1p20;
constexpr double kNoAngle = 1e300;  // error of a term whose angle is unknown; 0 if the size of the term is 0

RENYI_MULTIVERSION
LineSums sum_rows(const double* modulus0, const double* modulus1, const double* phase0, const double* phase1,
                  LineTerms line) noexcept {
    double value[kLanes] = {}, slope[kLanes] = {}, error[kLanes] = {};
    const double unit = line.t * (line.t + 1.0), twice = 2.0 * line.t + 1.0;
    for (std::size_t k = 0; k < line.count; k += kLanes) {
        const double first = static_cast<double>(k + 1);
        for (int i = 0; i < kLanes; ++i) {
            const double y = (first + static_cast<double>(i)) * line.step;
            const double angle = (phase0[k + i] + line.times * phase1[k + i]) + y * line.drift;
            const double far = __builtin_fabs(angle);
            const CircularExcess e = circular_excess(angle);
            const double cosine = 1.0 + e.cosine, sine = angle + e.sine;
            const double re = unit - y * y, im = y * twice;
            const double norm = re * re + im * im;
            const double size = lane_exp(modulus0[k + i] + line.times * modulus1[k + i]) * unit / norm;
            const double real = size * (re * cosine + im * sine), imaginary = size * (re * sine - im * cosine);
            value[i] += real;
            slope[i] -= line.t * real - y * imaginary;
            const double curved = 0.5 * y * y * line.variance, straight = line.flat + y * line.steep;
            const double log_error = line.rounding * (curved < straight ? curved : straight) + y * line.mean;
            const double turned = far < kLargestAngle ? 8.0 * far : kNoAngle;
            error[i] += size * __builtin_sqrt(norm) * (24.0 + turned + log_error);
        }
    }
    return {total(value), total(slope), total(error)};
}

}  // namespace

LineSums sum_line(const LineTerms& terms) noexcept {
    return sum_rows(terms.log_modulus[0], terms.log_modulus[1], terms.phase[0], terms.phase[1], terms);
}

}  // namespace renyi
