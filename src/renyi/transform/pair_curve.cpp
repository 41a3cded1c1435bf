#include "renyi/transform/pair_curve.hpp"

#include <optional>
#include <utility>
#include <vector>

#include "renyi/mechanism/linear_curve.hpp"
#include "renyi/mechanism/sampled_gaussian_curve.hpp"
#include "renyi/mechanism/shown_choice.hpp"
#include "renyi/mechanism/unbounded_curve.hpp"
#include "renyi/pair/division.hpp"
#include "renyi/pair/gaussian.hpp"
#include "renyi/pair/mixed.hpp"
#include "renyi/pair/reversed.hpp"
#include "renyi/pair/sampled.hpp"
#include "renyi/pair/spliced.hpp"
#include "renyi/transform/gaussian_mixture_moment.hpp"
#include "renyi/transform/moment.hpp"

namespace renyi {

namespace {

template <class Change>
PairPointer of_each(const MixedPair& choice, const Change& change) {
    std::vector<WeightedPair> parts;
    for (const WeightedPair& part : choice.parts()) parts.push_back({part.weight, change(part.pair)});
    return std::make_shared<const MixedPair>(std::move(parts));
}

PairPointer reverse_of(const PairPointer& base) {
    if (base->symmetric()) return base;
    if (const auto* turned = dynamic_cast<const ReversedPair*>(base.get())) return turned->base();
    if (const auto* choice = dynamic_cast<const MixedPair*>(base.get())) return of_each(*choice, reverse_of);
    return std::make_shared<const ReversedPair>(base);
}

PairPointer sample_of(const PairPointer& base, double rate) {
    if (const auto* choice = dynamic_cast<const MixedPair*>(base.get()))
        return of_each(*choice, [rate](const PairPointer& part) { return sample_of(part, rate); });
    return std::make_shared<const PoissonSampledPair>(base, rate);
}

// The pair from above, and what is done to a shown choice done to each of its parts.
PairPointer expanded(const PairPointer& pair) {
    if (const auto* known = dynamic_cast<const BracketedPair*>(pair.get())) return expanded(known->upper());
    if (const auto* turned = dynamic_cast<const ReversedPair*>(pair.get())) return reverse_of(expanded(turned->base()));
    if (const auto* sampled = dynamic_cast<const PoissonSampledPair*>(pair.get()))
        return sample_of(expanded(sampled->base()), sampled->rate());
    if (const auto* choice = dynamic_cast<const MixedPair*>(pair.get())) return of_each(*choice, expanded);
    return pair;
}

// Gaussian noise on a Poisson sample, where log A is proven.
CurvePointer sampled_gaussian(const Pair& pair, Direction direction) {
    const auto* sampled = dynamic_cast<const PoissonSampledPair*>(&pair);
    const auto* base = sampled ? dynamic_cast<const GaussianPair*>(sampled->base().get()) : nullptr;
    if (!base || !(base->mu() >= 1e-6 && base->mu() <= 99.0)) return nullptr;
    if (!(sampled->rate() >= 1e-12 && sampled->rate() < 1.0)) return nullptr;
    return std::make_shared<const SampledGaussianCurve>(sampled->rate(), 1.0 / base->mu() * (1.0 - 0x1p-50), direction);
}

struct TwoMixtures {
    NormalMixture p, q;
};

void add_scaled(NormalMixture& sum, const NormalMixture& part, double weight) {
    for (const NormalComponent& c : part) sum.push_back({weight * c.weight, c.mean});
}

// Reverses and Poisson samples of mixtures are mixtures.
std::optional<TwoMixtures> mixtures_of(const Pair& pair) {
    if (const auto* normal = dynamic_cast<const NormalMixtures*>(&pair)) {
        TwoMixtures found;
        for (const NormalMove& move : normal->moves()) {
            found.p.push_back({move.weight, move.to});
            found.q.push_back({move.weight, move.from});
        }
        return found;
    }
    if (const auto* reversed = dynamic_cast<const ReversedPair*>(&pair)) {
        auto found = mixtures_of(*reversed->base());
        if (found) std::swap(found->p, found->q);
        return found;
    }
    if (const auto* sampled = dynamic_cast<const PoissonSampledPair*>(&pair)) {
        auto found = mixtures_of(*sampled->base());
        if (!found || sampled->rate() == 0.0 || sampled->rate() == 1.0) return found;
        NormalMixture kept;
        add_scaled(kept, found->q, 1.0 - sampled->rate());
        add_scaled(kept, found->p, sampled->rate());
        found->p = std::move(kept);
        return found;
    }
    return std::nullopt;
}

CurvePointer curve_of_choice(const MixedPair& pair) {
    std::vector<WeightedPart> parts;
    for (const WeightedPair& part : pair.parts()) {
        const CurvePointer curve = curve_of(part.pair);
        if (!curve) return nullptr;
        parts.push_back({part.weight, curve});
    }
    return std::make_shared<const ShownChoice>(std::move(parts));
}

// A splice has the excess of the pair above 0 and that of its reverse below: at most the sum of both.
CurvePointer curve_of_both_orders(const PairPointer& pair) {
    const CurvePointer one = curve_of(pair), other = curve_of(std::make_shared<const ReversedPair>(pair));
    if (!one || !other) return nullptr;
    return std::make_shared<const ShownChoice>(std::vector<WeightedPart>{{1.0, one}, {1.0, other}});
}

}  // namespace

CurvePointer curve_of(const PairPointer& given) {
    const PairPointer pair = expanded(given);
    if (const auto* gaussian = dynamic_cast<const GaussianPair*>(pair.get()))
        return std::make_shared<const LinearCurve>(0.5 * gaussian->mu() * gaussian->mu() * (1.0 + 0x1p-50));
    if (CurvePointer curve = sampled_gaussian(*pair, Direction::remove)) return curve;
    if (const auto* turned = dynamic_cast<const ReversedPair*>(pair.get()))
        if (CurvePointer curve = sampled_gaussian(*turned->base(), Direction::add)) return curve;
    if (auto mixtures = mixtures_of(*pair))
        return std::make_shared<const GaussianMixtureMoment>(std::move(mixtures->p), std::move(mixtures->q));
    if (const auto* choice = dynamic_cast<const MixedPair*>(pair.get())) return curve_of_choice(*choice);
    const Spans rough = pair->spans(Side::upper, Coarse{});
    if (rough.infinite.upper > 4.0 * kNegligible) return std::make_shared<const UnboundedCurve>();
    if (rough.unbounded_above) {
        const auto* spliced = dynamic_cast<const SplicedPair*>(pair.get());
        return spliced ? curve_of_both_orders(spliced->sampled()) : nullptr;
    }
    return std::make_shared<const PairMoment>(*pair);
}

}  // namespace renyi
