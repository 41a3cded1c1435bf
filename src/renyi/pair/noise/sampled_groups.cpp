#include "renyi/pair/noise/sampled_groups.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include "renyi/loss/sampled_gaussian.hpp"
#include "renyi/pair/atoms.hpp"
#include "renyi/pair/division.hpp"
#include "renyi/pair/noise/integer_noise.hpp"
#include "renyi/pair/noise/normal_moment.hpp"

namespace renyi {

namespace {

struct Component {
    double log_weight, centre;
};
using Components = std::vector<Component>;

constexpr double kNormalReach = 38.7;  // beyond which a mass is below 2^-1075

double laplace_depth(double t) noexcept { return std::fabs(t); }
double normal_depth(double t) noexcept { return 0.5 * t * t; }

// Both mixtures, in units of the scale.
struct Group {
    Components p, q;
    double lowest, highest;

    Group(double rate, double scale, int records, int others)
        : lowest(-others / scale), highest(records / scale) {
        for (const NormalComponent& c : binomial_mixture({rate, scale, 1.0, records}))
            p.push_back({lane_log(c.weight), c.mean});
        q.push_back({0.0, 0.0});
        if (others == 0) return;
        q.clear();
        for (const NormalComponent& c : binomial_mixture({rate, scale, 1.0, others}))
            q.push_back({lane_log(c.weight), -c.mean});
    }

    // log of sum w e^{-depth(x - c)}. Terms that count are not e^40 below that of the nearest centre: their exponents are
    // at most 750 + `deepest`, the depth there and what x - c makes of its rounding; the sum of n terms is right to
    // (n + 16)u.
    template <class Depth>
    static double log_density(const Components& all, double x, const Depth& depth) noexcept {
        double top = -kInfinity, sum = 0.0;
        for (const Component& c : all) top = std::max(top, c.log_weight - depth(x - c.centre));
        for (const Component& c : all) sum += lane_exp(c.log_weight - depth(x - c.centre) - top);
        return top + lane_log(sum);
    }
    double error(double deepest) const noexcept {
        return (4.0 * (750.0 + deepest) + static_cast<double>(p.size() + q.size()) + 32.0) * kUnitRoundoff;
    }

    template <class Depth>
    Span atom(double x, double log_factor, double deepest, const Depth& depth) const noexcept {
        const double log_p = log_density(p, x, depth), log_q = log_density(q, x, depth), loss = log_p - log_q;
        return {loss, loss, loss, deep_exp(log_p + log_factor), deep_exp(log_q + log_factor),
                error(deepest) + 32.0 * kUnitRoundoff, 2.0 * error(deepest)};
    }
};

class LaplaceGroup final : public Pair {
public:
    explicit LaplaceGroup(Group group) : group_(std::move(group)), deepest_(2.0 * (group_.highest - group_.lowest)) {
        for (const Components* all : {&group_.p, &group_.q})
            for (const Component& c : *all) ends_.push_back(c.centre);
        std::sort(ends_.begin(), ends_.end());
    }

    // Beyond the centres the loss is constant. Between two of them the densities are sums of e^x and e^-x with positive
    // factors, which panels (division.hpp) of half-width 1/8 integrate.
    Spans spans(Side, const Fineness& fineness) const override {
        Spans found;
        found.unbounded_above = found.unbounded_below = false;
        for (const double end : {ends_.front(), ends_.back()})
            found.spans.push_back(group_.atom(end, -kLog2, deepest_, laplace_depth));
        for (std::size_t i = 1; i < ends_.size(); ++i) {
            const double start = ends_[i - 1], length = ends_[i] - start, count = std::ceil(4.0 * length);
            for (double k = 0.0; k < count; k += 1.0) {
                const double end = k + 1.0 < count ? start + length * (k + 1.0) / count : ends_[i];
                add_panel(start + length * k / count, end, *this, group_.error(deepest_), 2.0 * group_.error(deepest_),
                          fineness, found);
            }
        }
        return found;
    }

    double loss(double x) const noexcept {
        return Group::log_density(group_.p, x, laplace_depth) - Group::log_density(group_.q, x, laplace_depth);
    }
    OutputPoint at(double x, bool positive) const noexcept {
        return {0.5 * deep_exp(Group::log_density(positive ? group_.p : group_.q, x, laplace_depth)), loss(x)};
    }

private:
    Group group_;
    double deepest_;
    std::vector<double> ends_;
};

}  // namespace

PairPointer laplace_group(double rate, double scale, int records, int others) {
    return std::make_shared<const LaplaceGroup>(Group(rate, scale, records, others));
}

// With r = e^{-1/scale} the noise has the mass (1-r)/(1+r) at 0; beyond the centres the loss is constant, and all
// outcomes there have 1/(1-r) times the mass of the first.
PairPointer discrete_laplace_group(double rate, double scale, std::int64_t shift, int records, int others) {
    const Group group(rate, scale / static_cast<double>(shift), records, others);
    const double outer = -lane_log1p(deep_exp(-1.0 / scale)), inner = outer + lane_log(-lane_expm1(-1.0 / scale));
    const std::int64_t first = -shift * others, last = shift * records;
    Spans found;
    for (std::int64_t x = first; x <= last; ++x)
        found.spans.push_back(group.atom(static_cast<double>(x) / scale, x == first || x == last ? outer : inner,
                                         2.0 * (group.highest - group.lowest), laplace_depth));
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
        found.spans.push_back(
            group.atom(static_cast<double>(x) / scale, -log_total, deepest, normal_depth));
    return std::make_shared<const AtomsPair>(std::move(found), false, false);
}

}  // namespace renyi
