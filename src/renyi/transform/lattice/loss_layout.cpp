#include "renyi/transform/lattice/loss_layout.hpp"

#include <algorithm>
#include <cmath>

namespace renyi::lattice {

namespace {

constexpr double kWidestStep = 100.0;   // e^step must not overflow

// Others are what is left of masses that underflow, or matter no more than if they were continuous.
bool is_heavy(const LossOutline& outline, std::size_t atom) {
    constexpr double kHeavy = 1e-6;
    return atom < outline.atoms.size() && outline.atoms[atom].mass >= kHeavy;
}

// The part of a range that a lattice can hold: what lies above is taken for infinite, what lies below for its end.
LossRange held(const LossOutline& outline, double widest) {
    if (outline.high - outline.low <= widest) return {outline.low, outline.high};
    const double low = std::clamp(-0.5 * widest, outline.low, outline.high - widest);
    return {low, low + widest};
}

}  // namespace

LossLayout::LossLayout(const std::vector<LossPart>& parts, const std::vector<LossOutline>& outlines,
                       std::int64_t max_points, std::int64_t nodes) {
    const double most = kWidestStep * static_cast<double>(max_points - 8);
    double widest = 0.0, farthest = 0.0;
    for (std::size_t i = 0; i < parts.size(); ++i) {
        const LossOutline& outline = outlines[i];
        parts_.push_back(parts[i].pair);
        counts_.push_back(parts[i].count);
        ranges_.push_back(held(outline, most));
        anchors_.push_back(is_heavy(outline, 0) ? outline.atoms[0].loss : 0.0);
        if (!(ranges_.back().low <= anchors_.back() && anchors_.back() <= ranges_.back().high)) {
            anchors_.back() = ranges_.back().low;
        }
        widest = std::max(widest, ranges_.back().high - ranges_.back().low);
        farthest = std::max({farthest, std::fabs(ranges_.back().low), std::fabs(ranges_.back().high)});
    }
    exact_ = std::ranges::all_of(outlines, &LossOutline::only_atoms);
    std::optional<double> step;
    if (exact_) step = widest > 0.0 ? common_step(outlines) : std::max(farthest, 1.0);
    exact_ = step.has_value();
    if (exact_) {
        step_ = *step;
    } else {
        step_ = std::min(widest / static_cast<double>(std::min(nodes, max_points / 2)), kWidestStep);
        step_ = std::max({step_, 1e-13 * farthest, 1e-280});
        const auto paired = std::ranges::find_if(outlines, [](const LossOutline& o) { return is_heavy(o, 1); });
        if (paired != outlines.end()) quantum_ = std::fabs(paired->atoms[0].loss - paired->atoms[1].loss);
    }
    *this = with_step(step_, ranges_);
}

double LossLayout::uses() const noexcept {
    double uses = 0.0;
    for (const std::int64_t count : counts_) uses += static_cast<double>(count);
    return uses;
}

std::int64_t LossLayout::longest() const noexcept {
    std::size_t longest = 0;
    for (const LatticePair& pair : pairs_) longest = std::max(longest, pair.lattice.size());
    return static_cast<std::int64_t>(longest);
}

OwnedLaws LossLayout::laws(Side side) const {
    OwnedLaws found;
    for (std::size_t i = 0; i < pairs_.size(); ++i) {
        const LatticePair& pair = pairs_[i];
        found.add(NodeLawArrays::of(pair.lattice, side == Side::upper ? pair.upper : pair.lower),
                  static_cast<double>(counts_[i]));
    }
    return found;
}

OwnedLaws LossLayout::unspread_laws(double tilt) const {
    OwnedLaws found;
    const double growth = 0.5 * tilt * (tilt + 1.0);
    for (std::size_t i = 0; i < pairs_.size(); ++i) {
        std::vector<double> masses = pairs_[i].upper;
        for (std::size_t k = 0; k < masses.size(); ++k)
            masses[k] = std::max(masses[k] - growth * pairs_[i].spread[k], 0.0);
        found.add(NodeLawArrays::of(pairs_[i].lattice, masses), static_cast<double>(counts_[i]));
    }
    return found;
}

LossLayout LossLayout::with_step(double step, const std::vector<LossRange>& ranges) const {
    return made(step <= quantum_ ? quantum_ / std::ceil(quantum_ / step - 1e-9) : step, ranges);
}

LossLayout LossLayout::coarsened(double step) const {
    return made(step <= quantum_ ? quantum_ / std::floor(quantum_ / step) : step, ranges_);
}

LossLayout LossLayout::made(double step, const std::vector<LossRange>& ranges) const {
    LossLayout found = *this;
    found.step_ = step;
    found.ranges_ = ranges;
    found.discretise_all();
    return found;
}

LossLayout LossLayout::cropped(const std::vector<LossRange>& ranges) const {
    double before = 0.0, after = 0.0;
    for (std::size_t i = 0; i < ranges.size(); ++i) {
        before += ranges_[i].high - ranges_[i].low;
        after += ranges[i].high - ranges[i].low;
    }
    return after < 0.6 * before ? with_step(step_, ranges) : *this;
}

LossLayout LossLayout::as_final() const {
    LossLayout found = *this;
    found.final_ = true;
    return found;
}

void LossLayout::discretise_all() {
    pairs_.clear();
    for (std::size_t i = 0; i < parts_.size(); ++i) {
        const auto first = static_cast<std::int64_t>(std::floor((ranges_[i].low - anchors_[i]) / step_ - 1e-9));
        const auto last = static_cast<std::int64_t>(std::ceil((ranges_[i].high - anchors_[i]) / step_ + 1e-9));
        pairs_.push_back(discretise(*parts_[i], Lattice{step_, anchors_[i], first, std::max(last, first + 1)}));
    }
}

}  // namespace renyi::lattice
