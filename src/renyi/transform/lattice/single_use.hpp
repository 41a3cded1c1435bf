// One use of a pair: delta(epsilon) = E_P[(1 - e^(epsilon - L))_+] is a sum over its spans, no lattice is needed.
#pragma once

#include "renyi/fp/bracket.hpp"
#include "renyi/pair/pair.hpp"

namespace renyi::lattice {

// Encloses delta(epsilon); losses may be wrong by `drift` beyond what the spans say.
Bracket single_delta(const Pair& pair, double epsilon, double drift = 0.0);

// Encloses the least epsilon with delta(epsilon) <= delta; -inf and inf where there is none.
Bracket single_epsilon(const Pair& pair, double delta, double drift = 0.0);

}  // namespace renyi::lattice
