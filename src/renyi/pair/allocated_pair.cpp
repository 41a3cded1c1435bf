#include "renyi/pair/allocated_pair.hpp"

#include "renyi/pair/atoms.hpp"
#include "renyi/pair/ratio_law.hpp"

namespace renyi {

namespace {

constexpr double kMostTooLarge = 1e-30;

}  // namespace

const PairPointer& AllocatedPair::found(const PairPointer& side) const {
    std::call_once(once_, [this] {
        for (const Side one : {Side::upper, Side::lower}) {
            PairPointer& pair = one == Side::upper ? upper_ : lower_;
            const RatioLaw law(*base_, one);
            // An observer who knows the step sees one use.
            pair = law.too_large() > kMostTooLarge
                       ? base_
                       : std::make_shared<const AtomsPair>(law.times(steps_).spans(), false);
        }
    });
    return side;
}

}  // namespace renyi
