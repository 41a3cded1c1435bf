// Noise of density proportional to (1 + (x/scale)^2/n)^{-(n+1)/2}, Student's t with n degrees of freedom, on a query
// moved by 1; n in [1.5, 1e4]. Its loss is bounded and turns.
#pragma once

#include "renyi/pair/pair.hpp"

namespace renyi {

PairPointer student_noise(double degrees, double scale);

}  // namespace renyi
