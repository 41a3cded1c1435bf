// The lane functions and block kernels of iteration, against tables and the scalar functions.
#include <cmath>
#include <random>
#include <vector>

#include "check.hpp"
#include "measure.hpp"
#include "renyi/iteration/passes.hpp"
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
    deltas_by_hand();
    return check::finish();
}
