"""The engine's numbers from their definitions, in pure Python, to any number of digits.

Nothing here is used by the fast path and nothing of the fast path is used here. ``log_a``
integrates the densities; ``log_a_binomial`` and ``log_a_series`` are the sums of Mironov, Talwar
and Zhang 2019 for the same number; the conversions are for one order and one divergence. ``delta``
is the exact privacy curve of a composition by a contour integral; the privacy curves of the
Gaussian mechanism and of one sampled step are their closed forms. The other ``rdp_`` functions are
Rényi divergences of mechanisms in closed form and of their Poisson-sampled pairs by sums and
quadrature, and bounds for sampling, selection and random allocation. A result is returned only when
two evaluations, with other nodes or brackets and more digits, agree to the digits asked for;
otherwise ArithmeticError. Floats are taken as the binary numbers they are, strings and fractions as
written.

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
from renyi.reference._bounded_range import (
    rdp_bounded_range,
    rdp_sampled_bounded_range,
    rdp_sampled_exponential,
)
from renyi.reference._conversion import (
    delta_asoodeh,
    delta_balle,
    delta_from_kl,
    delta_mironov,
    epsilon_asoodeh,
    epsilon_balle,
    epsilon_mironov,
)
from renyi.reference._curve import delta
from renyi.reference._gaussian_curve import (
    gaussian_delta,
    gaussian_epsilon,
    gaussian_mu,
    gaussian_tradeoff,
    sampled_gaussian_delta_add,
    sampled_gaussian_delta_remove,
    sampled_gaussian_epsilon_add,
    sampled_gaussian_epsilon_remove,
)
from renyi.reference._lattice import rdp_discrete_gaussian, rdp_discrete_laplace
from renyi.reference._mechanisms import (
    rdp_gumbel,
    rdp_laplace,
    rdp_pure_dp,
    rdp_randomized_response,
    rdp_skellam,
    rdp_staircase,
    rdp_zcdp,
)
from renyi.reference._optimal import delta_optimal, epsilon_optimal
from renyi.reference._sampled import (
    rdp_sampled_discrete_gaussian,
    rdp_sampled_discrete_laplace,
    rdp_sampled_laplace,
    rdp_sampled_pure_dp,
    rdp_sampled_randomized_response,
)
from renyi.reference._sampled_gaussian import (
    log_a,
    log_a_derivative,
    log_a_second_derivative,
    rdp_gaussian,
    rdp_sampled_gaussian,
    rdp_sampled_gaussian_bound,
)
from renyi.reference._selection import rdp_repeat_and_select
from renyi.reference._subsampling import rdp_fixed_size, rdp_mixture, rdp_poisson
from renyi.reference._sums import log_a_binomial, log_a_series

__all__ = [
    "delta",
    "delta_asoodeh",
    "delta_balle",
    "delta_from_kl",
    "delta_mironov",
    "delta_optimal",
    "epsilon_asoodeh",
    "epsilon_balle",
    "epsilon_mironov",
    "epsilon_optimal",
    "gaussian_delta",
    "gaussian_epsilon",
    "gaussian_mu",
    "gaussian_tradeoff",
    "log_a",
    "log_a_binomial",
    "log_a_derivative",
    "log_a_second_derivative",
    "log_a_series",
    "rdp_bounded_range",
    "rdp_discrete_gaussian",
    "rdp_discrete_laplace",
    "rdp_fixed_size",
    "rdp_gaussian",
    "rdp_gumbel",
    "rdp_laplace",
    "rdp_mixture",
    "rdp_poisson",
    "rdp_pure_dp",
    "rdp_random_allocation",
    "rdp_randomized_response",
    "rdp_repeat_and_select",
    "rdp_sampled_bounded_range",
    "rdp_sampled_discrete_gaussian",
    "rdp_sampled_discrete_laplace",
    "rdp_sampled_exponential",
    "rdp_sampled_gaussian",
    "rdp_sampled_gaussian_bound",
    "rdp_sampled_laplace",
    "rdp_sampled_pure_dp",
    "rdp_sampled_randomized_response",
    "rdp_skellam",
    "rdp_staircase",
    "rdp_zcdp",
    "sampled_gaussian_delta_add",
    "sampled_gaussian_delta_remove",
    "sampled_gaussian_epsilon_add",
    "sampled_gaussian_epsilon_remove",
]


def __dir__() -> list[str]:
    return __all__
