// theta of many steps at once, as StepDivergence of each; from there everything about a pass is a sum.
#pragma once

#include "renyi/iteration/setting.hpp"

namespace renyi {

constexpr int kStepBlock = 256;

StepDivergence step_divergence(NoiseLaw law, double epsilon, double shift, double scale) noexcept;

// 1/scale, which both of these take.
void inverse_scales(const double* scales, int count, double* inverse) noexcept;

// start[k] >= A and decay[k] <= -log B of steps with these scales, k < count <= kStepBlock.
void step_starts(const IterationSetting& setting, const double* scales, const double* inverse, int count,
                 double* start) noexcept;
void step_decays(const IterationSetting& setting, const double* scales, const double* inverse, int count,
                 double* decay) noexcept;

}  // namespace renyi
