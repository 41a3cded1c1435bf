// Pairs that are known by one above and one below: two compositions. Roughly at first, as mostly they are far apart;
// finely where what lattices leave is not little beside what the pairs do.
#include <algorithm>

#include "renyi/transform/lattice/loss_composition.hpp"

namespace renyi::lattice {

namespace {

constexpr double kScout = 0.01;  // relative width of a first look where something is known to be enough
constexpr std::int64_t kScoutPoints = 1 << 15;
constexpr double kRough = 1e-3;       // relative width above, which is the answer where the other side is far off
constexpr double kRoughBelow = 1e-2;  // relative width below
constexpr double kMiddle = 3e-4;      // relative width of either side, of the second look
constexpr double kMoreApart = 3.0;    // times that: the distance of the sides beside which it is little
constexpr double kApart = 0.05;       // relative distance of the sides beside which it is little

bool is_within(Bracket b, double rtol) noexcept { return b.upper - b.lower <= rtol * b.upper; }
bool is_apart(Bracket b) noexcept { return b.upper - b.lower > kApart * b.upper; }

// Pairs that are used several times stay one pair.
std::vector<LossPart> one_side_of(const std::vector<LossPart>& parts, Side side) {
    std::vector<LossPart> found;
    for (const LossPart& part : parts) {
        const auto same = std::ranges::find(parts, part.pair, &LossPart::pair) - parts.begin();
        const bool known = same < static_cast<std::ptrdiff_t>(found.size());
        found.push_back({known ? found[static_cast<std::size_t>(same)].pair : part.pair->side(side), part.count});
    }
    return found;
}

bool is_found(Bracket b) noexcept { return b.upper - b.lower < kInfinity; }

}  // namespace

void LossComposition::compose_apart(const std::vector<LossPart>& parts) {
    rough_ = sides_of(parts, std::max(rtol_, kRough), std::max(rtol_, kRoughBelow), max_points_);
    if (rtol_ < kMiddle) middle_ = sides_of(parts, kMiddle, kMiddle, max_points_);
    fine_ = sides_of(parts, rtol_, rtol_, max_points_);
}

// Of the upper sides, where there is something to be saved by it.
LossComposition* LossComposition::scout() {
    std::call_once(scouted_, [this] {
        if (rtol_ >= 0.1 * kScout || upper_only_ || merged_.parts.empty() || alone()) return;
        const std::int64_t points = std::min(max_points_, kScoutPoints);
        scout_ = std::make_unique<LossComposition>(one_side_of(merged_.parts, Side::upper), kScout, points, true);
    });
    return scout_.get();
}

LossComposition::Sides LossComposition::sides_of(const std::vector<LossPart>& parts, double rtol_above,
                                                 double rtol_below, std::int64_t max_points) {
    return {std::make_unique<LossComposition>(one_side_of(parts, Side::upper), rtol_above, max_points, true),
            std::make_unique<LossComposition>(one_side_of(parts, Side::lower), rtol_below, max_points)};
}

Bracket LossComposition::Sides::delta(double epsilon, FourierTransform& fourier) const {
    const double most = above->delta(epsilon, fourier).upper;
    return {std::min(below->delta(epsilon, fourier).lower, most), most};
}

Bracket LossComposition::Sides::epsilon(double delta, FourierTransform& fourier) const {
    const double most = above->epsilon(delta, fourier).upper;
    return {std::min(below->epsilon(delta, fourier).lower, most), most};
}

// Often seen from tilts that are far off, for which delta would have to be composed anew.
bool LossComposition::Sides::are_apart(double epsilon, FourierTransform& fourier) const {
    const double most = above->delta(epsilon, fourier).upper;
    return below->known_delta(epsilon).upper < (1.0 - kApart) * most || is_apart(delta(epsilon, fourier));
}

Bracket LossComposition::two_sided_delta(double epsilon, FourierTransform& fourier, double known) const {
    Bracket found = rough_->delta(epsilon, fourier);
    if (found.upper <= known || is_apart(found) || is_within(found, rtol_)) return found;
    if (middle_) found = common(found, middle_->delta(epsilon, fourier));
    if (middle_ && (is_within(found, rtol_) || !is_within(found, kMoreApart * kMiddle))) return found;
    return common(found, fine_->delta(epsilon, fourier));
}

Bracket LossComposition::two_sided_epsilon(double delta, FourierTransform& fourier, double known) const {
    const Bracket rough = rough_->epsilon(delta, fourier);
    if (rough.upper <= known) return rough;
    const bool apart = !is_found(rough) || rough_->are_apart(rough.upper, fourier);
    // Atoms on one lattice are composed exactly at once.
    if (apart || is_within(rough_->delta(rough.upper, fourier), rtol_)) return rough;
    if (!middle_) return common(rough, fine_->epsilon(delta, fourier));
    const Bracket better = common(rough, middle_->epsilon(delta, fourier));
    const Bracket there = middle_->delta(better.upper, fourier);
    if (is_within(there, rtol_) || !is_within(there, kMoreApart * kMiddle)) return better;
    return common(better, fine_->epsilon(delta, fourier));
}

}  // namespace renyi::lattice
