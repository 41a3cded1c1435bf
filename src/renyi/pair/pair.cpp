#include "renyi/pair/pair.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "renyi/fp/certified.hpp"
#include "renyi/pair/composition.hpp"
#include "renyi/pair/moment.hpp"
#include "renyi/pair/operations/operations.hpp"

namespace renyi {

CurvePointer Pair::moment(Direction direction) const {
    if (direction == Direction::add && !symmetric()) return moment_of_spans(ReversedPair(shared_from_this()));
    return moment_of_spans(*this);
}

PairPointer Pair::reverse() const {
    return symmetric() ? shared_from_this() : std::make_shared<const ReversedPair>(shared_from_this());
}

PairPointer Pair::sampled(double rate) const {
    return rate == 1.0 ? shared_from_this() : std::make_shared<const PoissonSampledPair>(shared_from_this(), rate);
}

Spans spans_at(const Pair& pair, Side side, const std::vector<double>& losses) {
    constexpr double kOnEnd = 1e-4;
    const auto gap = [&losses](std::size_t i) {
        double found = kOnEnd * std::max(std::fabs(losses[i]), 1.0);
        if (i > 0) found = std::min(found, losses[i] - losses[i - 1]);
        if (i + 1 < losses.size()) found = std::min(found, losses[i + 1] - losses[i]);
        return found;
    };
    const auto place = [&losses](double loss) {
        return static_cast<std::size_t>(std::ranges::upper_bound(losses, loss) - losses.begin());
    };
    // The inversion meets cuts accurately only in a part that is not wide relative to their gaps: halve it first.
    return pair.spans(side, CutBy([&](double low, double high) {
        std::size_t first = place(low), last = std::max(place(high), first);
        while (first < last && losses[first] < low + kOnEnd * gap(first)) ++first;
        while (first < last && losses[last - 1] > high - kOnEnd * gap(last - 1)) --last;
        if (first == last) return kFine;
        const std::size_t middle = first + (last - first) / 2;
        return high - low > 100.0 * gap(middle) ? kAnywhere : losses[middle];
    }));
}

Composition Composer::composition() const {
    Composition found{{}, pairs_.parts, curves_.parts};
    found.steps.reserve(steps_.size());
    for (const auto& [step, count] : steps_) {
        const auto [q, sigma, records] = step;
        found.steps.push_back({q, sigma, count, records});
    }
    return found;
}

SortedSteps sorted_steps(std::span<const SampledStep> steps) {
    Composer composer;
    for (const SampledStep& s : steps)
        if (s.q > 0.0 && s.sigma < kInfinity && s.count > 0.0) composer.add(s);
    SortedSteps c{composer.composition().steps};
    double least = kInfinity, squares = 0.0;
    for (const SampledStep& s : c.steps)
        if (s.q == 1.0) least = std::min(least, s.sigma);
    for (const SampledStep& s : c.steps) {
        if (s.q == 1.0) {  // relative to the least, for squares may underflow
            squares += s.count * (least / s.sigma) * (least / s.sigma);
        } else {
            c.only_gaussian = false;
            c.has_groups |= s.records > 1;
            c.largest_loss -= s.count * s.records * std::log1p(-s.q);
        }
    }
    if (squares > 0.0) {
        c.gaussian_mu = std::sqrt(squares) / least;
        c.gaussian = std::max(c.gaussian_mu * c.gaussian_mu, std::numeric_limits<double>::min());
    }
    const double error = kSystemError + (4.0 + static_cast<double>(c.steps.size())) * kUnitRoundoff;
    c.largest_loss = c.gaussian > 0.0 ? kInfinity : c.largest_loss * (1.0 + error);
    return c;
}

}  // namespace renyi
