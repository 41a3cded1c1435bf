#include "renyi/transform/lattice/loss_atoms.hpp"

#include <algorithm>
#include <cmath>

#include "renyi/fp/certified.hpp"

namespace renyi::lattice {

namespace {

constexpr double kMostSteps = 0x1p18;  // of a lattice that holds all atoms

struct Gap {
    double width, error;
};

std::vector<Gap> gaps_of(const std::vector<LossOutline>& parts) {
    std::vector<Gap> gaps;
    for (const LossOutline& part : parts) {
        for (std::size_t i = 1; i < part.atoms.size(); ++i) {
            const PointMass &first = part.atoms[0], &other = part.atoms[i];
            gaps.push_back({std::fabs(other.loss - first.loss), other.loss_error + first.loss_error});
        }
    }
    return gaps;
}

double rest_of(double width, double step) noexcept { return std::fabs(width - std::rint(width / step) * step); }

void merge_equal(std::vector<PointMass>& atoms) {
    std::ranges::sort(atoms, {}, &PointMass::loss);
    std::size_t kept = 0;
    for (std::size_t i = 1; i < atoms.size(); ++i) {
        if (atoms[i].loss == atoms[kept].loss) {
            atoms[kept].mass += atoms[i].mass;
            atoms[kept].loss_error = std::max(atoms[kept].loss_error, atoms[i].loss_error);
        } else {
            atoms[++kept] = atoms[i];
        }
    }
    if (!atoms.empty()) atoms.resize(kept + 1);
}

}  // namespace

LossOutline outline_of(const Pair& pair) {
    LossOutline found;
    found.low = kInfinity;
    found.high = found.largest = -kInfinity;
    const Spans spans = pair.spans(Side::upper, Coarse{});
    for (const Span& span : spans.spans) {
        if (!(span.p > 0.0)) continue;
        found.low = std::min(found.low, span.low);
        found.high = std::max(found.high, span.high);
        found.largest = std::max(found.largest, span.high + span.loss_error);
        if (span.low == span.high) found.atoms.push_back({span.mean, span.p, span.loss_error});
        found.only_atoms &= span.low == span.high;
        found.surely_reached = std::max(found.surely_reached, span.mean - span.loss_error);
    }
    found.infinite = spans.infinite;
    if (found.low > found.high) found.low = found.high = found.largest = 0.0;  // nothing finite
    merge_equal(found.atoms);
    std::ranges::stable_sort(found.atoms, std::ranges::greater{}, &PointMass::mass);
    return found;
}

std::optional<double> common_step(const std::vector<LossOutline>& parts) {
    std::vector<Gap> gaps = gaps_of(parts);
    double widest = 0.0;
    for (const Gap& gap : gaps) widest = std::max(widest, gap.width);
    const double tolerance = 1e-9 * widest;
    std::erase_if(gaps, [&](const Gap& gap) { return gap.width <= tolerance; });
    if (gaps.empty()) return {};
    double step = std::ranges::min(gaps, {}, &Gap::width).width;
    for (;;) {
        if (widest > kMostSteps * step) return {};
        double next = kInfinity;
        for (const Gap& gap : gaps) {
            const double rest = rest_of(gap.width, step);
            if (rest > tolerance) next = std::min(next, rest);
        }
        if (next == kInfinity) break;
        step = next;
    }
    // The estimate from the widest difference over its multiple, then a strict check.
    step = widest / std::rint(widest / step);
    const bool held = std::ranges::all_of(
        gaps, [&](const Gap& gap) { return rest_of(gap.width, step) <= 4.0 * gap.error + 0x1p-50 * gap.width; });
    return held ? std::optional(step) : std::nullopt;
}

}  // namespace renyi::lattice
