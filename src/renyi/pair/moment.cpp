// Rounding. phi has a relative error of 16u, and an error of 5u in t = beta l moves phi by 5u (2 + max(t, 0)) of
// itself; with 20u for the masses every term of A - 1 has an error of (48 + 6 max(t, 0)) u (a closed form may need
// twice that), and a sum of n terms in 16 lanes adds (n/16 + 16) u. Where the scale is taken out, e^{beta (l - L)}
// matters only for beta (L - l) < 60 or so, and the rounding of beta L is an absolute error of log A.
#include "renyi/pair/moment.hpp"

#include <algorithm>
#include <cmath>

#include "renyi/fp/lanes.hpp"
#include "renyi/fp/multiversion.hpp"
#include "renyi/loss/sampled_gaussian_kernels.hpp"
#include "renyi/pair/division.hpp"
#include "renyi/special/elementary.hpp"

namespace renyi {

static_assert(kLossBlock == kLanes);

namespace {

constexpr double kLargestExponent = 600.0;
constexpr double kTermError = 96.0, kExponentError = 6.0,
                 kFarExponent = 64.0;  // in units of u: twice 48, and 6 per unit of t; the t taken for scaled sums

// Returns the sums of e^{beta (l - L)} times 1, l, l - L and (l - L)^2.
RENYI_MULTIVERSION
TiltedSums sum_powers(const double* l, const double* m, std::size_t blocks, double beta, double largest) noexcept {
    double value[kLanes] = {}, slope[kLanes] = {}, first[kLanes] = {}, second[kLanes] = {};
    for (std::size_t b = 0; b < blocks; ++b, l += kLanes, m += kLanes) {
        for (int i = 0; i < kLanes; ++i) {
            const double d = l[i] - largest;
            const double weight = m[i] * lane_exp(beta * d);
            value[i] += weight;
            slope[i] += weight * l[i];
            first[i] += weight * d;
            second[i] += weight * d * d;
        }
    }
    return {total(value), total(slope), total(first), total(second)};
}

double sum_error(std::size_t terms) noexcept { return kTermError + 16.0 + static_cast<double>(terms) / kLanes; }

constexpr double kNarrow = 1e-3;    // widest span, relative to its losses and their distance from the largest loss
constexpr double kKnown = 0x1p-20;  // masses with a larger relative error are rounded up
constexpr double kRough = 64.0;     // parts of the range of losses for the first estimate of their spread
constexpr std::size_t kMostAtoms = 1 << 16;
constexpr double kNodeMassError = 16.0 * kUnitRoundoff, kNodeLossError = 4.0 * kUnitRoundoff;  // see LossAtom

struct Extent {
    double lowest = kInfinity, largest = -kInfinity, spread = 0.0;
};

Extent extent_of(const Spans& spans) noexcept {
    Extent extent;
    double square = 0.0, divergence = 0.0;
    for (const Span& s : spans.spans) {
        if (s.p == 0.0 && s.q == 0.0) continue;
        extent.lowest = std::min(extent.lowest, s.low);
        if (s.p > 0.0) extent.largest = std::max(extent.largest, s.high);
        const double loss = std::max(std::fabs(s.low), std::fabs(s.high));
        square += std::min(s.p, s.q) * loss * loss;
        divergence += divergence_term({s.mean, s.p, s.q});
    }
    // A - 1 >= (alpha - 1) KL, and small losses move it by (alpha - 1) sum |p - q| e <= 2 (alpha - 1) KL^(1/2) e.
    extent.spread = std::max(std::sqrt(square), std::sqrt(std::min(divergence, 1.0)));
    return extent;
}

}  // namespace

Tilt::Tilt(double alpha, double largest_loss) noexcept
    : alpha(alpha), beta(alpha - 1.0), largest_loss(largest_loss), scale(beta * largest_loss), center(0.0) {
    if (scale > 1.0) center = largest_loss;
    if (!(scale > kLargestExponent)) scale = 0.0;
}

// p phi(-l) = q (1 - e^l (1 - l)): each form where it neither cancels nor overflows.
double divergence_term(const LossAtom& a) noexcept {
    if (a.loss == -kInfinity) return a.q;
    if (a.loss < -1.0) return a.q * (1.0 - lane_exp(a.loss) * (1.0 - a.loss));
    return a.loss > 700.0 ? a.p * (a.loss - 1.0) : a.p * phi_of(reduce_exp(-a.loss));
}

TiltedSums sums_of(const LossAtom& atom, const Tilt& tilt) noexcept {
    const double l = atom.p > 0.0 ? atom.loss : 0.0, away = l - tilt.center;
    if (tilt.scale > 0.0) {
        const double weight = atom.p * lane_exp(tilt.beta * (l - tilt.largest_loss));
        return {weight, weight * l, weight * away, weight * away * away};
    }
    const double t = tilt.beta * l, clamped = std::max(t, -700.0), kl = divergence_term(atom);
    const ExpReduction e = reduce_exp(clamped);
    const double weight = atom.p * exp_of(e);
    return {atom.p * (phi_of(e) + (clamped - t)) + tilt.beta * kl, atom.p * l * expm1_of(e) + kl, weight * away,
            weight * away * away};
}

void LossNodes::add(const LossAtom& atom) {
    if (count_ % kLossBlock == 0) {
        loss_.resize(count_ + kLossBlock, 0.0);
        mass_.resize(count_ + kLossBlock, 0.0);
        divergence_.push_back(divergence_.empty() ? 0.0 : divergence_.back());
    }
    loss_[count_] = atom.p > 0.0 ? atom.loss : 0.0;
    mass_[count_] = atom.p;
    divergence_.back() += divergence_term(atom);
    largest_loss_ = std::max(largest_loss_, atom.loss);
    ++count_;
}

TiltedSums LossNodes::sums(const Tilt& tilt, std::size_t first, std::size_t blocks) const noexcept {
    if (blocks == 0) return {};
    const double *l = loss_.data() + first * kLossBlock, *m = mass_.data() + first * kLossBlock;
    if (tilt.scale > 0.0) return sum_powers(l, m, blocks, tilt.beta, tilt.largest_loss);
    const NodeSums s = sum_phi_derivatives(l, m, blocks, tilt.beta, tilt.center);
    const double kl = divergence(first + blocks) - divergence(first);
    return {s.value + tilt.beta * kl, s.slope + kl, s.first, s.second};
}

LogMoment logarithm_of(const TiltedSums& sums, const Tilt& tilt, double error, std::size_t terms) noexcept {
    const bool scaled = tilt.scale > 0.0;
    const double a = scaled ? sums.excess : 1.0 + sums.excess;
    const double log_a = scaled ? lane_log(a) : lane_log1p(sums.excess);
    const double value = tilt.scale + log_a;
    const double exponent = scaled ? kFarExponent : std::max(tilt.beta * tilt.largest_loss, 0.0);
    const double excess_error = error + (sum_error(terms) + kExponentError * exponent) * kUnitRoundoff;
    // |d log log A| = (A - 1)/(A log A) |d log (A - 1)|
    const double absolute = excess_error * (sums.excess / a) +
                            kUnitRoundoff * (12.0 * tilt.scale + (scaled ? 2.0 * std::fabs(log_a) : 0.0));
    const double mean = sums.first / a;
    Certified certified{value, absolute / value + 4.0 * kUnitRoundoff};
    if (value < kSmallestMoment)
        certified = tilt.beta > 0.0 && tilt.largest_loss > 0.0 ? kBelowSmallest : Certified{0.0, 0.0};
    return {certified, sums.slope / a, std::max(sums.second / a - mean * mean, 0.0)};
}

Certified divergence_of(double sum, double largest_loss, double error, std::size_t terms) noexcept {
    if (sum < kSmallestMoment) return largest_loss > 0.0 ? kBelowSmallest : Certified{0.0, 0.0};
    return {sum, error + sum_error(terms) * kUnitRoundoff};
}

namespace {

// The Rényi curve of a pair of bounded loss: the curve of the discrete pair which dominates it,
//
//     K(alpha) = log E_Q[e^{alpha L}],   above the truth by about 1e-7 of itself at most if the pair is not two-sided
//
// and exact up to rounding where the pair consists of at most 2^16 atoms. Other spans are narrow relative to their
// losses, since A - 1 is quadratic in small losses, and relative to their distance from the largest loss, around which
// the moments of large orders concentrate.
class PairMoment final : public RenyiCurve {
public:
    // The pair has no infinite mass and no losses above its spans.
    // Masses add up to 1 up to underflow, so that A - 1 is the sum of q (e^{alpha l} - 1 - alpha (e^l - 1)) over all
    // outcomes, including those where P vanishes.
    explicit PairMoment(const Pair& pair) {
        Spans found = pair.spans(Side::upper, Coarse{});
        const Extent whole = extent_of(found);
        double spread = whole.spread;
        const auto is_atom = [](const Span& s) { return s.low == s.high; };
        if (found.spans.size() > kMostAtoms || !std::ranges::all_of(found.spans, is_atom)) {
            const CutBy rough([width = (whole.largest - whole.lowest) / kRough](double low, double high) {
                return high - low <= width ? kFine : kAnywhere;
            });
            spread = extent_of(pair.spans(Side::upper, rough)).spread;
            found = pair.spans(Side::upper, CutBy([&](double low, double high) {
                                   const double size = std::max({std::fabs(low), std::fabs(high), spread});
                                   const double away = std::max(whole.largest - low, 1e-8 * spread);
                                   return high - low <= kNarrow * std::min(size, away) ? kFine : kAnywhere;
                               }));
        }
        for (const Span& s : found.spans)
            if (s.p > 0.0 || s.q > 0.0) add(s, spread);
        if (found.null.upper > 0.0) nodes_.add({-kInfinity, 0.0, found.null.upper});
    }

    LogMoment log_moment(double alpha) const noexcept override {
        const Tilt tilt(alpha, nodes_.largest_loss());
        // An error e of a loss moves e^{alpha l} by alpha e of itself, and the square of a small loss by 2 e |l|: all
        // small losses together move the sum by 2 e/spread of itself.
        const double moved = 2.0 * (alpha * loss_error_ + small_loss_error_);
        return logarithm_of(nodes_.sums(tilt, 0, nodes_.blocks()), tilt, error_ + moved, nodes_.size());
    }
    Certified divergence(double alpha) const noexcept override {
        if (alpha > 1.0) return RenyiCurve::divergence(alpha);
        return divergence_of(nodes_.divergence(nodes_.blocks()), nodes_.largest_loss(),
                             error_ + 2.0 * (loss_error_ + small_loss_error_), nodes_.size());
    }
    double largest_loss() const noexcept override {
        return (nodes_.largest_loss() + loss_error_) * (1.0 + 8.0 * kUnitRoundoff);
    }

private:
    // Only the part of an error above those that nodes may have counts.
    void add(const Span& span, double spread) {
        Span s = span;
        if (s.mass_error > kKnown) {  // only negligible masses are so inaccurate: they are rounded up
            s.p *= 1.0 + s.mass_error;
            s.q *= 1.0 + s.mass_error;
            s.mass_error = 0.0;
        }
        const double loss_error = std::max(s.loss_error - kNodeLossError * std::fabs(s.mean), 0.0);
        error_ = std::max(error_, s.mass_error - kNodeMassError);
        loss_error_ = std::max(loss_error_, loss_error);
        small_loss_error_ = std::max(small_loss_error_, loss_error / std::max(std::fabs(s.mean), spread));
        if (s.low == s.high) return nodes_.add({s.mean, s.p, s.q});
        // A share r of P at the high end keeps the masses of P and Q. Then a span adds at most r psi(high) +
        // (1-r) psi(low) to A - 1, psi(l) = e^{beta l} - alpha + beta e^-l, convex in e^-l and least at l = 0. An error
        // e of the losses makes an error of
        //     r = (1 - e^{low-mean})/(1 - e^{low-high})
        // of 2e (1 + r)/(1 - e^{2e-width}) at most; `off` bounds it, or is 1. `off` is added to the end with the larger
        // psi, or to both where either may be the larger.
        const double share = std::min(lane_expm1(s.low - s.mean) / lane_expm1(s.low - s.high), 1.0);
        const double off = s.low > -kInfinity ? std::min(8.0 * s.loss_error / -lane_expm1(s.low - s.high), 1.0) : 0.0;
        const double high = s.p * std::clamp(share + (s.high > 0.0 ? off : -off), 0.0, 1.0);
        const double low = s.p * std::clamp(1.0 - share + (s.low < 0.0 ? off : -off), 0.0, 1.0);
        if (high > 0.0) nodes_.add({s.high, high, high * deep_exp(-s.high)});
        if (low > 0.0) nodes_.add({s.low, low, low * deep_exp(-s.low)});
    }

    LossNodes nodes_;
    double error_ = 0.0;                                // relative error of the masses
    double loss_error_ = 0.0, small_loss_error_ = 0.0;  // of losses: absolute; relative to max(|loss|, spread)
};

}  // namespace

CurvePointer moment_of_spans(const Pair& pair) {
    const Spans rough = pair.spans(Side::upper, Coarse{});
    if (rough.infinite.upper > 4.0 * kNegligible) return std::make_shared<const UnboundedCurve>();
    return rough.unbounded_above ? nullptr : std::make_shared<const PairMoment>(pair);
}

}  // namespace renyi
