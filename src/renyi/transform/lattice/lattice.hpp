// Two discrete losses on the nodes offset + step * i of a lattice: one that dominates a pair, one that it dominates.
//
// Both replace H(E) = E_P[(1 - E e^-L)_+] by a function of the same form with its kinks at lattice points, H+ >= H >=
// H- for every E > 0. For a composition condition on the other losses: delta = E[H(E / e^(their sum))], so that such
// bounds hold factor by factor, and also for masses that do not sum to one.
#pragma once

#include <cstdint>
#include <vector>

#include "renyi/pair/pair.hpp"

namespace renyi::lattice {

struct Lattice {
    double step, offset;
    std::int64_t first, last;

    std::size_t size() const noexcept { return static_cast<std::size_t>(last - first + 1); }
    double loss(std::size_t i) const noexcept {
        return offset + step * static_cast<double>(first + static_cast<std::int64_t>(i));
    }
};

// P-masses at the nodes; the loss of a node is exact, or wrong by `drift` at most.
struct LatticePair {
    Lattice lattice;
    std::vector<double> upper, lower;  // of H+ and H-
    double upper_infinite, lower_infinite, drift;
    double beyond;  // of upper_infinite: losses above the last node
    // Of the losses that make up each mass of H+: the mass times the mean of (loss - low) (high - loss), between the
    // two nodes that they are shared by. About how far H+ is from H.
    std::vector<double> spread;
};

// What lies above the last node goes to infinity in H+ and to the last node in H-; what lies below the first one to the
// first node in H+, and is dropped in H-.
LatticePair discretise(const Pair& pair, const Lattice& lattice);

}  // namespace renyi::lattice
