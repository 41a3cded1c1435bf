#include "renyi/sgd/clip_factor.hpp"

#include <cmath>

namespace renyi {

namespace {

constexpr double kUnit = 0x1p-53;

bool is_single(double factor) {
    return factor == 0.0 || (std::fabs(factor) >= 0x1p-126 && std::fabs(factor) < 0x1p127);
}

RowFactor rounded_down(double factor, double scale, bool wide_sum) {
    if (scale != 1.0 || (!wide_sum && !is_single(factor))) return {factor, scale, false};
    if (wide_sum) return {factor, scale, true};
    float single = static_cast<float>(factor);
    if (static_cast<double>(single) > factor) single = std::nextafter(single, 0.0f);
    return {static_cast<double>(single), scale, true};
}

// gamma in the units of the scaled row. Tiny rows (exponent < 0) are not scaled beside a gamma that dwarfs them.
struct Denominator {
    double value;
    int exponent;
};

Denominator denominator(const ClipBound& clip, double top, int exponent) {
    if (clip.rule == ClipRule::flat) return {top, exponent};
    if (exponent < 0 && clip.stability >= 0x1p-400) return {std::ldexp(top, exponent) + clip.stability, 0};
    return {top + (exponent == 0 ? clip.stability : std::ldexp(clip.stability, -exponent)), exponent};
}

}  // namespace

double RowNorm::value() const noexcept {
    const double root = std::sqrt(squares);
    return exponent == 0 ? root : std::ldexp(root, exponent);
}

double sum_spacing(double bound) noexcept { return std::ldexp(1.0, std::ilogb(bound) - 28); }

RowFactor plain_factor(double weight, bool wide_sum) noexcept {
    if (wide_sum) return {weight, 1.0, true};
    if (!is_single(weight)) return {weight, 1.0, false};
    return {static_cast<double>(static_cast<float>(weight)), 1.0, true};
}

RowFactor clip_factor(const ClipBound& clip, const RowNorm& norm) noexcept {
    constexpr RowFactor kWhole{1.0, 1.0, true};
    if (clip.rule == ClipRule::constant) return plain_factor(clip.bound, clip.wide_sum);
    if (norm.squares == 0.0) return kWhole;
    const double growth = clip.wide_sum ? 1.0 + 0x1p-51 : 1.0 + 0x1p-24 + 0x1p-51;
    const double h = clip.wide_sum ? 0.5 * sum_spacing(clip.bound) * (1.0 + 8.0 * kUnit) : 0x1p-149;
    const double lost = h * clip.root_elements;
    const double top = std::sqrt(norm.squares) * (1.0 + (0.5 * clip.roundings + 6.0) * kUnit);
    const double budget = (clip.bound - lost) * (1.0 - 16.0 * kUnit);
    if (clip.rule == ClipRule::flat) {
        // Scaled rows are below 2^-448 or above 2^448: on the one side of C or the other.
        const bool rounds = clip.wide_sum || clip.has_doubles;
        const bool whole = rounds ? top * growth <= budget : top <= clip.bound;
        if (norm.exponent < 0 || (norm.exponent == 0 && whole)) return kWhole;
    }
    const Denominator below = denominator(clip, top, norm.exponent);
    const double factor = budget / (below.value * growth);
    return rounded_down(factor, below.exponent == 0 ? 1.0 : std::ldexp(1.0, -below.exponent), clip.wide_sum);
}

}  // namespace renyi
