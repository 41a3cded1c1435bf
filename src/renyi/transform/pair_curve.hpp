// The moment reading of a pair: in closed form or by a quadrature of its own where one is known, from its spans else.
#pragma once

#include "renyi/mechanism/renyi_curve.hpp"
#include "renyi/pair/pair.hpp"

namespace renyi {

// K(alpha) = log E_Q[e^{alpha L}] or an upper bound of it; empty where the losses have no bound and no form is known.
CurvePointer curve_of(const PairPointer& pair);

}  // namespace renyi
