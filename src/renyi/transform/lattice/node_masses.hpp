// A tilted law given by its masses at all nodes of a window.
//
// With w_k = e^(-theta k) and v_k = e^(-theta k)(1 - e^(-h k)) the weights of a tail at a distance d are
// (1 - e^-d) w_k + e^-d v_k, all of one sign. The sums A of masses times w and C of masses times v over the whole tail
// are kept for every 256th node, from the end:
//     A_s = sum over the block + e^(-theta b) A_{s+b},
//     C_s = sum over the block + e^(-theta b) ((1 - e^(-h b)) A_{s+b} + e^(-h b) C_{s+b}),
// so that a tail takes two short products, wherever it starts.
#pragma once

#include <vector>

#include "renyi/transform/lattice/fourier_transform.hpp"
#include "renyi/transform/lattice/tilted_law.hpp"

namespace renyi::lattice {

class NodeMasses final : public TailSums {
public:
    // Masses in the window, each in error by point_error at most; negative ones are errors and count as 0.
    NodeMasses(Window window, std::vector<double> masses, double point_error, double step, double theta);

    WeightedSum sum_from(std::int64_t start, double distance) const override;
    std::int64_t nodes() const noexcept override { return window_.size; }

private:
    struct Tail {
        double a, c, error;  // error: relative, of both
    };

    Tail tail_from(std::size_t index) const noexcept;

    Window window_;
    std::vector<double> masses_, w_, v_;
    std::vector<Tail> tails_;  // from every block's first node
    double point_error_, step_, theta_;
};

// The composition of tilted parts, of sum about 1 each, on a window; what lies outside is folded into it. `base` is the
// node at which all parts are at their first one. Outcomes whose losses are all in the bulk are left out.
NodeMasses compose(const std::vector<TiltedPart>& parts, Window window, std::int64_t base, double step, double theta,
                   FourierTransform& fourier);

}  // namespace renyi::lattice
