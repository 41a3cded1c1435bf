#include "renyi/pair/pair.hpp"

#include <algorithm>
#include <cmath>

#include "renyi/pair/composition.hpp"
#include "renyi/pair/moment.hpp"
#include "renyi/pair/operations/basic.hpp"

namespace renyi {

namespace {

// Cuts far from each other relative to their part are met well: others wait.
class AtLosses final : public Fineness {
public:
    explicit AtLosses(const std::vector<double>& losses) : losses_(losses) {}
    double cut(double low, double high) const noexcept override {
        const auto place = [this](double loss) {
            return static_cast<std::size_t>(std::upper_bound(losses_.begin(), losses_.end(), loss) - losses_.begin());
        };
        std::size_t first = place(low), last = std::max(place(high), first);
        while (first < last && losses_[first] < low + kOnEnd * gap(first)) ++first;
        while (first < last && losses_[last - 1] > high - kOnEnd * gap(last - 1)) --last;
        if (first == last) return kFine;
        const std::size_t middle = first + (last - first) / 2;
        return high - low > 100.0 * gap(middle) ? kAnywhere : losses_[middle];
    }

private:
    static constexpr double kOnEnd = 1e-4;

    double gap(std::size_t i) const noexcept {
        double found = kOnEnd * std::max(std::fabs(losses_[i]), 1.0);
        if (i > 0) found = std::min(found, losses_[i] - losses_[i - 1]);
        if (i + 1 < losses_.size()) found = std::min(found, losses_[i + 1] - losses_[i]);
        return found;
    }

    const std::vector<double>& losses_;
};

}  // namespace

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
    return pair.spans(side, AtLosses(losses));
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

}  // namespace renyi
