#include "renyi/pair/noise/noises.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include "renyi/loss/sampled_gaussian.hpp"
#include "renyi/pair/atoms.hpp"
#include "renyi/pair/division.hpp"
#include "renyi/pair/noise/normal_moment.hpp"

namespace renyi {

namespace {

struct Component {
    double weight, log_weight, centre;
};
using Components = std::vector<Component>;

constexpr double kNormalReach = 38.7;  // in scales: masses beyond are below 2^-1075
constexpr double kMostGain = 700.0;    // e^kMostGain does not overflow

// at: -log of a density, without its constant. gain: the log of the density moved by c over the density, at x. slope:
// bounds the effect on `gain` of an ulp of the largest of x, c and x - c.
struct LaplaceDepth {
    static double at(double t) noexcept { return std::fabs(t); }
    static double gain(double x, double c) noexcept { return std::fabs(x) - std::fabs(x - c); }
    static double slope(double) noexcept { return 1.0; }
};
struct NormalDepth {
    static double at(double t) noexcept { return 0.5 * t * t; }
    static double gain(double x, double c) noexcept { return c * (x - 0.5 * c); }
    static double slope(double c) noexcept { return std::fabs(c); }
};

struct Loss {
    double value, error;
};

// Both mixtures, in units of the scale.
struct Group {
    Components p, q;
    double lowest, highest;

    Group(double rate, double scale, int records, int others)
        : p(mixture(rate, scale, records, 1.0)),
          q(mixture(rate, scale, others, -1.0)),
          lowest(-others / scale),
          highest(records / scale) {}

    static Components mixture(double rate, double scale, int records, double sign) {
        if (records == 0) return {{1.0, 0.0, 0.0}};
        Components found;
        for (const NormalComponent& c : binomial_mixture({rate, scale, 1.0, records}))
            found.push_back({c.weight, lane_log(c.weight), sign * c.mean});
        return found;
    }

    // log of sum w e^{-depth(x - c)}. Terms that matter are within a factor e^40 of that of the nearest centre: their
    // exponents are at most 750 + `deepest`, the depth there and the effect of the rounding of x - c; the sum of n
    // terms has an error of (n + 16)u.
    template <class Depth>
    static double log_density(const Components& all, double x) noexcept {
        double top = -kInfinity, sum = 0.0;
        for (const Component& c : all) top = std::max(top, c.log_weight - Depth::at(x - c.centre));
        for (const Component& c : all) sum += lane_exp(c.log_weight - Depth::at(x - c.centre) - top);
        return top + lane_log(sum);
    }
    double error(double deepest) const noexcept {
        return (4.0 * (750.0 + deepest) + static_cast<double>(p.size() + q.size()) + 32.0) * kUnitRoundoff;
    }

    // log of a mixture over the noise where no record was drawn, log(1 + sum w (e^gain - 1)). With an error g of the
    // gains and the sum s above -1/2, the error is sum w (g e^gain + (n + 16)u |e^gain - 1|)/(1 + s) and 4u of the
    // value: small losses keep their digits.
    template <class Depth>
    Loss log_ratio(const Components& all, double x, double deepest) const noexcept {
        const double spacing = 4.0 * (std::fabs(x) + highest - lowest) * kUnitRoundoff;
        const double terms = (static_cast<double>(all.size()) + 16.0) * kUnitRoundoff;
        double sum = 0.0, off = 0.0, top = 0.0;
        for (const Component& c : all) {
            const double gain = Depth::gain(x, c.centre), excess = lane_expm1(std::min(gain, kMostGain));
            top = std::max(top, gain);
            sum += c.weight * excess;
            if (c.centre != 0.0)
                off += c.weight * (spacing * Depth::slope(c.centre) * (1.0 + excess) + terms * std::fabs(excess));
        }
        if (top < kMostGain && sum > -0.5) {
            const double value = lane_log1p(sum);
            return {value, 1.01 * off / (1.0 + sum) + 4.0 * kUnitRoundoff * std::fabs(value)};
        }
        return {log_density<Depth>(all, x) + Depth::at(x), error(deepest)};
    }
    // Bounds the error of log_ratio for all x between the ends, for Laplace noise: |gain| <= |c|.
    double ratio_error(const Components& all, double deepest) const noexcept {
        const double range = highest - lowest, spacing = 8.0 * range * kUnitRoundoff;
        const double terms = (static_cast<double>(all.size()) + 16.0) * kUnitRoundoff;
        double moved = 0.0, excess = 0.0, least = 0.0;
        for (const Component& c : all) {
            const double far = lane_expm1(std::min(std::fabs(c.centre), kMostGain));
            moved += c.centre == 0.0 ? 0.0 : c.weight * (1.0 + far);
            excess += c.weight * far;
            least += c.weight * lane_expm1(-std::fabs(c.centre));
        }
        const double most = spacing + 3.0 * terms + 4.0 * kUnitRoundoff * range;
        if (least <= -0.5) return most + error(deepest);
        return std::min(2.02 * (spacing * moved + terms * excess) + 4.0 * kUnitRoundoff * excess, most);
    }
    template <class Depth>
    Loss loss(double x, double deepest) const noexcept {
        const Loss of_p = log_ratio<Depth>(p, x, deepest), of_q = log_ratio<Depth>(q, x, deepest);
        const double value = of_p.value - of_q.value;
        return {value, of_p.error + of_q.error + kUnitRoundoff * std::fabs(value)};
    }

    template <class Depth>
    Span atom(double x, double log_factor, double deepest) const noexcept {
        const Loss found = loss<Depth>(x, deepest);
        return {found.value,
                found.value,
                found.value,
                deep_exp(log_density<Depth>(p, x) + log_factor),
                deep_exp(log_density<Depth>(q, x) + log_factor),
                error(deepest) + 32.0 * kUnitRoundoff,
                found.error};
    }
};

class LaplaceGroup final : public Pair {
public:
    explicit LaplaceGroup(Group group)
        : group_(std::move(group)),
          deepest_(2.0 * (group_.highest - group_.lowest)),
          loss_error_(group_.ratio_error(group_.p, deepest_) + group_.ratio_error(group_.q, deepest_)) {
        for (const Components* all : {&group_.p, &group_.q})
            for (const Component& c : *all) ends_.push_back(c.centre);
        std::sort(ends_.begin(), ends_.end());
    }

    // Beyond the centres the loss is constant. Between two centres the densities are sums of e^x and e^-x with positive
    // factors, which panels (division.hpp) of half-width 1/8 integrate.
    Spans spans(Side, const Fineness& fineness) const override {
        Spans found;
        found.unbounded_above = found.unbounded_below = false;
        for (const double end : {ends_.front(), ends_.back()})
            found.spans.push_back(group_.atom<LaplaceDepth>(end, -kLog2, deepest_));
        for (std::size_t i = 1; i < ends_.size(); ++i) {
            const double start = ends_[i - 1], length = ends_[i] - start, count = std::ceil(4.0 * length);
            for (double k = 0.0; k < count; k += 1.0) {
                const double end = k + 1.0 < count ? start + length * (k + 1.0) / count : ends_[i];
                add_panel(start + length * k / count, end, *this, group_.error(deepest_), loss_error_, fineness, found);
            }
        }
        return found;
    }

    double loss(double x) const noexcept { return group_.loss<LaplaceDepth>(x, deepest_).value; }
    OutputPoint at(double x, bool positive) const noexcept {
        return {0.5 * deep_exp(Group::log_density<LaplaceDepth>(positive ? group_.p : group_.q, x)), loss(x)};
    }

private:
    Group group_;
    double deepest_, loss_error_;
    std::vector<double> ends_;
};

}  // namespace

PairPointer laplace_group(double rate, double scale, int records, int others) {
    return std::make_shared<const LaplaceGroup>(Group(rate, scale, records, others));
}

// With r = e^{-1/scale} the noise has the mass (1-r)/(1+r) at 0. Beyond the centres the loss is constant, and the
// outcomes there have 1/(1-r) times the mass of the first in total.
PairPointer discrete_laplace_group(double rate, double scale, std::int64_t shift, int records, int others) {
    const Group group(rate, scale / static_cast<double>(shift), records, others);
    const double outer = -lane_log1p(deep_exp(-1.0 / scale)), inner = outer + lane_log(-lane_expm1(-1.0 / scale));
    const std::int64_t first = -shift * others, last = shift * records;
    Spans found;
    for (std::int64_t x = first; x <= last; ++x)
        found.spans.push_back(group.atom<LaplaceDepth>(static_cast<double>(x) / scale,
                                                       x == first || x == last ? outer : inner,
                                                       2.0 * (group.highest - group.lowest)));
    return std::make_shared<const AtomsPair>(std::move(found), false);
}

PairPointer discrete_gaussian_group(double rate, double scale, std::int64_t shift, int records, int others) {
    const Group group(rate, scale / static_cast<double>(shift), records, others);
    const auto reach = static_cast<std::int64_t>(std::ceil(kNormalReach * scale));
    const double log_total = lane_log(discrete_gaussian_total(scale));
    const double deepest = kNormalReach * (kNormalReach + group.highest - group.lowest);
    Spans found;
    found.infinite.upper = found.null.upper = kNegligible;
    for (std::int64_t x = -shift * others - reach; x <= shift * records + reach; ++x)
        found.spans.push_back(group.atom<NormalDepth>(static_cast<double>(x) / scale, -log_total, deepest));
    return std::make_shared<const AtomsPair>(std::move(found), false, false);
}

}  // namespace renyi
