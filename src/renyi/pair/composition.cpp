#include "renyi/pair/composition.hpp"

namespace renyi {

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
