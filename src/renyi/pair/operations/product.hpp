// Independent releases on the same data as one pair, so that they can be sampled together: laws of losses on a lattice,
// see LossLaw. Compositions that are not sampled together need none of this.
//
// From below, the outcomes of a law have losses that lie on no lattice. Of any two that are neighbours one half each is
// handed on as a blend, 1 - u of the one and u of the other, u uniform: merging again. So the losses fill the gaps, and
// a further lattice loses no more than by a smooth density; masses over an interval of u are linear in u, hence those
// of its middle. Outcomes by themselves stay atoms.
#pragma once

#include <cstdint>
#include <vector>

#include "renyi/pair/pair.hpp"

namespace renyi {

struct RepeatedPair {
    PairPointer pair;
    std::int64_t count;  // >= 1
};

// At least one part.
PairPointer product_pair(const std::vector<RepeatedPair>& parts);

}  // namespace renyi
