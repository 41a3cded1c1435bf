// The kernels of a line of the transform a second time: for the baseline instruction set only, without vectorisation
// (see CMakeLists.txt), in a namespace of their own.
#include "baseline.hpp"

#include "renyi/fp/multiversion.hpp"

#undef RENYI_MULTIVERSION
#define RENYI_MULTIVERSION
#define renyi renyi_baseline
#include "renyi/curve/contour_sum.cpp"
#include "renyi/loss/sampled_gaussian_kernels.cpp"
#include "renyi/loss/sampled_gaussian_tilted_kernels.cpp"
#undef renyi

namespace baseline {

void exponential_sums(const double* const (&rows)[4], std::size_t count, double step, double first, double* re,
                      double* im) {
    renyi_baseline::ExponentialSums sums;
    sums.resize(count, rows[2] != nullptr);
    std::copy_n(rows[0], count, sums.weight.begin());
    std::copy_n(rows[1], count, sums.frequency.begin());
    if (rows[2]) {
        std::copy_n(rows[2], count, sums.weight_im.begin());
        std::copy_n(rows[3], count, sums.damping.begin());
    }
    sums.set_step(step);
    sums.at(first, re, im);
}

void sum_line(const double* const (&rows)[4], std::size_t count, const double (&terms)[9], double (&out)[3]) {
    const auto sums = renyi_baseline::sum_line(line_terms<renyi_baseline::LineTerms>(rows, count, terms));
    out[0] = sums.value, out[1] = sums.slope, out[2] = sums.error;
}

double tilted_nodes(const double (&law)[5], const double* v, double* weight, double* t, double* posterior,
                    std::size_t count, double y, double height) {
    renyi_baseline::tilted::Nodes nodes;
    nodes.resize(count);
    std::copy_n(v, count, nodes.v.begin());
    std::copy_n(weight, count, nodes.weight.begin());
    renyi_baseline::tilted::fill({law[0], law[1], law[2], law[3], law[4], std::log(law[3] / law[4])}, nodes);
    std::copy_n(nodes.weight.begin(), count, weight);
    std::copy_n(nodes.t.begin(), count, t);
    std::copy_n(nodes.posterior.begin(), count, posterior);
    return renyi_baseline::tilted::sum_decay(nodes, law[0], y, {height, law[1]});
}

}  // namespace baseline
