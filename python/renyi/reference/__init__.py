"""The engine's numbers from their definitions, in pure Python, to any number of digits.

The fast path uses nothing from here, and nothing here uses the fast path. `rdp` computes the Rényi
divergence of a pair of distributions (`laplace_pair` and the like), Poisson-sampled or not, by sums
and quadrature. ``log_a`` integrates the densities of the sampled Gaussian mechanism; the
conversions take one order and one divergence. ``delta`` is the exact privacy curve of a composition
by a contour integral; the privacy curves of the Gaussian mechanism and of one sampled step are
their closed forms. The other ``rdp_`` functions are bounds for sampling, selection and random
allocation. A result is returned only when two evaluations, with different nodes or brackets and
more digits, agree to the requested digits; otherwise ArithmeticError is raised. Floats count as
exact binary numbers, strings and fractions as written.

>>> import mpmath
>>> mpmath.nstr(log_a(0.5, 1.0, 2, digits=30), 30)
'0.357374019508788537314556771284'
"""

# ruff: noqa: E402 (what is missing is said before anything asks for it)
try:
    import mpmath
except ImportError as error:
    raise ImportError("renyi.reference needs mpmath: python -m pip install mpmath") from error
del mpmath

from renyi.reference._allocation import rdp_random_allocation
from renyi.reference._bounds import rdp_fixed_size, rdp_mixture, rdp_poisson, rdp_repeat_and_select
from renyi.reference._conversion import delta_from_rdp, epsilon_from_rdp
from renyi.reference._curve import (
    delta,
    gaussian_delta,
    gaussian_epsilon,
    gaussian_mu,
    gaussian_tradeoff,
    sampled_gaussian_delta,
    sampled_gaussian_epsilon,
)
from renyi.reference._pairs import (
    discrete_gaussian_pair,
    discrete_laplace_pair,
    exponential_pair,
    laplace_pair,
    pure_dp_pair,
    randomized_response_pair,
    rdp,
    rdp_bounded_range,
    rdp_gumbel,
    rdp_zcdp,
    skellam_pair,
    staircase_pair,
)
from renyi.reference._sampled_gaussian import (
    log_a,
    rdp_sampled_gaussian,
)

__all__ = [
    "delta",
    "delta_from_rdp",
    "discrete_gaussian_pair",
    "discrete_laplace_pair",
    "epsilon_from_rdp",
    "exponential_pair",
    "gaussian_delta",
    "gaussian_epsilon",
    "gaussian_mu",
    "gaussian_tradeoff",
    "laplace_pair",
    "log_a",
    "pure_dp_pair",
    "randomized_response_pair",
    "rdp",
    "rdp_bounded_range",
    "rdp_fixed_size",
    "rdp_gumbel",
    "rdp_mixture",
    "rdp_poisson",
    "rdp_random_allocation",
    "rdp_repeat_and_select",
    "rdp_sampled_gaussian",
    "rdp_zcdp",
    "sampled_gaussian_delta",
    "sampled_gaussian_epsilon",
    "skellam_pair",
    "staircase_pair",
]
__dir__ = __all__.copy
