#include "renyi/pair/composition.hpp"

namespace renyi {

Composition Composer::composition() const {
    Composition found{{}, pairs_.parts, curves_.parts};
    found.steps.reserve(steps_.size());
    for (const auto& [step, count] : steps_) found.steps.push_back({step.first, step.second, count});
    return found;
}

}  // namespace renyi
