// The lane functions and block kernels of iteration, against tables and the scalar functions.
#include <cmath>
#include <random>
#include <vector>

#include "check.hpp"
#include "measure.hpp"
#include "renyi/iteration/passes.hpp"
#include "renyi/iteration/step_terms.hpp"
#include "renyi/special/elementary.hpp"
#include "renyi/special/normal.hpp"
#include "tables.hpp"

using namespace renyi;

namespace {

void lane_functions() {
    check::Worst from_table{"lane_erfcx, table", 10.0};
    for (const auto& row : table::rows<table::Erfcx>()) from_table.relative(lane_erfcx(row.x), row.hi, row.lo, row.x);
    REPORT(from_table);
    CHECK_THAT(std::fabs(lane_erfcx(1e200) * 1e200 * std::sqrt(3.14159265358979324) - 1.0), <, 1e-15);
    if constexpr (check::kExtended) {
        // log y is given as a double, which is all that w can know: w + log w = log y to the sum of its parts.
        for (double log_y = -60.0; log_y < 1e6; log_y += 0.37 + 0.01 * std::fabs(log_y)) {
            const double w = lane_lambert_w(log_y, std::exp(std::fmin(log_y, 700.0)));
            const long double gap = std::log(static_cast<long double>(w)) + w - log_y;
            const double unit = (1.0 + std::fabs(log_y)) * 0x1p-53;
            CHECK_THAT(static_cast<double>(std::fabs(gap)), <=, 8.0 * unit);
        }
    }
}

// Both are on the safe side, by margins that grow with -log(1 - B).
void blocks_against_scalars() {
    std::mt19937_64 generator(7);
    std::uniform_real_distribution<double> exponent(-9.0, 9.0);
    for (const NoiseLaw law : {NoiseLaw::gaussian, NoiseLaw::laplace}) {
        for (const double epsilon : {0.0, 1e-3, 1.0, 30.0, 1e4}) {
            const IterationSetting setting{law, epsilon, 20.0, 100.0};
            double scales[kStepBlock], inverse[kStepBlock], start[kStepBlock], decay[kStepBlock];
            for (double& scale : scales) scale = 20.0 * std::exp(exponent(generator));
            inverse_scales(scales, kStepBlock, inverse);
            step_starts(setting, scales, inverse, kStepBlock, start);
            step_decays(setting, scales, inverse, kStepBlock, decay);
            for (int k = 0; k < kStepBlock; ++k) {
                const StepDivergence a = step_divergence(law, epsilon, 20.0, scales[k]);
                const StepDivergence b = step_divergence(law, epsilon, 100.0, scales[k]);
                const double slack = 1e-11 * (1.0 + 1e-2 * epsilon);
                CHECK_THAT(start[k], >=, a.upper * (1.0 - 0x1p-49));
                CHECK_THAT(start[k], <=, a.upper * (1.0 + slack));
                CHECK_THAT(
                    decay[k], <=,
                    b.decay_lower * (1.0 + 0x1p-46 - 0x1p-48 * std::log(std::fmin(b.decay_lower, 1.0) + 1e-300)) +
                        1e-300);
                CHECK_THAT(decay[k], >=, b.decay_lower * (1.0 - slack) - 1e-300);
            }
        }
    }
}

// Passes of all small lengths, by one product after the other.
void deltas_by_hand() {
    std::mt19937_64 generator(8);
    std::uniform_real_distribution<double> uniform(8.0, 40.0);
    const IterationSetting setting{NoiseLaw::gaussian, 0.5, 20.0, 100.0};
    for (const int n : {1, 2, 15, 16, 17, 255, 256, 257, 511, 513, 1000}) {
        std::vector<double> scales(n), deltas(n);
        for (double& scale : scales) scale = uniform(generator);
        const NoiseSchedule schedule{scales.data(), setting.law, 1.0, 0.0, 1.0, 1.0};
        online_deltas(setting, schedule, n, deltas.data());
        double sum = 0.0;
        for (int k = n - 1; k >= 0; --k) {
            const double a = step_divergence(setting.law, 0.5, 20.0, scales[k]).upper;
            CHECK_THAT(std::fabs(deltas[k] / (a * std::exp(-sum)) - 1.0), <, 1e-10);
            sum += step_divergence(setting.law, 0.5, 100.0, scales[k]).decay_lower;
        }
    }
}

}  // namespace

int main() {
    lane_functions();
    blocks_against_scalars();
    deltas_by_hand();
    return check::finish();
}
