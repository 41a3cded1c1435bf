// One pass of projected noisy stochastic gradient descent, a record a step:
//     w_t = Proj_K(w_{t-1} - eta grad l(w_{t-1}, x_t) + eta Z_t),   t = 1 ... n,  only w_n is released.
// Z_t is N(0, s_t^2) in each coordinate, or Laplace of density e^{-|x|/s_t}/(2 s_t) in one dimension.
//
// E_g(P||Q) = sup_S P(S) - g Q(S), g = e^eps, is delta. Records that differ in step i alone leave
//     delta_i <= A_i B_{i+1} ... B_n,   A_i = theta(2L/s_i),   B_t = theta(M D/(eta s_t)),
// theta(r) = E_g of two laws of the noise of scale 1 at distance r: A_i, since gradients differ by 2L at most, and B_t,
// the contraction coefficient of the step's kernel (Asoodeh, Diaz, Calmon 2020), since a step without noise moves
// points of K, of diameter D, to at most M D of each other; projecting is post-processing. Sordello, Bu, Dong 2021
// (arXiv 2106.11767).
//
// Domain of every function here: shifts and scales in [1e-150, 1e150], a state shift of 0 too, eps >= 0. All results
// err to the safe side: delta from above.
#pragma once

namespace renyi {

enum class NoiseLaw { gaussian, laplace };

struct IterationSetting {
    NoiseLaw law;
    double epsilon;
    double record_shift;  // 2 L, which theta sees as 2 L/s
    double state_shift;   // M D/eta
};

// theta(r) with r = shift/scale. Beyond the range of double: the smallest normal number above, 0 below.
struct StepDivergence {
    double upper;             // >= theta
    double complement_lower;  // <= 1 - theta
    double decay_lower;       // <= -log theta; inf where theta is 0
};

}  // namespace renyi
