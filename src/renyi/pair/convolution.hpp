// The convolution of non-negative sequences, directly: every sum is right to its number of terms in u, however small.
//
// 32 sums at a time stay in registers, so that a product costs a multiplication and an addition of vectors and hardly
// a load. Inputs are scaled up by 2^500 each and the sums down again, so that no product below 2^-1022 is lost before.
#pragma once

#include <vector>

namespace renyi {

// Values in [0, 1], fewer than 2^20 of the shorter. The relative error is (its length + 2) u, but for sums below
// 2^-1022.
std::vector<double> convolved(const std::vector<double>& a, const std::vector<double>& b);

}  // namespace renyi
