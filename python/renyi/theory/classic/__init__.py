"""The (epsilon, delta) calculus: mechanisms, tails, composition, subsampling, moments.

Every function says under which adjacency and sampling its number holds. What is handed out is
rounded to the safe side. For the guarantee of a run use the accountants: these bounds are older and
larger, and `renyi.theory.comparison` says by how much.

>>> from renyi.theory import classic
>>> sigma = classic.gaussian_noise_sigma(0.5, 1e-6)  # one release
>>> step = classic.subsampled(0.5, 1e-6, 0.01)  # of a sample
>>> total = classic.advanced_composition(step.epsilon, 1e-6, delta=step.delta, count=100)
>>> round(sigma, 2), round(total.epsilon, 3), f"{total.delta:.2e}"
(8.06, 0.346, '2.00e-06')
"""

from __future__ import annotations

from renyi.theory.classic._composition import (
    Guarantee,
    Split,
    advanced_composition,
    advanced_composition_delta,
    basic_composition,
    best_split,
    mean_loss_bound,
)
from renyi.theory.classic._indistinguishability import (
    CommonPart,
    approximate_max_divergence,
    common_part,
    hockey_stick,
    indistinguishability_delta,
    indistinguishability_epsilon,
    loss_tail,
)
from renyi.theory.classic._legendre import (
    delta_from_moments,
    delta_from_rdp,
    epsilon_from_moments,
    epsilon_from_rdp,
    moments_of,
)
from renyi.theory.classic._moments import (
    MomentBound,
    RelaxedMoment,
    moment_bound_delta,
    moment_bound_epsilon,
    moment_bound_noise,
    relaxed_log_moment,
    subsampled_rdp,
)
from renyi.theory.classic._moments_theorem import (
    log_moment_constant,
    moments_theorem_constant,
    moments_theorem_noise,
)
from renyi.theory.classic._noise import (
    gaussian_noise_delta,
    gaussian_noise_sigma,
    laplace_noise_delta,
    laplace_noise_epsilon,
    laplace_noise_scale,
    mean_noise_multiplier,
)
from renyi.theory.classic._optimal_composition import (
    optimal_composition_delta,
    optimal_composition_epsilon,
)
from renyi.theory.classic._routes import (
    Route,
    advanced_route_delta,
    advanced_route_epsilon,
    before_subsampling,
    full_batch_route_delta,
    full_batch_route_epsilon,
    subsampled,
)
from renyi.theory.classic._tails import (
    gaussian_loss_tail,
    laplace_loss_tail,
    normal_tail_bound,
    sum_tail_bound,
    tail_from_guarantee,
)

__all__ = [
    "CommonPart",
    "Guarantee",
    "MomentBound",
    "RelaxedMoment",
    "Route",
    "Split",
    "advanced_composition",
    "advanced_composition_delta",
    "advanced_route_delta",
    "advanced_route_epsilon",
    "approximate_max_divergence",
    "basic_composition",
    "before_subsampling",
    "best_split",
    "common_part",
    "delta_from_moments",
    "delta_from_rdp",
    "epsilon_from_moments",
    "epsilon_from_rdp",
    "full_batch_route_delta",
    "full_batch_route_epsilon",
    "gaussian_loss_tail",
    "gaussian_noise_delta",
    "gaussian_noise_sigma",
    "hockey_stick",
    "indistinguishability_delta",
    "indistinguishability_epsilon",
    "laplace_loss_tail",
    "laplace_noise_delta",
    "laplace_noise_epsilon",
    "laplace_noise_scale",
    "log_moment_constant",
    "loss_tail",
    "mean_loss_bound",
    "mean_noise_multiplier",
    "moment_bound_delta",
    "moment_bound_epsilon",
    "moment_bound_noise",
    "moments_of",
    "moments_theorem_constant",
    "moments_theorem_noise",
    "normal_tail_bound",
    "optimal_composition_delta",
    "optimal_composition_epsilon",
    "relaxed_log_moment",
    "subsampled",
    "subsampled_rdp",
    "sum_tail_bound",
    "tail_from_guarantee",
]


def __dir__() -> list[str]:
    return __all__
