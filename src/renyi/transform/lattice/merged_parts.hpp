// The parts of a composition: equal ones added up, Gaussians merged into one.
#pragma once

#include <vector>

#include "renyi/transform/lattice/loss_layout.hpp"

namespace renyi::lattice {

struct MergedParts {
    std::vector<LossPart> parts;
    double drift = 0.0;  // how far merging Gaussians may have moved their loss
};

MergedParts merged_parts(const std::vector<LossPart>& parts);

}  // namespace renyi::lattice
