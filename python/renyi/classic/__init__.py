"""The (epsilon, delta) calculus: mechanisms, tails, composition, subsampling, moments.

Every function says under which adjacency and sampling its number holds. What is handed out is
rounded to the safe side. For the guarantee of a run use the accountants: these bounds are older and
larger, and `renyi.comparison` says by how much.

>>> from renyi import classic
>>> sigma = classic.gaussian_sigma(0.5, 1e-6)  # one release
>>> step = classic.subsampled(0.5, 1e-6, 0.01)  # of a sample
>>> total = classic.advanced_composition(step.epsilon, 1e-6, delta=step.delta, count=100)
>>> round(sigma, 2), round(total.epsilon, 3), f"{total.delta:.2e}"
(8.06, 0.346, '2.00e-06')
"""

from __future__ import annotations

from renyi.classic.advanced_composition import (
    advanced_composition,
    advanced_composition_delta,
    mean_loss_bound,
)
from renyi.classic.advanced_route import advanced_route_delta, advanced_route_epsilon
from renyi.classic.amplification import before_subsampling, subsampled
from renyi.classic.clipped_mean import mean_noise_multiplier
from renyi.classic.common_part import CommonPart, common_part
from renyi.classic.composition import Guarantee, basic_composition
from renyi.classic.delta_split import Split, best_split
from renyi.classic.gaussian import gaussian_delta, gaussian_sigma
from renyi.classic.indistinguishability import (
    approximate_max_divergence,
    hockey_stick,
    indistinguishability_delta,
    indistinguishability_epsilon,
    loss_tail,
)
from renyi.classic.laplace import laplace_delta, laplace_epsilon, laplace_scale
from renyi.classic.legendre import (
    delta_from_moments,
    delta_from_rdp,
    epsilon_from_moments,
    epsilon_from_rdp,
    moments_of,
)
from renyi.classic.moment_constant import log_moment_constant
from renyi.classic.moments import (
    MomentBound,
    moment_bound_delta,
    moment_bound_epsilon,
    subsampled_rdp,
)
from renyi.classic.moments_noise import moment_bound_noise
from renyi.classic.moments_theorem import moments_theorem_constant, moments_theorem_noise
from renyi.classic.optimal_composition import (
    optimal_composition_delta,
    optimal_composition_epsilon,
)
from renyi.classic.relaxed_rate import RelaxedMoment, relaxed_log_moment
from renyi.classic.routes import (
    Route,
    full_batch_route_delta,
    full_batch_route_epsilon,
)
from renyi.classic.tails import (
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
    "gaussian_delta",
    "gaussian_loss_tail",
    "gaussian_sigma",
    "hockey_stick",
    "indistinguishability_delta",
    "indistinguishability_epsilon",
    "laplace_delta",
    "laplace_epsilon",
    "laplace_loss_tail",
    "laplace_scale",
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
