#include "renyi/transform/lattice/merged_parts.hpp"

#include <algorithm>
#include <cmath>

#include "renyi/fp/double_double.hpp"
#include "renyi/pair/noise/normal_mixtures.hpp"

namespace renyi::lattice {

namespace {

constexpr double kReach = 40.0;  // deviations beyond which a Gaussian has no mass

}  // namespace

MergedParts merged_parts(const std::vector<LossPart>& parts) {
    MergedParts merged;
    DoubleDouble squares{0.0, 0.0};
    std::int64_t gaussians = 0;
    PairPointer last;
    for (const LossPart& part : parts) {
        if (part.count == 0) continue;
        if (const double mu = part.pair->gaussian_shift(); mu > 0.0) {
            squares = squares + two_prod(mu, mu) * static_cast<double>(part.count);
            gaussians += part.count;
            last = part.pair;
            continue;
        }
        const auto same = std::ranges::find(merged.parts, part.pair, &LossPart::pair);
        if (same != merged.parts.end()) {
            same->count += part.count;
        } else {
            merged.parts.push_back(part);
        }
    }
    if (gaussians == 1) {
        merged.parts.push_back({last, 1});
    } else if (gaussians > 1) {
        // The root is right to 2 u; the loss mu v at v deviations from the middle moves with it.
        const double mu = std::sqrt(squares.hi);
        merged.parts.push_back({std::make_shared<GaussianPair>(mu), 1});
        merged.drift = 2.0 * kUnitRoundoff * mu * (kReach + 2.0 * mu);
    }
    return merged;
}

}  // namespace renyi::lattice
